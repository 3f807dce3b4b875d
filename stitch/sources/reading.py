"""From the bytes of a file to records, and from records to steps that are numbered and named."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import IO, Any, cast

import orjson

from stitch.core import Rejection, SourcedStep
from stitch.errors import StepRejectedError
from stitch.sources.formats import FileReading, steps_of

_EXCERPT_CHARS = 200
_HEAD_LINES = 20
"""In so many lines of a text somebody must speak, or it is no conversation."""

_BARE = r"(?P<bare>\d[\d/.:,T APMapm-]{3,30}?)\s+-\s+"
_STAMP = rf"(?:\[(?P<square>[^\]\n]{{4,40}})\]\s*|\((?P<round>\d[^)\n]{{3,40}})\)\s*|{_BARE})?"
_WHO = r"[^\W\d_][\w .'&()/-]{0,60}?"
_WITHIN = r"\s*(?:[(\[](?P<within>\d[^)\]\n]{2,30})[)\]]\s*)?"
_BOLD, _NICK, _NAMED = rf"\*\*(?P<who>{_WHO}):?\*\*:?", r"<(?P<nick>[^<>\s]{1,40})>", rf"(?P<name>{_WHO}){_WITHIN}:"
_SPEAKER = re.compile(rf"{_STAMP}(?:{_BOLD}|{_NICK}|{_NAMED})(?=\s|$)")
"""How a line of plain text begins that says who speaks: `Ann:`, `[10:04] Ann:`, `1/2/26, 10:04 - Ann:`, `<ann>`."""

_NO_JSON = object()
_BINARY = ((b"PAR1", "a Parquet file"), (b"PK\x03\x04", "a zip archive"), (b"SQLite format 3", "an SQLite database"),
           (b"\x28\xb5\x2f\xfd", "a Zstandard archive"), (b"%PDF", "a PDF"), (b"\x89PNG", "an image"),
           (b"\xff\xd8\xff", "an image"))  # fmt: skip
_WIDE = ((b"\xff\xfe\x00\x00", "utf-32"), (b"\x00\x00\xfe\xff", "utf-32"), (b"\xff\xfe", "utf-16"),
         (b"\xfe\xff", "utf-16"))  # fmt: skip


class StepReader:
    """Reads the records of one file in their order, and numbers steps that have no id inside their trajectory.

    Args:
        source: The name of the file.
        trajectory: The trajectory of records that name none.
    """

    def __init__(self, source: str, *, trajectory: str) -> None:
        self.source = source
        self._numbers: dict[str, int] = {}
        self._reading = FileReading(trajectory)

    def steps(self, number: int, raw: bytes | Any) -> Iterator[SourcedStep | Rejection]:
        """The steps of the record on line `number`, or why there are none.

        Args:
            number: The line, or the number of the record.
            raw: The line as bytes, or a record that is parsed already.
        """
        value = parse(raw) if isinstance(raw, bytes) else raw
        if value is _NO_JSON:
            yield self._rejection(number, why_unparsable(cast("bytes", raw)), raw)
            return
        try:
            for name, step in steps_of(value, self._reading):
                count = self._numbers[name] = self._numbers.get(name, -1) + 1
                if isinstance(step, StepRejectedError):
                    yield self._rejection(number, f"step {count} of {name!r}: {step.message}", raw)
                    continue
                if step.id is None:
                    step = step.model_copy(update={"id": str(count)})
                yield SourcedStep(name, step, self.source, number)
        except StepRejectedError as error:
            reason = f"{error.message}; {error.hint}" if error.hint else error.message
            yield self._rejection(number, reason, raw)

    def line(self, number: int, raw: bytes) -> Iterator[SourcedStep | Rejection]:
        """As `steps`, for a line that stands alone: one that begins with a speaker is what this speaker says."""
        spoken = _speaker_of(raw.decode("utf-8", "replace")) if parse(raw) is _NO_JSON else None
        yield from self.steps(number, spoken if spoken is not None else raw)

    def save(self) -> dict[str, Any]:
        """What is remembered between two records, as JSON; `restore` takes it up."""
        return {"numbers": self._numbers, **self._reading.save()}

    def restore(self, saved: Mapping[str, Any]) -> None:
        """Go on where `save` was called."""
        self._numbers = dict(saved["numbers"])
        self._reading.restore(saved)

    def _rejection(self, line: int, reason: str, raw: bytes | Any) -> Rejection:
        if isinstance(raw, bytes):
            text = raw[: 4 * _EXCERPT_CHARS].decode("utf-8", "replace")
        else:
            text = str(raw)  # JSON would refuse what is nested too deeply
        return Rejection(source=self.source, line=line, reason=reason, text=text[:_EXCERPT_CHARS].strip())


def records(file: IO[bytes]) -> Iterator[tuple[int, bytes | Any]]:
    """Yield numbered records: raw lines, or the parsed items of one document that spans the file."""
    lines = _numbered_lines(file)
    first = next(lines, None)
    if first is None:
        return
    value = parse(first[1])
    opens = first[1].lstrip()[:1] in (b"[", b"{")
    if isinstance(value, list):
        second = next(lines, None)
        rest = chain([second], lines) if second else lines
        if second is not None and isinstance(parse(second[1]), list):
            yield from chain([first], rest)  # one list a line: each is a record of its own
        else:
            yield from enumerate(value, start=1)
            yield from rest
    elif value is _NO_JSON and _speaks(first[1]):
        yield from _utterances(chain([first], lines))
    elif value is _NO_JSON and not opens:
        head = [first, *islice(lines, _HEAD_LINES)]
        if sum(_speaks(raw) for _, raw in head) > 1 and all(parse(raw) is _NO_JSON for _, raw in head):
            yield from _utterances(chain(head, lines))
        else:
            yield from chain(head, lines)
    elif value is _NO_JSON and not first[1].rstrip().endswith(b"}"):
        # The beginning of a document over several lines, or of a file whose first line is broken.
        remaining = list(lines)
        whole = parse(b"".join([first[1], *(line for _, line in remaining)]))
        if whole is not _NO_JSON:
            yield from enumerate(_items(whole), start=1)
        else:
            documents = list(_documents([first, *remaining]))
            yield from documents or [first, *remaining]
    else:
        yield from chain([first], lines)


def parse(raw: bytes) -> Any:
    """The JSON value of a line, or a mark that there is none; what Python writes beyond JSON is taken as text."""
    try:
        return orjson.loads(raw)
    except orjson.JSONDecodeError:
        pass
    if b"NaN" not in raw and b"Infinity" not in raw and b"\\ud" not in raw and b"\\uD" not in raw:
        return _NO_JSON
    try:
        value = json.loads(raw, parse_constant=str)
        return orjson.loads(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return _NO_JSON


def why_unparsable(raw: bytes) -> str:
    """Why a line is no JSON."""
    for mark, what in _BINARY:
        if raw.startswith(mark):
            return f"not a text but {what}; write it as JSON lines first"
    try:
        raw.decode("utf-8")
    except UnicodeDecodeError as error:
        return f"invalid UTF-8 at byte {error.start}"
    try:
        orjson.loads(raw)
    except orjson.JSONDecodeError as error:
        return f"malformed JSON: {error.msg} (column {error.colno})"
    return "malformed JSON"


def _utterances(lines: Iterable[tuple[int, bytes]]) -> Iterator[tuple[int, Any]]:
    """The records of plain text with speakers: `Ann: hello` begins an utterance, other lines go on with it."""
    number, spoken, said = 0, None, list[str]()
    for line_number, raw in lines:
        line = raw.decode("utf-8", "replace").strip()
        begins = _speaker_of(line)
        if begins is not None:
            if said:
                yield number, {**(spoken or {"role": "text"}), "content": "\n".join(said).strip()}
            number, spoken, said = line_number, begins, [begins["content"]]
        else:
            number = number or line_number
            said.append(line)
    yield number, {**(spoken or {"role": "text"}), "content": "\n".join(said).strip()}


def _speaks(line: bytes) -> bool:
    return _speaker_of(line.decode("utf-8", "replace")) is not None


def _speaker_of(line: str) -> dict[str, Any] | None:
    """Who speaks in a line, what, and when, if the line says so; None if it goes on with what was said before."""
    line = line.strip()
    found = _SPEAKER.match(line)
    if found is None:
        return None
    who = (found["who"] or found["nick"] or found["name"]).strip()
    stamp = found["square"] or found["round"] or found["bare"] or found["within"]
    spoken = {"role": who, "content": line[found.end() :].strip()}
    return spoken | ({"timestamp": stamp.strip()} if stamp else {})


def _documents(lines: Sequence[tuple[int, bytes]]) -> Iterator[tuple[int, Any]]:
    """The values of a file that holds several JSON documents, each over several lines; none if it is not that."""
    text = b"".join(line for _, line in lines)
    try:
        rest, decoder, number = text.decode("utf-8").lstrip(), json.JSONDecoder(parse_constant=str), 0
        values: list[tuple[int, Any]] = []
        at = 0
        while at < len(rest):
            value, at = decoder.raw_decode(rest, at)
            while at < len(rest) and rest[at] in " \t\r\n,":
                at += 1
            for item in _items(value):
                number += 1
                values.append((number, item))
        if all(isinstance(value, Mapping) for _, value in values):
            yield from values
    except (ValueError, RecursionError):
        return


def _items(value: Any) -> Sequence[Any]:
    """The records of a document: those of a list, or the document itself."""
    return value if isinstance(value, list) else [value]


def _numbered_lines(file: IO[bytes]) -> Iterator[tuple[int, bytes]]:
    """The lines of a file that are not blank, as UTF-8."""
    first = file.readline()
    wide = next((encoding for mark, encoding in _WIDE if first.startswith(mark)), None)
    if wide is None and first[1:2] == b"\x00" and first[:1] in (b"{", b"["):
        wide = "utf-16-le"
    if wide is not None:
        text = (first + file.read()).decode(wide, "replace")
        lines: Iterable[bytes] = (line.encode("utf-8", "replace") for line in text.splitlines(keepends=True))
    else:
        lines = chain([first.removeprefix(b"\xef\xbb\xbf")], file)
    for number, line in enumerate(lines, start=1):
        if line.strip():
            yield number, line
