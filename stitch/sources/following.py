"""Files that grow: what is appended is read, whatever is done to the file meanwhile, and a later process goes on."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from hashlib import blake2b
from io import BufferedReader
from pathlib import Path

from stitch.core import Position, Rejection, SourcedStep
from stitch.sources import limits
from stitch.sources.limits import Unreadable, naming_errors, too_long
from stitch.sources.paths import stem_of
from stitch.sources.positions import Positions
from stitch.sources.reading import StepReader

_MARK_BYTES = 256
"""By so many bytes at the beginning, and before where reading stopped, a file is known again."""
_READ_BYTES = 1 << 20
_EXCERPT_BYTES = 1024

Items = list["SourcedStep | Rejection"]


class FollowedFile:
    """The steps of a file to which somebody appends: one record a line, as JSON or as `Speaker: text`.

    A line counts when it ends; one that is being written is left for later. A file that is renamed (rotated) is read to
    its end before the new one of its name is begun; one that is emptied or written anew is read from its beginning.
    Steps without an id are numbered on through all of them. The pieces of a streamed reply are not joined: a line never
    waits for the next.
    It need not be there yet. Records that name no trajectory are of the given one, or of one with the file's name
    without its endings.
    """

    def __init__(self, path: str | Path, *, trajectory: str | None = None, positions: Positions | None = None) -> None:
        self.name = str(path)
        self._path = Path(path)
        self._reader = StepReader(self.name, trajectory=trajectory or stem_of(self.name))
        self._file: BufferedReader | None = None
        self._offset = 0
        self._line = 0
        self._begin, self._end = b"", b""
        """The first bytes of what was read of the file, and the last ones."""
        self._positions = positions or Positions()
        self._saved = self._positions.of(self.name)
        if self._saved is not None:
            self._reader.restore(self._saved)

    def read(self) -> Iterator[Sequence[SourcedStep | Rejection]]:
        """Yield what was appended since the last time, line by line, as far as lines have ended.

        Raises:
            InputError: The file is there and cannot be read.
        """
        with naming_errors(self.name):
            while self._file is not None or self._open():
                yield from self._appended(whole=False)
                if not self._replaced():
                    return
                yield from self._appended(whole=True)  # nobody writes to it any more
                self.close()
                self._forget()

    def snapshot(self) -> Position:
        """Position of reading: in the file, and what is remembered of all before."""
        if self._saved is not None:  # nothing was there yet to go on with
            return dict(self._saved)
        return {
            "offset": self._offset,
            "line": self._line,
            "begin": _digest(self._begin),
            "begin_bytes": len(self._begin),
            "end": _digest(self._end),
            "end_bytes": len(self._end),
            **self._reader.save(),
        }

    def commit(self, position: Position) -> None:
        """Take note that everything before a position is accepted."""
        self._positions.keep({self.name: position})

    def close(self) -> None:
        """Let go of the file; `read` takes it up again where it was."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def _open(self) -> bool:
        saved, self._saved = self._saved, None
        if saved is not None and (old := self._find(saved)) is not None:
            self._file = old.open("rb")
            self._offset, self._line = saved["offset"], saved["line"]
            self._begin = self._bytes(0, saved["begin_bytes"])
            self._end = self._bytes(self._offset - saved["end_bytes"], saved["end_bytes"])
            return True
        if not self._path.exists():
            self._saved = saved
            return False
        self._file = self._path.open("rb")
        return True

    def _find(self, saved: Position) -> Path | None:
        """The file that was read, if it is still there: under its name, or renamed beside it."""
        # Of a file of which nothing was read, nothing tells it from the others beside it.
        looked = self._path.parent.is_dir() and saved["offset"] > 0
        beside = sorted(self._path.parent.glob(f"{_plain(self._path.name)}*")) if looked else []
        for path in dict.fromkeys([self._path, *beside]):
            if not path.is_file() or path.stat().st_size < saved["offset"]:
                continue
            with path.open("rb") as file:
                begin = file.read(saved["begin_bytes"])
                file.seek(saved["offset"] - saved["end_bytes"])
                if _digest(begin) == saved["begin"] and _digest(file.read(saved["end_bytes"])) == saved["end"]:
                    return path
        return None

    def _appended(self, *, whole: bool) -> Iterator[Items]:
        """The steps of what stands behind the offset; with `whole`, of its last line too if it has not ended."""
        file = self._file
        assert file is not None
        # From the end on nothing is taken out of a buffer.
        if file.seek(0, os.SEEK_END) < self._offset or not self._is_known():
            self._forget()
        file.seek(self._offset)
        while line := file.readline(limits.MAX_RECORD_BYTES + 1):
            length, end = len(line), line[-_MARK_BYTES:]
            while not end.endswith(b"\n") and (rest := file.readline(_READ_BYTES)):  # of a line that is too long
                length, end = length + len(rest), (end + rest)[-_MARK_BYTES:]
            if not (whole or end.endswith(b"\n")):
                return
            yield self._take(line, length, end)

    def _take(self, line: bytes, length: int, end: bytes) -> Items:
        if len(self._begin) < _MARK_BYTES:
            self._begin = (self._begin + line)[:_MARK_BYTES]
        text = line.removeprefix(b"\xef\xbb\xbf") if self._offset == 0 else line
        self._offset += length
        self._line += 1
        self._end = (self._end + end)[-_MARK_BYTES:]
        if length > limits.MAX_RECORD_BYTES:
            return list(self._reader.steps(self._line, Unreadable(too_long("line"), line[:_EXCERPT_BYTES])))
        return list(self._reader.line(self._line, text)) if text.strip() else []

    def _is_known(self) -> bool:
        """Whether what was read still stands in the file; not if it was emptied and has grown again."""
        return (
            self._bytes(0, len(self._begin)) == self._begin
            and self._bytes(self._offset - len(self._end), len(self._end)) == self._end
        )

    def _bytes(self, start: int, count: int) -> bytes:
        assert self._file is not None
        self._file.seek(start)
        return self._file.read(count)

    def _replaced(self) -> bool:
        """Whether another file has come under the name. While there is none, the old one may still be written to."""
        assert self._file is not None
        try:
            now = self._path.stat()
        except FileNotFoundError:
            return False
        return not os.path.samestat(now, os.fstat(self._file.fileno())) and not self._goes_on()

    def _goes_on(self) -> bool:
        """Whether the new file begins with all that was read, as one that an editor has saved: then it is taken."""
        with self._path.open("rb") as file:
            begins = file.read(len(self._begin)) == self._begin and self._offset > 0
            file.seek(max(0, self._offset - len(self._end)))
            if not begins or file.read(len(self._end)) != self._end:
                return False
        self.close()
        self._file = self._path.open("rb")
        return True

    def _forget(self) -> None:
        self._offset, self._line, self._begin, self._end = 0, 0, b"", b""


def _plain(name: str) -> str:
    """A name as a pattern that means it alone."""
    return "".join(f"[{char}]" if char in "*?[" else char for char in name)


def _digest(data: bytes) -> str:
    return blake2b(data, digest_size=16).hexdigest()
