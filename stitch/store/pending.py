"""Vectors that the engine may lose with the process: what was put since it was flushed last."""

from __future__ import annotations

import errno
import os
import struct
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING
from zlib import crc32

import numpy as np

from stitch.store.snippet_file import open_file

if TYPE_CHECKING:
    from numpy.typing import NDArray

_BLOCK = struct.Struct("<II")
"""How many vectors, and the CRC-32 of what follows: their rows (8 bytes each), then the vectors in half precision."""


class PendingVectors:
    """A log of vectors by row, emptied whenever the engine was flushed.

    Args:
        path: The file; made if it is not there.
        dimension: The length of a vector.

    Raises:
        OSError: The file cannot be used.
    """

    def __init__(self, path: Path, *, dimension: int) -> None:
        self._file = open_file(path)
        self._dimension = dimension
        self.size = os.fstat(self._file.fileno()).st_size
        """In bytes."""

    def append(self, rows: Sequence[int], vectors: NDArray[np.float32]) -> None:
        """Write vectors down; they survive the death of the process."""
        content = np.array(rows, dtype="<u8").tobytes() + vectors.astype("<f2").tobytes()
        block = _BLOCK.pack(len(rows), crc32(content)) + content
        self._file.seek(self.size)
        if self._file.write(block) < len(block):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        self.size += len(block)

    def read(self) -> Iterator[tuple[list[int], NDArray[np.float32]]]:
        """What was written, in order, up to where a write was interrupted."""
        self._file.seek(0)
        data, at = self._file.read(), 0
        while at + _BLOCK.size <= len(data):
            count, checksum = _BLOCK.unpack_from(data, at)
            at += _BLOCK.size
            content = data[at : at + count * (8 + 2 * self._dimension)]
            if crc32(content) != checksum:
                return
            vectors = np.frombuffer(content, "<f2", offset=8 * count).reshape(count, self._dimension)
            yield np.frombuffer(content, "<u8", count).tolist(), vectors.astype(np.float32)
            at += len(content)

    def clear(self) -> None:
        """Overwrite all of it on the disk, and begin anew."""
        if self.size:
            self._file.seek(0)
            self._file.write(bytes(self.size))
            os.fsync(self._file.fileno())
            self._file.truncate(0)
            self.size = 0

    def close(self) -> None:
        """Let go of the file."""
        self._file.close()
