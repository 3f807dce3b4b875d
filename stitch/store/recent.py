"""The snippets that were read last, decoded: who asks one thing of a trajectory asks another, and hits have neighbors.

They are kept by where their records begin. A record never changes: it is freed, and then forgotten here.
"""

from __future__ import annotations

from stitch.core.snippets import MemorySnippet
from stitch.core.text_cache import tell_of_clearing

MOST_BYTES = 2**20
"""The records of what is kept have so many bytes together; decoded, short ones take five times as much."""
_LARGE_SHARE = 16
"""A record of more than this part of them is not kept: it would drive out many."""


class RecentSnippets:
    """Snippets by where their records begin, those that were not asked for longest forgotten first.

    Two halves, so that to find one changes nothing: what is asked for again moves to the younger, and when that is
    full, it becomes the older, and what was left there goes.
    """

    def __init__(self) -> None:
        self._young: dict[int, MemorySnippet] = {}
        self._old: dict[int, MemorySnippet] = {}
        self._bytes = 0
        """Of the records of the younger half."""
        tell_of_clearing(self)

    def find(self, start: int, size: int) -> MemorySnippet | None:
        """The snippet of a record, if it is kept."""
        found = self._young.get(start)
        if found is None and (found := self._old.pop(start, None)) is not None:
            self.keep(start, size, found)
        return found

    def keep(self, start: int, size: int, snippet: MemorySnippet) -> None:
        """Keep the snippet of a record."""
        if size > MOST_BYTES // _LARGE_SHARE:
            return
        if self._bytes + size > MOST_BYTES // 2:
            self._young, self._old, self._bytes = {}, self._young, 0
        self._young[start] = snippet
        self._bytes += size

    def forget(self, start: int) -> None:
        """Forget the snippet of a record."""
        self._young.pop(start, None)
        self._old.pop(start, None)

    def cache_clear(self) -> None:
        """Forget all of them."""
        self._young, self._old, self._bytes = {}, {}, 0
