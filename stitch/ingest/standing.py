"""What fails when the journal has something already: whoever gave it is told that it stands all the same."""

from __future__ import annotations

from collections.abc import Iterator, Sized
from contextlib import contextmanager

from stitch.errors import JournalError


@contextmanager
def standing(what: str, stands: Sized) -> Iterator[None]:
    """Meanwhile, say of a journal that cannot go on what it has already: a full disk may take one and not the other.

    Args:
        what: What stands by then, and what is not done of it.
        stands: Empty as long as nothing stands.

    Raises:
        JournalError: As it is raised inside; with what stands, if anything does.
    """
    try:
        yield
    except JournalError as error:
        if not stands:
            raise
        hint = "; ".join(filter(None, (error.hint, "`stitch retry` goes on with it")))
        raise JournalError(f"{what}: {error.message}", hint=hint) from error
