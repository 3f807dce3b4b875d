"""Arrays in one file, with a head that says what they are: whole as it was written, or not there."""

from __future__ import annotations

import json
import math
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zlib import crc32

import numpy as np
import orjson

from stitch.core.files import private

if TYPE_CHECKING:
    from numpy.typing import NDArray

_NUMBER_BYTES = 8
"""Of each of the two numbers before the head: the CRC-32 of all that follows, and the length of the head."""
_HALF_WRITTEN = ".new"


def save_arrays(file: Path, arrays: Sequence[NDArray[Any]], *, version: int, names: Any = None) -> None:
    """Write arrays; the file is whole, or not there.

    Args:
        file: Where; what was there is replaced.
        arrays: Of numbers.
        version: Of what they mean.
        names: Whatever else belongs to them, that JSON can say.
    """
    shapes = [[array.dtype.str, *array.shape] for array in arrays]
    head = json.dumps({"version": version, "names": names, "arrays": shapes}).encode()
    parts: list[bytes | memoryview] = [len(head).to_bytes(_NUMBER_BYTES, "little") + head]
    parts += [np.ascontiguousarray(array).data.cast("B") for array in arrays if array.size]
    checksum = 0
    for part in parts:
        checksum = crc32(part, checksum)
    half_written = file.with_suffix(_HALF_WRITTEN)
    with open(half_written, "wb", opener=private) as stream:
        stream.write(checksum.to_bytes(_NUMBER_BYTES, "little"))
        for part in parts:
            stream.write(part)
        stream.flush()
        os.fsync(stream.fileno())
    half_written.replace(file)


def load_arrays(file: Path, *, version: int) -> tuple[Any, Iterator[NDArray[Any]]] | None:
    """Read names and arrays; None if there are none, or not of this version, or not as they were written."""
    try:
        data = memoryview(file.read_bytes())
        if crc32(data[_NUMBER_BYTES:]) != int.from_bytes(data[:_NUMBER_BYTES], "little"):
            return None
        start = 2 * _NUMBER_BYTES + int.from_bytes(data[_NUMBER_BYTES : 2 * _NUMBER_BYTES], "little")
        head = orjson.loads(data[2 * _NUMBER_BYTES : start])
        if head["version"] != version:
            return None
        return head["names"], _arrays(data, start, head["arrays"])
    except (OSError, ValueError, KeyError, TypeError):
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
        count = math.prod(shape)  # numpy's takes ten times as long, and there are twenty arrays to a tenant
        flat = np.frombuffer(data, dtype, count, start)
        yield flat if len(shape) == 1 else flat.reshape(shape)
        start += count * dtype.itemsize
