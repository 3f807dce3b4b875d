"""The plainest projection, for whoever follows a journal."""

from __future__ import annotations

from collections.abc import Sequence

from stitch.core import Change
from stitch.journal import Journal


class StepTexts:
    """What the steps of a journal say, by tenant, trajectory and step id, in memory; a `Projection`.

    Args:
        journal: Is followed.
        held: What an earlier one has made durable; filled by `checkpoint`.
    """

    name = "step texts"

    def __init__(self, journal: Journal, *, held: dict[tuple[str, str, str], str] | None = None) -> None:
        self._journal = journal
        self._held = {} if held is None else held
        self._applied = self.position()
        self.texts = dict(self._held)
        """All that is derived."""

    def position(self) -> int:
        """The number of the last change that is held durably."""
        return self._journal.projected(self.name)

    def apply(self, changes: Sequence[Change]) -> None:
        """Take in what the steps of changes say now."""
        for entry in self._journal.entries_of(sorted({seq for each in changes for seq in each.steps})):
            self.texts[entry.tenant, entry.trajectory, entry.id] = entry.step.content
        self._applied = changes[-1].number

    def erase(self, tenant: str, *, trajectory: str, steps: Sequence[str]) -> None:
        """Forget what steps say, durably."""
        for step in steps:
            self.texts.pop((tenant, trajectory, step), None)
            self._held.pop((tenant, trajectory, step), None)

    def checkpoint(self) -> None:
        """Make it durable."""
        self._held.clear()
        self._held.update(self.texts)
        self._journal.record_projected(self.name, self._applied)

    def rebuild(self) -> int:
        """Read all steps again; return how many there are."""
        self._applied = self._journal.last_change()
        self.texts = {
            (each.tenant, each.trajectory, each.id): each.step.content for each in self._journal.every_entry()
        }
        return len(self.texts)
