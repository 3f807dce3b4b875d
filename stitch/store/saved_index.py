"""The index of a store as one file: written when a store is closed, so that opening it need not read every snippet."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from stitch.core.files import private
from stitch.store.index import LabelIndex

if TYPE_CHECKING:
    from numpy.typing import NDArray

_VERSION = 3
_HEAD_BYTES = 8


def save_index(file: Path, index: LabelIndex) -> None:
    """Write an index; the file is whole, or not there."""
    names, arrays = index.dump()
    shapes = [[array.dtype.str, *array.shape] for array in arrays]
    head = json.dumps({"version": _VERSION, "names": names, "arrays": shapes}).encode()
    half_written = file.with_suffix(".new")
    with open(half_written, "wb", opener=private) as stream:
        stream.write(len(head).to_bytes(_HEAD_BYTES, "little") + head)
        for array in arrays:
            stream.write(np.ascontiguousarray(array).data.cast("B") if array.size else b"")
        stream.flush()
        os.fsync(stream.fileno())
    half_written.replace(file)


def load_index(file: Path) -> LabelIndex | None:
    """Read an index; None if there is none, or not one that this version wrote."""
    try:
        data = file.read_bytes()
        start = _HEAD_BYTES + int.from_bytes(data[:_HEAD_BYTES], "little")
        head = json.loads(data[_HEAD_BYTES:start])
        if head["version"] != _VERSION:
            return None
        return LabelIndex.load(head["names"], _arrays(data, start, head["arrays"]))
    except (OSError, ValueError, KeyError, TypeError, StopIteration):
        return None


def remove_index(file: Path) -> None:
    """Remove a saved index for good, before the store is changed: a loss of power does not bring it back."""
    try:
        file.unlink()
    except FileNotFoundError:
        return
    if sys.platform != "win32":  # there a folder cannot be synced, and need not be
        folder = os.open(file.parent, os.O_RDONLY)
        os.fsync(folder)
        os.close(folder)


def _arrays(data: bytes, start: int, shapes: list[list[Any]]) -> Iterator[NDArray[Any]]:
    for code, *shape in shapes:
        dtype = np.dtype(code)
        count = int(np.prod(shape, dtype=np.int64))
        yield np.frombuffer(data, dtype, count, start).reshape(shape)
        start += count * dtype.itemsize
