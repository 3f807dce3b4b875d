"""How a command ends before its work is done: by Ctrl-C, or by SIGTERM, as services are stopped."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

INTERRUPTED = 130
TERMINATED = 143


class Terminated(BaseException):
    """The process was asked to end. Like `KeyboardInterrupt`, what it passes through is put in order."""


@contextmanager
def termination_heeded() -> Iterator[None]:
    """Meanwhile, let SIGTERM raise `Terminated`; only the first one, so that the orderly end is not interrupted.

    A process that was started to ignore it goes on to do so.
    """
    before = signal.getsignal(signal.SIGTERM)
    if before is not signal.SIG_IGN:
        signal.signal(signal.SIGTERM, _terminate)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def status_of(ended: BaseException) -> int:
    """The exit status of a command that one of these ended."""
    return TERMINATED if isinstance(ended, Terminated) else INTERRUPTED


def _terminate(number: int, frame: FrameType | None) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    raise Terminated
