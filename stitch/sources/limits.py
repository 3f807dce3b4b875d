"""Bounds of what is held of an input at a time: lines, documents and what a packed file expands to have an end."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from io import BufferedReader, RawIOBase
from typing import IO, Any, NamedTuple, cast

from stitch.errors import InputError

MAX_RECORD_BYTES = 128 << 20
"""The longest line, and the longest document over several lines."""
MAX_DOCUMENT_LINES = 5_000_000
"""Of so many lines a document has at most: each is an object while it is put together."""
MAX_DEPTH = 100
"""So many objects and lists stand inside each other at most; what reads, redacts and writes them goes as deep."""
MAX_EXPANSION = 200
"""To so many times its size a packed file expands at most; logs do to 20 to 100 times."""
MAX_LINES_A_BYTE = 4
"""So many lines a byte of a packed file holds at most; an empty line takes nearly nothing there, and time here."""
FREE_BYTES, FREE_LINES = 64 << 20, 200_000
"""So much any packed file may expand to."""
_EXCERPT_BYTES = 800


class Unreadable(NamedTuple):
    """Input that is no record, with why."""

    reason: str
    text: bytes


def is_too_deep(value: Any) -> bool:
    """Whether objects and lists stand inside each other deeper than any record's do."""
    level = [value]
    for _ in range(MAX_DEPTH):
        level = [inner for one in level if isinstance(one, dict | list)
                 for inner in (one.values() if isinstance(one, dict) else one)]  # fmt: skip
        if not level:
            return False
    return True


def too_long(what: str) -> str:
    """The reason to reject a record that is longer than any may be."""
    return f"{what} is longer than {MAX_RECORD_BYTES / 1e6:.0f} MB"


class Lines:
    """The lines of a file one after the other; of one that is too long, only that there is one.

    Args:
        file: Gives bytes.
        packed: The packed file that it is unpacked from, which knows how much of it was read.
    """

    def __init__(self, file: IO[bytes], *, packed: Counted | None = None) -> None:
        self._file = file
        self._packed = packed
        self._read = 0
        self._number = 0
        self.too_long: list[tuple[int, bytes]] = []
        """The numbers of lines that were too long, with how they begin, until somebody takes them."""

    def __iter__(self) -> Iterator[bytes]:
        """Yield the lines; an empty one stands for one that is too long.

        Raises:
            InputError: The file expands to more than it may.
        """
        while line := self.readline():
            yield line

    def readline(self) -> bytes:
        """The next line, as `__iter__` yields it; nothing at the end of the file."""
        line = self._taken(self._file.readline(MAX_RECORD_BYTES + 1))
        self._number += 1
        if len(line) <= MAX_RECORD_BYTES or line.endswith(b"\n"):
            return line
        self.too_long.append((self._number, line[:_EXCERPT_BYTES]))
        del line
        while (rest := self._taken(self._file.readline(1 << 20))) and not rest.endswith(b"\n"):
            pass
        return b"\n"

    def rest(self) -> bytes:
        """All that follows.

        Raises:
            InputError: It is longer than any document may be.
        """
        data = self._taken(self._file.read(MAX_RECORD_BYTES + 1))
        if len(data) > MAX_RECORD_BYTES:
            raise InputError(too_long("a file that is not UTF-8"), hint="write it as UTF-8")
        return data

    def _taken(self, data: bytes) -> bytes:
        self._read += len(data)
        if self._packed is not None and (
            self._read > max(FREE_BYTES, MAX_EXPANSION * self._packed.count)
            or self._number > max(FREE_LINES, MAX_LINES_A_BYTE * self._packed.count)
        ):
            raise InputError(
                f"it expands to more than {MAX_EXPANSION} times its size, or to {MAX_LINES_A_BYTE} lines a byte,"
                f" after line {self._number}",
                hint="what stands before is stored; if it is no attack, unpack it and name the file itself",
            )
        return data


class Counted:
    """A packed file that counts what is read of it."""

    def __init__(self, file: BufferedReader) -> None:
        self._file = file
        self.count = 0

    def read(self, size: int = -1) -> bytes:
        """As the file's own."""
        data = self._file.read(size)
        self.count += len(data)
        return data

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)


class Unpacked(RawIOBase):
    """Content of a packed file; where that is broken it ends, and knows why."""

    def __init__(self, packed: Counted) -> None:
        self.fault: Exception | None = None
        self._file = gzip.GzipFile(fileobj=cast("IO[bytes]", packed))

    def readable(self) -> bool:
        """Always."""
        return True

    def readinto(self, buffer: Any) -> int:
        """As of any file."""
        try:
            data = self._file.read1(len(buffer))
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            self.fault, data = error, b""
        buffer[: len(data)] = data
        return len(data)


@contextmanager
def naming_errors(name: str) -> Iterator[None]:
    """Say in one line which file cannot be read, and why."""
    try:
        yield
    except InputError as error:
        raise InputError(f"cannot read {name!r}: {error.message}", hint=error.hint) from error
    except (OSError, EOFError, ValueError, zlib.error) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise InputError(f"cannot read {name!r}: {reason.lower()}", hint="check the path and the file") from error
