"""Steps from files and standard input: JSON lines, JSON documents, tables or text with speakers, plain or gzip."""

from __future__ import annotations

import gzip
import sys
import zlib
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from io import BufferedReader
from pathlib import Path
from typing import IO, cast

from stitch.core import Rejection, SourcedStep
from stitch.errors import InputError
from stitch.sources.reading import StepReader, records

SUFFIXES = (".gz", ".jsonl", ".json", ".ndjson", ".jsonlines", ".jl", ".traj", ".txt", ".log", ".csv", ".tsv", ".vtt",
            ".srt")  # fmt: skip
"""How the files of a folder end that are read."""

_GZIP_MAGIC = b"\x1f\x8b"


class FileSource:
    """The steps of one file; `-` is standard input.

    Each line is one record (see `stitch.sources.FORMATS`); a file that is one JSON document is read as the record, or
    the list of records, that it holds. Steps without an id are numbered inside their trajectory, so that reading a
    file twice gives the same steps. What cannot be read is yielded as a `Rejection` and reading goes on.

    Args:
        path: The file.
        trajectory: The trajectory of records that name none; the file's name without its endings by default.

    Raises:
        InputError: While iterating: the file cannot be opened, or breaks off.
    """

    def __init__(self, path: str | Path, *, trajectory: str | None = None) -> None:
        self.name = str(path)
        self._trajectory = trajectory or stem_of(self.name)

    def __iter__(self) -> Iterator[SourcedStep | Rejection]:
        reader = StepReader(self.name, trajectory=self._trajectory)
        try:
            with self._open() as file:
                for number, raw in records(file):
                    yield from reader.steps(number, raw)
        except (OSError, EOFError, zlib.error) as error:
            reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
            raise InputError(
                f"cannot read {self.name!r}: {reason.lower()}", hint="check the path and the file"
            ) from error

    @contextmanager
    def _open(self) -> Iterator[IO[bytes]]:
        with ExitStack() as stack:
            file = _standard_input() if self.name == "-" else stack.enter_context(Path(self.name).open("rb"))
            if cast("BufferedReader", file).peek(2)[:2] == _GZIP_MAGIC:
                yield cast("IO[bytes]", stack.enter_context(gzip.open(file)))
            else:
                yield file


def _standard_input() -> IO[bytes]:
    """Standard input, in a reader of its own: Python would not end while a thread waits in that of `sys.stdin`."""
    try:
        return open(sys.stdin.fileno(), "rb", closefd=False)
    except OSError:  # something else stands in its place
        return sys.stdin.buffer


def expand_paths(paths: Iterable[str], *, empty: bool = False) -> list[str]:
    """Return the files that `paths` name: of a folder, the files below it with a known ending, by name.

    Args:
        paths: Files, folders, and `-`.
        empty: A folder may hold no such file.

    Raises:
        InputError: A path does not exist, or a folder holds no such file.
    """
    files: list[str] = []
    for path in paths:
        if path == "-" or Path(path).is_file():
            files.append(path)
        elif Path(path).is_dir():
            found = sorted(str(f) for f in Path(path).rglob("*") if f.is_file() and f.name.endswith(SUFFIXES))
            if not found and not empty:
                raise InputError(f"folder {path!r} holds no file ending in {', '.join(SUFFIXES)}")
            files.extend(found)
        else:
            raise InputError(f"no such file: {path!r}", hint="check the path; `-` reads standard input")
    return files


def left_out(paths: Iterable[str]) -> list[str]:
    """The files in folders that `expand_paths` does not take, for their endings are not known."""
    folders = [Path(path) for path in paths if Path(path).is_dir()]
    found = (file for folder in folders for file in folder.rglob("*") if file.is_file())
    return sorted(str(file) for file in found if not file.name.endswith(SUFFIXES))


def stem_of(name: str) -> str:
    """The name of a file without its endings."""
    stem = Path(name).name if name != "-" else "stdin"
    while stem.endswith(SUFFIXES):
        stem = stem.rsplit(".", 1)[0]
    return stem or "trajectory"
