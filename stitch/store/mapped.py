"""Pages of mapped files: what was written stands in the file, and a process need not hold it until it is read again."""

from __future__ import annotations

import ctypes
import mmap
import os
from pathlib import Path

_MAPS = Path("/proc/self/maps")


def give_back_pages(folder: Path) -> None:
    """Give back the pages of the files of a folder that this process has mapped; they come again when they are needed.

    A process holds each page of a file that it wrote or read through a map, until it ends: of 200,000 vectors, 280 MB.
    The engine does not let go of its own, so that they are found where Linux tells of them; elsewhere nothing is done.
    Nobody may map or unmap files of the folder meanwhile.
    """
    if not hasattr(mmap, "MADV_DONTNEED"):
        return
    try:
        maps = _MAPS.read_text(encoding="utf-8", errors="replace")
    except OSError:  # not Linux, or a container that shows no process: the system takes the pages when it needs them
        return
    inside = f"{folder.resolve()}{os.sep}"
    advise = ctypes.PyDLL(None).madvise  # which keeps the interpreter: no other thread maps anything here meanwhile
    advise.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
    for line in maps.splitlines():
        addresses, shared, *_, file = line.split(maxsplit=5)
        if shared.endswith("s") and file.startswith(inside):  # a page that is shared is the file's, written or not
            start, end = (int(address, 16) for address in addresses.split("-"))
            advise(start, end - start, mmap.MADV_DONTNEED)
