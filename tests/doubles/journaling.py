"""A journal in memory, for tests that need no disk."""

from stitch.journal import Journal
from stitch.journal.entries import MAX_STEP_CHARS


class MemoryJournal(Journal):
    """A journal that forgets everything with the process.

    Args:
        max_step_chars: The longest step that is accepted, in characters of its JSON.
    """

    def __init__(self, *, max_step_chars: int = MAX_STEP_CHARS) -> None:
        super().__init__(":memory:", max_step_chars=max_step_chars)
