"""Lock file of a store: a lock that ends with its process, and a note for whoever comes too early."""

from __future__ import annotations

import json
import os
import platform
import sys
from datetime import datetime, timezone
from pathlib import Path

from stitch.core.files import private, read_short
from stitch.core.json_text import read_json
from stitch.core.process import ForkGuard, in_each_fork
from stitch.errors import StoreError, StoreLockedError, system_errors

_LOCK_AT = 1 << 30
"""Where Windows locks a byte: beyond the note, so that others can read it."""

_HELD = set[tuple[int, int]]()
"""The files of the claims that this process holds."""


class Ownership:
    """The claim of this process on a folder, held until `release`.

    The file `note` is locked and says who holds it. The system lets go of the lock when the process ends, however it
    ends; what the note says of a dead owner is never asked for.

    Raises:
        StoreLockedError: Somebody else holds it: another process, or this one through another object.
        StoreError: The file cannot be written.
    """

    def __init__(self, note: Path, *, what: str) -> None:
        self._process = ForkGuard(what)
        with system_errors(StoreError, cannot := f"{what} cannot be opened for writing"):
            self._file = private(str(note), os.O_RDWR | os.O_CREAT)
        started = datetime.now(timezone.utc).isoformat(timespec="seconds")
        about = {"pid": os.getpid(), "host": platform.node(), "started": started}
        try:
            try:
                _lock(self._file)
            except OSError as error:
                raise StoreLockedError(
                    f"{what} is in use by {_holder(note)}", hint="close it there, or wait until that process has ended"
                ) from error
            with system_errors(StoreError, cannot, hint="free some disk space and run the command again"):
                os.ftruncate(self._file, 0)
                os.write(self._file, json.dumps(about).encode())
        except BaseException:
            os.close(self._file)
            raise
        self._key = _key(os.fstat(self._file))
        _HELD.add(self._key)
        in_each_fork(self._leave_to_parent)

    def release(self) -> None:
        """Let go of the folder. The file stays: removing it would let two newcomers lock two files of one name.

        Raises:
            ForkedProcessError: Another process made the claim; it stays.
        """
        self._process.check()
        _HELD.discard(self._key)
        os.ftruncate(self._file, 0)
        os.close(self._file)
        self._file = -1

    def _leave_to_parent(self) -> None:
        """In a fork: the lock is the parent's, and must end with it, whatever becomes of this process."""
        _HELD.discard(self._key)
        if self._file >= 0:
            os.close(self._file)
            self._file = -1


def held_here(note: Path) -> bool:
    """Whether it is this very process that holds a claim; the number of a process says nothing, containers share it."""
    try:
        return _key(note.stat()) in _HELD
    except OSError:
        return False


def is_held(note: Path) -> bool:
    """Whether somebody holds a claim; nothing is written."""
    try:
        file = os.open(note, os.O_RDWR)
    except OSError:
        return False
    try:
        _lock(file)
    except OSError:
        return True
    finally:
        os.close(file)
    return False


def _key(about: os.stat_result) -> tuple[int, int]:
    return about.st_dev, about.st_ino


def _holder(note: Path) -> str:
    try:
        about = read_json(read_short(note, most_bytes=1 << 16))
        return f"process {about['pid']} on {about['host']} since {about['started']}"
    except (OSError, ValueError, KeyError, TypeError):
        return "another process"  # it has only just begun to write its note


if sys.platform == "win32":
    import msvcrt

    def _lock(file: int) -> None:
        os.lseek(file, _LOCK_AT, os.SEEK_SET)
        msvcrt.locking(file, msvcrt.LK_NBLCK, 1)
        os.lseek(file, 0, os.SEEK_SET)

else:

    def _lock(file: int) -> None:
        try:
            import fcntl
        except ImportError:
            raise StoreError(
                "this system cannot lock files: nothing would keep a second process from opening the memory",
                hint="use a memory on a Qdrant server",
            ) from None
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
