"""Work that nobody waits for any more is given up: at the next boundary between two of its stages, and nowhere else."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from stitch.errors import CanceledError

_IS_CANCELED: ContextVar[Callable[[], bool] | None] = ContextVar("is_canceled", default=None)


@contextmanager
def cancelable(is_canceled: Callable[[], bool] | None) -> Iterator[None]:
    """Make the work in this context cancelable; it may only read, for a boundary may lie anywhere in it.

    Args:
        is_canceled: Says whether whoever asked has left; asked at each boundary. None for work that is always finished.
    """
    token = _IS_CANCELED.set(is_canceled)
    try:
        yield
    finally:
        _IS_CANCELED.reset(token)


def check_canceled() -> None:
    """A boundary: give up here if nobody waits for the result any more.

    Raises:
        CanceledError: Nobody does.
    """
    is_canceled = _IS_CANCELED.get()
    if is_canceled is not None and is_canceled():
        raise CanceledError("whoever asked has left", hint="ask again")
