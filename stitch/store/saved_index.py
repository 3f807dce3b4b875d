"""The index of a store as one file: written when a store is closed, so that opening it need not read every snippet."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zlib import crc32

import numpy as np

from stitch.core.files import private
from stitch.store.index import LabelIndex

if TYPE_CHECKING:
    from numpy.typing import NDArray

_VERSION = 4
_NUMBER_BYTES = 8
"""Of each of the two numbers before the head: the CRC-32 of all that follows, and the length of the head."""


def save_index(file: Path, index: LabelIndex) -> None:
    """Write an index; the file is whole, or not there."""
    names, arrays = index.dump()
    shapes = [[array.dtype.str, *array.shape] for array in arrays]
    head = json.dumps({"version": _VERSION, "names": names, "arrays": shapes}).encode()
    parts: list[bytes | memoryview] = [len(head).to_bytes(_NUMBER_BYTES, "little") + head]
    parts += [np.ascontiguousarray(array).data.cast("B") for array in arrays if array.size]
    checksum = 0
    for part in parts:
        checksum = crc32(part, checksum)
    half_written = file.with_suffix(".new")
    with open(half_written, "wb", opener=private) as stream:
        stream.write(checksum.to_bytes(_NUMBER_BYTES, "little"))
        for part in parts:
            stream.write(part)
        stream.flush()
        os.fsync(stream.fileno())
    half_written.replace(file)


def load_index(file: Path) -> LabelIndex | None:
    """Read an index; None if there is none, or not one that this version wrote, or not as it was written."""
    try:
        data = memoryview(file.read_bytes())
        if crc32(data[_NUMBER_BYTES:]) != int.from_bytes(data[:_NUMBER_BYTES], "little"):
            return None
        start = 2 * _NUMBER_BYTES + int.from_bytes(data[_NUMBER_BYTES : 2 * _NUMBER_BYTES], "little")
        head = json.loads(bytes(data[2 * _NUMBER_BYTES : start]))
        if head["version"] != _VERSION:
            return None
        return LabelIndex.load(head["names"], _arrays(data, start, head["arrays"]))
    except (OSError, ValueError, KeyError, TypeError, StopIteration):
        return None


def remove_for_good(file: Path) -> None:
    """Remove what is about to become wrong; a loss of power does not bring it back."""
    try:
        file.unlink()
    except FileNotFoundError:
        return
    if sys.platform != "win32":  # there a folder cannot be synced, and need not be
        folder = os.open(file.parent, os.O_RDONLY)
        os.fsync(folder)
        os.close(folder)


def _arrays(data: memoryview, start: int, shapes: list[list[Any]]) -> Iterator[NDArray[Any]]:
    for code, *shape in shapes:
        dtype = np.dtype(code)
        count = int(np.prod(shape, dtype=np.int64))
        yield np.frombuffer(data, dtype, count, start).reshape(shape)
        start += count * dtype.itemsize
