"""A moment of the past, to see a memory as it was then."""

from __future__ import annotations

from typing import NamedTuple

from stitch.core.snippets import MemorySnippet


class Moment(NamedTuple):
    """When something was known: by the clock of the memory and, where a step is meant, up to this step."""

    recorded: float
    """Unix seconds: what was accepted later was not known."""
    trajectory: str | None = None
    """The trajectory in which a step is meant; None if only the clock counts."""
    position: int = 0
    """Of that step: what comes after it in this trajectory was not known."""

    def knows(self, snippet: MemorySnippet) -> bool:
        """Whether a snippet was there."""
        if snippet.trajectory == self.trajectory and snippet.position > self.position:
            return False
        return snippet.recorded <= self.recorded
