"""The end of a command by Ctrl-C or SIGTERM, before its work is done."""

from __future__ import annotations

import os
import select
import signal
import threading
import time
import weakref
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, NoReturn

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
    again = _SentAgain() if os.name == "posix" else None

    def terminate(number: int, frame: FrameType | None) -> NoReturn:
        if again is not None:
            again.heed()
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        raise Terminated

    def interrupt(number: int, frame: FrameType | None) -> NoReturn:
        if again is not None:
            again.heed()
        raise KeyboardInterrupt

    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    if again is not None:
        again.watch({terminate, interrupt})
    if before[signal.SIGTERM] is not signal.SIG_IGN:
        signal.signal(signal.SIGTERM, terminate)
    if before[signal.SIGINT] is signal.default_int_handler:
        signal.signal(signal.SIGINT, interrupt)
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
    """Sends the main thread a signal again until its handler has run, the second and third as well as the first.

    The interpreter takes note of a signal, and runs its handler when the main thread does its next step. If it comes
    just before that thread begins to wait for a lock or a terminal, or if another thread receives it, the next step is
    the end of the wait, and what is waited for may be what the handler would give up. Sent again, the signal interrupts
    the wait.
    """

    def __init__(self) -> None:
        self._main = threading.get_ident()
        self._handlers: Collection[Any] = ()
        self._heeded = True
        self._closing = self._is_fork = False
        self._changed = threading.RLock()  # a handler may interrupt another one
        self._noted, self._note = os.pipe()
        os.set_blocking(self._noted, False)
        os.set_blocking(self._note, False)
        self._before = signal.set_wakeup_fd(self._note, warn_on_full_buffer=False)
        self._thread = threading.Thread(target=self._watch, name="stitch-signals", daemon=True)
        forked = weakref.WeakMethod(self._forked)
        os.register_at_fork(after_in_child=lambda: (there := forked()) and there())

    def watch(self, handlers: Collection[Callable[[int, FrameType | None], NoReturn]]) -> None:
        """Begin, for handlers that call `heed`; others are left alone: who sets them sees to it that they run."""
        self._handlers = handlers
        self._thread.start()

    def heed(self) -> None:
        """Say that a handler runs: all signals that were noted up to now are heeded by it."""
        if self._is_fork or self._closing:
            return
        with self._changed:
            self._taken()
            self._heeded = True

    def close(self) -> None:
        signal.set_wakeup_fd(self._before)
        self._closing = True
        if self._thread.is_alive():  # not in a fork
            os.write(self._note, b"\0")  # closing it would not be seen where a fork has it open
            self._thread.join()
        os.close(self._note)
        os.close(self._noted)

    def _watch(self) -> None:
        noted = select.poll()
        noted.register(self._noted, select.POLLIN)
        while not self._closing:
            noted.poll()
            with self._changed:
                numbers = [each for each in self._taken() if each in self._watched()]
                self._heeded = not numbers
            if numbers:
                time.sleep(_AGAIN_S)
                while self._send_again(numbers[0]):
                    time.sleep(_AGAIN_S)

    def _send_again(self, number: int) -> bool:
        """Send a signal that is not heeded yet; false if there is no need."""
        with self._changed:
            if self._heeded or self._closing or number not in self._watched():
                return False
            signal.pthread_kill(self._main, number)
            return True

    def _watched(self) -> set[int]:
        return {each for each in (signal.SIGTERM, signal.SIGINT) if signal.getsignal(each) in self._handlers}

    def _taken(self) -> bytes:
        """The signals that were noted, which are no more."""
        try:
            return os.read(self._noted, 512)
        except BlockingIOError:
            return b""

    def _forked(self) -> None:
        """A signal to a fork is none to the process that it was forked from, which reads from the same pipe."""
        self._is_fork = True
        signal.set_wakeup_fd(-1)
