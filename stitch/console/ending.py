"""How a command ends before its work is done: by Ctrl-C, or by SIGTERM, as services are stopped."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import NoReturn

from stitch.core.process import in_each_fork

INTERRUPTED = 130
TERMINATED = 143

_AGAIN_S = 0.05
"""After which a signal that was not heeded is sent once more."""


class Terminated(BaseException):
    """The process was asked to end. Like `KeyboardInterrupt`, what it passes through is put in order."""


@contextmanager
def termination_heeded() -> Iterator[None]:
    """Meanwhile, let SIGTERM raise `Terminated`; only the first one, so that the orderly end is not interrupted.

    A process that was started to ignore it goes on to do so. Ctrl-C and SIGTERM are heeded even if they come in the
    moment in which the main thread begins to wait for another.
    """
    heeded = threading.Event()

    def terminate(number: int, frame: FrameType | None) -> NoReturn:
        heeded.set()
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        raise Terminated

    def interrupt(number: int, frame: FrameType | None) -> NoReturn:
        heeded.set()
        raise KeyboardInterrupt

    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    if before[signal.SIGTERM] is not signal.SIG_IGN:
        signal.signal(signal.SIGTERM, terminate)
    if before[signal.SIGINT] is signal.default_int_handler:
        signal.signal(signal.SIGINT, interrupt)
    again = _SentAgain(heeded, frozenset({terminate, interrupt})) if os.name == "posix" else None
    try:
        yield
    finally:
        if again is not None:
            again.close()
        for number, handler in before.items():
            signal.signal(number, handler)


def status_of(ended: BaseException) -> int:
    """The exit status of a command that one of these ended."""
    return TERMINATED if isinstance(ended, Terminated) else INTERRUPTED


class _SentAgain:
    """Sends the main thread a signal again until its handler has run.

    The interpreter takes note of a signal, and runs its handler when the main thread does its next step. If it comes
    just before that thread begins to wait for a lock, or if another thread receives it, the next step is the end of the
    wait, and what is waited for may be what the handler would give up. Sent again, the signal interrupts the wait.

    Args:
        heeded: Is set by the handlers.
        handlers: Others are left alone: who sets them sees to it that they run.
    """

    def __init__(
        self, heeded: threading.Event, handlers: frozenset[Callable[[int, FrameType | None], NoReturn]]
    ) -> None:
        self._heeded, self._handlers = heeded, handlers
        self._main = threading.get_ident()
        self._noted, self._note = os.pipe()
        os.set_blocking(self._note, False)
        self._before = signal.set_wakeup_fd(self._note, warn_on_full_buffer=False)
        self._thread = threading.Thread(target=self._watch, name="stitch-signals", daemon=True)
        self._thread.start()
        in_each_fork(self._forked)

    def close(self) -> None:
        signal.set_wakeup_fd(self._before)
        if self._thread.is_alive():  # not in a fork
            os.write(self._note, b"\0")  # closing it would not be seen where a fork has it open
            self._thread.join()
        os.close(self._note)
        os.close(self._noted)

    def _watch(self) -> None:
        while number := os.read(self._noted, 1)[0]:
            while not self._heeded.wait(_AGAIN_S) and signal.getsignal(number) in self._handlers:
                signal.pthread_kill(self._main, number)

    def _forked(self) -> None:
        """A signal to a fork is none to the process that it was forked from, which reads from the same pipe."""
        signal.set_wakeup_fd(-1)
