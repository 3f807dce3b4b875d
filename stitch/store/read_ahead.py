"""Asking the system to read files before they are needed: a search reads here and there, one page at a time."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

MOST_BYTES = 512 * 2**20
"""More than this is not asked for at once: it would drive out of memory what others need."""

_PART_BYTES = 128 * 2**10
"""As much as the system surely reads for one call."""


def read_ahead(files: Iterable[Path], *, most_bytes: int = MOST_BYTES) -> int:
    """Let the system read files into its cache, without waiting; return how many bytes were asked for.

    Does nothing where the system cannot be asked, or a file cannot be read: then whoever needs it waits for the disk.
    """
    if not hasattr(os, "posix_fadvise"):
        return 0
    asked = 0
    for file in files:
        try:
            with open(file, "rb") as stream:
                size = os.fstat(stream.fileno()).st_blocks * 512  # what a sparse file does not hold is not read
                for start in range(0, min(size, most_bytes - asked), _PART_BYTES):
                    os.posix_fadvise(stream.fileno(), start, _PART_BYTES, os.POSIX_FADV_WILLNEED)
        except OSError:
            continue
        asked += min(size, most_bytes - asked)
    return asked
