"""The file in which an embedded store keeps its snippets: one record each, found by its place, freed by overwriting it.

Nothing is compressed: what is freed is zeros, and what is searched for in the file's bytes is found or is not there.
The format stands in the README of this folder; all numbers are little-endian.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Callable, Iterator, Sequence
from io import FileIO
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import Any, NamedTuple
from zlib import crc32

import orjson

from stitch.core.files import private
from stitch.core.snippets import MemorySnippet
from stitch.errors import StoreError
from stitch.store.payload import Payload
from stitch.store.recent import RecentSnippets
from stitch.store.record_fields import from_values, snippet_of, to_values

VECTOR_TYPES = ("float32", "float16", "int8")
"""How the numbers of a vector may be written; the header has the place in this list."""

_FILE = struct.Struct("<8sHBxI12xI")
_MAGIC = b"STITCHSN"
_RECORD = struct.Struct("<4sBBxxIII")
_MARK = b"\xf5\xf6\xf7\xf8"
"""How a record begins; none of these bytes stands in UTF-8."""
_FREE, _LIVING = 0, 1
_VECTOR = struct.Struct("<QI")
_COUNT = struct.Struct("<I")
_CHECKSUM_BYTES = 4
_pread: Callable[[int, int, int], bytes] | None = getattr(os, "pread", None)


class Place(NamedTuple):
    """Where a record stands."""

    start: int
    size: int


class VectorMark(NamedTuple):
    """One vector of a snippet."""

    row: int
    """Its number in the engine."""
    checksum: int
    """CRC-32 of its bytes."""


class Record(NamedTuple):
    """What a record says."""

    vectors: tuple[VectorMark, ...]
    words: bytes
    """Packed lexical weights."""
    payload: Payload


class Freed(NamedTuple):
    """What stands where a record was freed."""

    cleared: bool
    """Whether it is all zeros; if not, freeing it was interrupted."""


def encode_record(payload: Payload, *, words: bytes, vectors: Sequence[VectorMark]) -> bytes:
    """The bytes of a record."""
    parts = [_VECTOR.pack(*each) for each in vectors]
    body = b"".join([*parts, _COUNT.pack(len(words)), words, orjson.dumps(to_values(payload))])
    return _head(_LIVING, len(vectors), len(body), crc32(body)) + body


def holds_snippets(path: Path) -> bool:
    """Whether there is a file of snippets with any that is not freed, whatever embedder made their vectors."""
    try:
        with open(path, "rb") as stream, mmap(stream.fileno(), 0, access=ACCESS_READ) as data:
            return data.find(_MARK + bytes([_LIVING])) >= 0
    except (FileNotFoundError, ValueError):  # an empty file cannot be mapped
        return False


class SnippetFile:
    """Records in a file, appended at its end.

    Args:
        path: The file; made if it is not there.
        layout: The version of the format, as the file has to have it.
        dimension: The length of a vector.
        vectors: How the numbers of a vector are written: one of `VECTOR_TYPES`.

    Raises:
        StoreError: The header is damaged, or says something else.
        OSError: The file cannot be used.
    """

    def __init__(self, path: Path, *, layout: int, dimension: int, vectors: str = "float16") -> None:
        self._path = path
        self._file = open_file(path)
        self._recent = RecentSnippets()
        head = _FILE.pack(_MAGIC, layout, VECTOR_TYPES.index(vectors), dimension, 0)
        self._header = head[:-_CHECKSUM_BYTES] + crc32(head[:-_CHECKSUM_BYTES]).to_bytes(_CHECKSUM_BYTES, "little")
        self.size = os.fstat(self._file.fileno()).st_size
        """In bytes."""
        if self.size < len(self._header):
            self._write(self._header, 0)
            self.size = len(self._header)
        elif self._read(len(self._header), 0) != self._header:
            self._file.close()
            raise StoreError(f"{str(path)!r} is damaged, or of another version")

    def append(self, records: Sequence[bytes]) -> list[Place]:
        """Write records; they survive the death of the process, and a loss of power after `flush`."""
        places, at = [], self.size
        for record in records:
            places.append(Place(at, len(record)))
            at += len(record)
        self._write(b"".join(records), self.size)
        self.size = at
        return places

    def read(self, place: Place) -> Record:
        """The record at a place.

        Raises:
            StoreError: There is none, or not as it was written.
        """
        return _decode(self._read(place.size, place.start), size=place.size)

    def snippet(self, start: int, size: int) -> MemorySnippet:
        """The snippet of the record at a place: quicker than all of it, and not read again if it was read lately.

        Raises:
            StoreError: There is none, or not as it was written.
        """
        found = self._recent.find(start, size)
        if found is None:
            body, count = _body(self._read(size, start), size)
            found = snippet_of(_values(body, count * _VECTOR.size))
            self._recent.keep(start, size, found)
        return found

    def free(self, places: Sequence[Place]) -> None:
        """Overwrite records with zeros, but for their length."""
        for place in places:
            self._recent.forget(place.start)
            size = place.size - _RECORD.size
            self._write(_head(_FREE, 0, size, 0) + bytes(size), place.start)

    def scan(self) -> Iterator[tuple[Place, Record | Freed | None]]:
        """Read the whole file, in the order in which it was written; None stands for what is damaged."""
        at = len(self._header)
        with open(self._path, "rb") as stream, mmap(stream.fileno(), 0, access=ACCESS_READ) as data:
            while at < len(data):
                state, size = _read_head(data[at : at + _RECORD.size])
                if state is None or at + size > len(data):
                    after = data.find(_MARK, at + 1)
                    size = (len(data) if after < 0 else after) - at
                    yield Place(at, size), None
                elif state == _FREE:
                    yield Place(at, size), Freed(not any(data[at + _RECORD.size : at + size]))
                else:
                    try:
                        yield Place(at, size), _decode(data[at : at + size], size=size)
                    except StoreError:
                        yield Place(at, size), None
                at += size

    def clear(self, place: Place) -> None:
        """Overwrite what is no record; at the end of the file, cut it off."""
        if place.start + place.size >= self.size:
            self._file.truncate(place.start)
            self.size = place.start
        elif place.size >= _RECORD.size:
            self.free([place])
        else:
            self._write(bytes(place.size), place.start)

    def rewrite(self, places: Sequence[Place]) -> list[Place]:
        """Write the file anew with these records alone, in this order; return where they stand then."""
        made = self._path.with_suffix(".new")
        made.unlink(missing_ok=True)
        now, at = [], len(self._header)
        with open_file(made) as file:
            file.write(self._header)
            for place in places:
                file.write(self._read(place.size, place.start))
                now.append(Place(at, place.size))
                at += place.size
            os.fsync(file.fileno())
        self._file.close()
        self._recent.cache_clear()
        made.replace(self._path)
        self._file, self.size = open_file(self._path), at
        return now

    def flush(self) -> None:
        """Make everything written survive a loss of power."""
        os.fsync(self._file.fileno())

    def close(self) -> None:
        """Let go of the file."""
        self._recent.cache_clear()
        self._file.close()

    def _read(self, size: int, start: int) -> bytes:
        if _pread is not None:  # one call instead of two
            return _pread(self._file.fileno(), size, start)
        self._file.seek(start)
        return self._file.read(size) or b""

    def _write(self, data: bytes, start: int) -> None:
        self._file.seek(start)
        view = memoryview(data)
        while view:
            view = view[self._file.write(view) :]


def open_file(path: Path) -> FileIO:
    """Open a file to read and write, at once and not through a buffer; make it, for this user alone, if need be.

    Raises:
        OSError: It cannot be, or is a link to somewhere else.
    """
    return FileIO(private(str(path), os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0)), "r+b")


def _head(state: int, vectors: int, size: int, checksum: int) -> bytes:
    head = _RECORD.pack(_MARK, state, vectors, size, checksum, 0)[:-_CHECKSUM_BYTES]
    return head + crc32(head).to_bytes(_CHECKSUM_BYTES, "little")


def _read_head(data: bytes) -> tuple[int | None, int]:
    """The state and the length of a record, its head included; no state if there is none."""
    if len(data) < _RECORD.size:
        return None, 0
    mark, state, _, size, _, own = _RECORD.unpack_from(data)
    if mark != _MARK or own != crc32(data[: _RECORD.size - _CHECKSUM_BYTES]):
        return None, 0
    return state, _RECORD.size + size


def _body(data: bytes, size: int) -> tuple[memoryview, int]:
    """The body of a living record of this length, and how many vectors it names."""
    if len(data) == size:
        mark, state, count, length, checksum, own = _RECORD.unpack_from(data)
        body = memoryview(data)[_RECORD.size :]
        head_holds = own == crc32(data[: _RECORD.size - _CHECKSUM_BYTES])  # the other checksum is of the body alone
        if head_holds and mark == _MARK and state == _LIVING and length == len(body) and crc32(body) == checksum:
            return body, count
    raise StoreError("a record is damaged")


def _decode(data: bytes, *, size: int) -> Record:
    body, count = _body(data, size)
    vectors = tuple(VectorMark(*_VECTOR.unpack_from(body, number * _VECTOR.size)) for number in range(count))
    at = count * _VECTOR.size
    (length,) = _COUNT.unpack_from(body, at)
    at += _COUNT.size
    return Record(vectors, bytes(body[at : at + length]), from_values(_values(body, at - _COUNT.size)))


def _values(body: memoryview, at: int) -> list[Any]:
    """The values of fields behind the words that begin here."""
    (length,) = _COUNT.unpack_from(body, at)
    values: list[Any] = orjson.loads(body[at + _COUNT.size + length :])
    return values
