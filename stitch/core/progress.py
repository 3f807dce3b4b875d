"""Progress of long work, told by what does it to whoever looks on."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeAlias, TypeVar

Item = TypeVar("Item")
Watcher: TypeAlias = "Callable[[str, int, int | None], None]"
"""Called with the name of a piece of work, how much of it is done, and of how much if that is known."""

_WATCHER: ContextVar[Watcher | None] = ContextVar("watcher", default=None)


@contextmanager
def watched(watcher: Watcher) -> Iterator[None]:
    """Report the progress of work that is begun in this context to a watcher."""
    token = _WATCHER.set(watcher)
    try:
        yield
    finally:
        _WATCHER.reset(token)


class Progress:
    """A piece of work, such as `labeling`, told to whoever looks on when it is begun; may go on in other threads."""

    def __init__(self, what: str, *, of: int | None = None) -> None:
        self._watcher = _WATCHER.get()
        self.what, self.done, self.of = what, 0, of
        self.advance(0)

    def advance(self, count: int = 1) -> None:
        """Add to the work done."""
        self.done += count
        if self._watcher is not None:
            self._watcher(self.what, self.done, self.of)


def counted(items: Iterable[Item], what: str, *, of: Callable[[], int] | None = None) -> Iterator[Item]:
    """The same items, each counted when the next one is asked for; `of` is called only if somebody looks on."""
    if _WATCHER.get() is None:
        yield from items
        return
    progress = Progress(what, of=None if of is None else of())
    for item in items:
        yield item
        progress.advance()
