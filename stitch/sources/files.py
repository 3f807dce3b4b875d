"""Steps from files and standard input: JSON lines or one JSON document, plain or gzip."""

from __future__ import annotations

import gzip
import re
import sys
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from io import BufferedReader
from itertools import chain
from pathlib import Path
from typing import IO, Any, cast

import orjson

from stitch.core import Rejection, SourcedStep
from stitch.errors import InputError, StepRejectedError
from stitch.sources.formats import FileReading, steps_of

_SUFFIXES = (".gz", ".jsonl", ".json", ".ndjson", ".traj", ".txt")
_EXCERPT_CHARS = 200
_GZIP_MAGIC = b"\x1f\x8b"
_SPEAKER = re.compile(rb"[A-Za-z\x80-\xff][A-Za-z0-9\x80-\xff_ .'&()-]{0,40}:\s")
"""How a line of plain text begins that says who speaks."""

_PARSE_ERROR = object()


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
        self._trajectory = trajectory or _stem(self.name)
        self._numbers: dict[str, int] = {}
        self._reading = FileReading(self._trajectory)

    def __iter__(self) -> Iterator[SourcedStep | Rejection]:
        self._numbers.clear()
        self._reading = FileReading(self._trajectory)
        try:
            with self._open() as file:
                for number, raw in _records(file):
                    yield from self._steps_of(number, raw)
        except (OSError, EOFError, zlib.error) as error:
            reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
            raise InputError(
                f"cannot read {self.name!r}: {reason.lower()}", hint="check the path and the file"
            ) from error

    @contextmanager
    def _open(self) -> Iterator[IO[bytes]]:
        with ExitStack() as stack:
            file = sys.stdin.buffer if self.name == "-" else stack.enter_context(Path(self.name).open("rb"))
            if cast("BufferedReader", file).peek(2)[:2] == _GZIP_MAGIC:
                yield cast("IO[bytes]", stack.enter_context(gzip.open(file)))
            else:
                yield file

    def _steps_of(self, number: int, raw: bytes | Any) -> Iterator[SourcedStep | Rejection]:
        value = _parse(raw) if isinstance(raw, bytes) else raw
        if value is _PARSE_ERROR:
            yield self._rejection(number, _why_unparsable(cast("bytes", raw)), raw)
            return
        try:
            for name, step in steps_of(value, self._reading):
                count = self._numbers[name] = self._numbers.get(name, -1) + 1
                if isinstance(step, StepRejectedError):
                    yield self._rejection(number, f"step {count} of {name!r}: {step.message}", raw)
                    continue
                if step.id is None:
                    step = step.model_copy(update={"id": str(count)})
                yield SourcedStep(name, step, self.name, number)
        except StepRejectedError as error:
            reason = f"{error.message}; {error.hint}" if error.hint else error.message
            yield self._rejection(number, reason, raw)

    def _rejection(self, line: int, reason: str, raw: bytes | Any) -> Rejection:
        data = raw if isinstance(raw, bytes) else orjson.dumps(raw)
        return Rejection(source=self.name, line=line, reason=reason,
                         text=data[:_EXCERPT_CHARS].decode("utf-8", "replace").strip())  # fmt: skip


def expand_paths(paths: Iterable[str]) -> list[str]:
    """Return the files that `paths` name: of a folder, the files below it with a known ending, by name.

    Raises:
        InputError: A path does not exist, or a folder holds no such file.
    """
    files: list[str] = []
    for path in paths:
        if path == "-" or Path(path).is_file():
            files.append(path)
        elif Path(path).is_dir():
            found = sorted(str(f) for f in Path(path).rglob("*") if f.is_file() and f.name.endswith(_SUFFIXES))
            if not found:
                raise InputError(f"folder {path!r} holds no file ending in {', '.join(_SUFFIXES)}")
            files.extend(found)
        else:
            raise InputError(f"no such file: {path!r}", hint="check the path; `-` reads standard input")
    return files


def _records(file: IO[bytes]) -> Iterator[tuple[int, bytes | Any]]:
    """Yield numbered records: raw lines, or the parsed items of one document that spans the file."""
    lines = _numbered_lines(file)
    first = next(lines, None)
    if first is None:
        return
    value = _parse(first[1])
    if value is _PARSE_ERROR and _SPEAKER.match(first[1]):
        yield from _utterances(chain([first], lines))
    elif isinstance(value, list):
        yield from enumerate(_items(value), start=1)
        yield from lines
    elif value is _PARSE_ERROR and first[1].lstrip()[:1] in (b"[", b"{") and not first[1].rstrip().endswith(b"}"):
        # The beginning of a document over several lines, or of a file whose first line is broken.
        rest = list(lines)
        whole = _parse(b"".join([first[1], *(line for _, line in rest)]))
        if whole is _PARSE_ERROR:
            yield from [first, *rest]
        else:
            yield from enumerate(_items(whole), start=1)
    else:
        yield from chain([first], lines)


def _utterances(lines: Iterable[tuple[int, bytes]]) -> Iterator[tuple[int, Any]]:
    """The records of plain text with speakers: `Ann: hello` begins an utterance, other lines go on with it."""
    number, speaker, said = 0, "", list[str]()
    for line_number, raw in lines:
        line = raw.decode("utf-8", "replace").strip()
        begins = _SPEAKER.match(raw)
        if begins is not None:
            if said:
                yield number, {"role": speaker, "content": "\n".join(said)}
            number, said = line_number, []
            speaker, line = (part.strip() for part in line.split(":", 1))
        said.append(line)
    yield number, {"role": speaker, "content": "\n".join(said)}


def _items(value: Any) -> Sequence[Any]:
    """The records of a document: those of a list, or the document itself."""
    return value if isinstance(value, list) else [value]


def _numbered_lines(file: IO[bytes]) -> Iterator[tuple[int, bytes]]:
    for number, line in enumerate(file, start=1):
        if number == 1:
            line = line.removeprefix(b"\xef\xbb\xbf")
        if line.strip():
            yield number, line


def _parse(raw: bytes) -> Any:
    try:
        return orjson.loads(raw)
    except orjson.JSONDecodeError:
        return _PARSE_ERROR


def _why_unparsable(raw: bytes) -> str:
    try:
        raw.decode("utf-8")
    except UnicodeDecodeError as error:
        return f"invalid UTF-8 at byte {error.start}"
    try:
        orjson.loads(raw)
    except orjson.JSONDecodeError as error:
        return f"malformed JSON: {error.msg} (column {error.colno})"
    return "malformed JSON"


def _stem(name: str) -> str:
    stem = Path(name).name if name != "-" else "stdin"
    while stem.endswith(_SUFFIXES):
        stem = stem.rsplit(".", 1)[0]
    return stem or "trajectory"
