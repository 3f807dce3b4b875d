"""Steps from files, folders and standard input: JSON lines, JSON documents, tables or text, plain or gzip."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from io import BufferedReader
from itertools import chain, islice
from pathlib import Path
from typing import IO, Any, cast

from stitch.core import Position, Rejection, SourcedStep, StepSource
from stitch.errors import InputError
from stitch.sources.limits import Counted, Lines, Unpacked, naming_errors
from stitch.sources.naming import state_of
from stitch.sources.paths import expand_paths, people_beside, stem_of
from stitch.sources.positions import Positions
from stitch.sources.reading import StepReader, records

Items = list["SourcedStep | Rejection"]

_BATCH_ITEMS = 256
_GZIP_MAGIC = b"\x1f\x8b"


class FileSource:
    """The steps of one file.

    Each line is one record (see `stitch.sources.FORMATS`); a file that is one JSON document is read as the record, or
    the list of records, that it holds. Steps without an id are numbered inside their trajectory, so that reading a
    file twice gives the same steps. What cannot be read is given as a `Rejection` and reading goes on.

    A position counts what was read: to go on, a file is read again and so much of it is passed over. Of a file that has
    changed meanwhile all is read.
    Records that name no trajectory are of the given one, or of one with the file's name without its endings. Positions
    last as long as this object by default.
    """

    def __init__(self, path: str | Path, *, trajectory: str | None = None, positions: Positions | None = None) -> None:
        self.name = str(path)
        self._people = people_beside(self.name)
        self._trajectory = trajectory or stem_of(str(Path(self.name).parent) if self._people else self.name)
        self._positions = positions or Positions()
        self._position: dict[str, Any] = {"items": 0, "file": [], "ended": False}
        self._rest: Iterator[Items] | None = None

    def __iter__(self) -> Iterator[SourcedStep | Rejection]:
        """All items of the file from its beginning, whatever was read or committed."""
        return chain.from_iterable(self._read())

    def read(self) -> Iterator[Sequence[SourcedStep | Rejection]]:
        """Yield what stands behind what was read last; see `StepSource`."""
        if self._rest is None:
            self._rest = self._behind_committed()
        for batch in self._rest:
            self._position = {**self._position, "items": self._position["items"] + len(batch)}
            yield batch

    def snapshot(self) -> Position:
        """Position of reading."""
        return self._position if self._position["file"] else self._positions.of(self.name) or self._position

    def commit(self, position: Position) -> None:
        """Take note that everything before a position is accepted."""
        self._positions.keep({self.name: position})

    def close(self) -> None:
        """Let go of the file; what was not read of it is not read any more."""
        self._rest = iter(())

    def _behind_committed(self) -> Iterator[Items]:
        known = self._positions.of(self.name)
        now = state_of(self.name)
        if known is not None and known["file"] == now:
            self._position = dict(known)
        else:
            self._position = {"items": 0, "file": now, "ended": False}
        if self._position["ended"]:
            return
        to_pass = int(self._position["items"])
        for batch in self._read():
            behind, to_pass = batch[to_pass:], max(0, to_pass - len(batch))
            if behind:
                yield behind
        self._position = {**self._position, "ended": True}

    def _read(self) -> Iterator[Items]:
        # Of several files of one trajectory, each numbers steps under its own name.
        numbered = f"{stem_of(self.name)}-" if self._people else ""
        reader = StepReader(self.name, trajectory=self._trajectory, numbered=numbered)
        if self._people is not None:
            with naming_errors(str(self._people)):
                reader.know(self._people.read_bytes())
        with naming_errors(self.name), Path(self.name).open("rb") as file:
            yield from _batches(file, reader)


class StandardInput:
    """The steps that come on standard input, in the form of a file, as they come.

    A stream has no name and cannot be read again from its middle. So steps without an id have one that is made of their
    number and of all that came before them in their trajectory: what is piped twice, or again after a process died, is
    known as far as it is the same, and two streams are two, also into one trajectory.
    """

    name = "-"

    def __init__(self, *, trajectory: str | None = None) -> None:
        self._reader = StepReader(self.name, trajectory=trajectory or stem_of(self.name), nameless=True)
        self._batches: Iterator[Items] | None = None
        self._count = 0

    def __iter__(self) -> Iterator[SourcedStep | Rejection]:
        """All items that come."""
        return chain.from_iterable(self.read())

    def read(self) -> Iterator[Sequence[SourcedStep | Rejection]]:
        """Yield what comes, record by record, until the stream ends."""
        if self._batches is None:
            self._batches = self._read()
        for batch in self._batches:
            self._count += len(batch)
            yield batch

    def snapshot(self) -> Position:
        """Number of items that were read."""
        return {"items": self._count}

    def commit(self, position: Position) -> None:
        """Nothing: what is sent again is known by its ids."""

    def close(self) -> None:
        """Read no more."""
        self._batches = iter(())

    def _read(self) -> Iterator[Items]:
        with naming_errors(self.name):
            yield from _batches(_standard_input(), self._reader)


class FolderSource:
    """The steps of the files below a folder, file after file in the order of their names; new files may appear.

    A file that cannot be read, or breaks off, is rejected once, and the others are read.
    The sources of its files, such as `FileSource` or `FollowedFile`, begin at the committed positions, too.
    """

    def __init__(
        self, path: str | Path, *, open_file: Callable[[str], StepSource], positions: Positions | None = None
    ) -> None:
        self.name = str(path)
        self._open_file = open_file
        self._positions = positions or Positions()
        self._files: dict[str, StepSource] = {}
        self._broken: set[str] = set()

    def read(self) -> Iterator[Sequence[SourcedStep | Rejection]]:
        """Yield what stands in the files behind what was read last; see `StepSource`."""
        names = expand_paths([self.name], empty=True)
        for name in names:
            if name not in self._files:
                self._files[name] = self._open_file(name)
            try:
                yield from self._files[name].read()
            except InputError as error:
                if len(names) == 1:
                    raise
                if name not in self._broken:
                    self._broken.add(name)
                    yield [Rejection(source=name, line=0, reason=error.message)]

    def snapshot(self) -> Position:
        """Position of reading in each file."""
        return {name: file.snapshot() for name, file in self._files.items()}

    def commit(self, position: Position) -> None:
        """Take note that everything before a position is accepted."""
        self._positions.keep(position)

    def close(self) -> None:
        """Let go of the files."""
        for file in self._files.values():
            file.close()


def _batches(file: IO[bytes], reader: StepReader) -> Iterator[Items]:
    """Items of an open file, record by record."""
    with ExitStack() as stack:
        if cast("BufferedReader", file).peek(2)[:2] == _GZIP_MAGIC:
            packed = Counted(cast("BufferedReader", file))
            unpacked = stack.enter_context(Unpacked(packed))
            lines = Lines(BufferedReader(unpacked), packed=packed)
        else:
            lines, unpacked = Lines(file), None
        number = 0
        for number, raw in records(lines):
            items = reader.steps(number, raw)
            while batch := list(islice(items, _BATCH_ITEMS)):
                yield batch
        if rest := list(reader.rest(number)):
            yield [*rest]
        if unpacked is not None and unpacked.fault is not None:
            raise InputError(str(unpacked.fault).lower(), hint="what stands before is stored; check the file")


def _standard_input() -> IO[bytes]:
    """Standard input, in a reader of its own: Python would not end while a thread waits in that of `sys.stdin`."""
    try:
        return open(sys.stdin.fileno(), "rb", closefd=False)
    except OSError:  # something else stands in its place
        return sys.stdin.buffer
