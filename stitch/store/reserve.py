"""Places on the disk for pages of mapped files: without one, a page that is written on a full disk ends the process."""

from __future__ import annotations

import errno
import os
from pathlib import Path

_SMALL_BYTES = 2**20
"""A file up to this size gets all of its places at once."""


def reserve(path: Path, *, ahead_bytes: int) -> None:
    """Give a mapped file places on the disk, so many bytes beyond what it has from its beginning.

    It does not become longer, and nothing in it changes. Where the system cannot do it, nothing happens.

    Raises:
        OSError: The disk is full.
    """
    about = path.stat()
    can = hasattr(os, "posix_fallocate") and hasattr(os, "SEEK_HOLE")
    if not can or about.st_blocks * 512 >= about.st_size:
        return
    with path.open("r+b", buffering=0) as stream:
        hole = os.lseek(stream.fileno(), 0, os.SEEK_HOLE)
        end = min(hole + (about.st_size if about.st_size <= _SMALL_BYTES else ahead_bytes), about.st_size)
        if end > hole:
            try:
                os.posix_fallocate(stream.fileno(), hole, end - hole)
            except OSError as error:
                if error.errno not in (errno.EOPNOTSUPP, errno.EINVAL):
                    raise
