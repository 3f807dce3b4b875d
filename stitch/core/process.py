"""Guards against forks: a forked process shares the open files of its parent, but neither threads nor locks.

What holds such refuses to be used there, and engines are kept from tidying up their parent's files when a fork ends.
"""

from __future__ import annotations

import ctypes
import os
import sys
import threading
import weakref
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from stitch.errors import ForkedProcessError, StitchError


class ForkGuard:
    """Fork guard: refuses use in another process than the one that made it.

    Args:
        what: Names what belongs to that process, in the message.
        read_only: The error for whoever would change it, if even that process may only read it.
    """

    def __init__(self, what: str, *, read_only: StitchError | None = None) -> None:
        self._what, self._read_only = what, read_only
        self._pid = os.getpid()

    @property
    def is_another(self) -> bool:
        """Whether this is asked in a fork of the process that made it."""
        return os.getpid() != self._pid

    @property
    def is_read_only(self) -> bool:
        """Whether even the process that it belongs to may only read it."""
        return self._read_only is not None

    def check(self) -> None:
        """Refuse another process.

        Raises:
            ForkedProcessError: This is another process.
        """
        if self.is_another:
            raise ForkedProcessError(
                f"{self._what} was opened by process {self._pid}; process {os.getpid()}, a fork of it, cannot use it",
                hint="open it again in the fork, which uses it through the process that has it open",
            )

    def check_writing(self) -> None:
        """Refuse another process as `check` does, and every change of what can only be read by its own error."""
        self.check()
        if self._read_only is not None:
            raise self._read_only


class ProcessLock(ForkGuard):
    """A reentrant lock that refuses every process but the one that made it: there nobody would ever let go of it."""

    def __init__(self, what: str) -> None:
        super().__init__(what)
        self._lock = threading.RLock()

    def __enter__(self) -> None:
        self.check()
        self._lock.acquire()

    def __exit__(self, *ended: object) -> None:
        self._lock.release()


def in_each_fork(hook: Callable[[], None]) -> None:
    """Call a method in each process that is forked from this one, as long as its object lives.

    Where processes are not forked, nothing is ever called.
    """
    if hasattr(os, "register_at_fork"):
        held = weakref.WeakMethod(hook)
        os.register_at_fork(after_in_child=lambda: (living := held()) and living())


def never_free(native: object) -> None:
    """Keep an object of a C library for good, the end of this process included.

    For a fork: to free the parent's database there would check in its log and delete it under the parent's hands.
    """
    if sys.implementation.name == "cpython":
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(native))


def close_files_in(folder: Path) -> None:
    """Close what a library has open of the files in a folder, where a fork will never use that library's objects.

    For their locks: a lock of the parent's would else last as long as the fork.
    """
    there = set[tuple[int, int]]()
    for path in folder.rglob("*"):
        with suppress(OSError):
            about = path.lstat()
            there.add((about.st_dev, about.st_ino))
    for name in os.listdir("/dev/fd"):
        with suppress(OSError):
            about = os.fstat(int(name))
            if (about.st_dev, about.st_ino) in there:
                os.close(int(name))
