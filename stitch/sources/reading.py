"""From the bytes of a file to records, and from records to steps that are numbered and named."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from hashlib import blake2b
from itertools import chain, islice
from typing import Any, cast

import orjson

from stitch.core import Rejection, SourcedStep, Step
from stitch.errors import StepRejectedError
from stitch.sources import limits
from stitch.sources.fields import oldest_first, people_in
from stitch.sources.formats import format_of, together
from stitch.sources.limits import Lines, Unreadable, too_long
from stitch.sources.lines import NO_JSON, OPENING, decoded, numbered_lines, parse, why_unparsable
from stitch.sources.mail import begins_mail, is_mail, letters_in
from stitch.sources.parts import without
from stitch.sources.paths import stem_of
from stitch.sources.placeholders import NOTED, PLACEHOLDER, says_nothing
from stitch.sources.recognizing import FileReading
from stitch.sources.records import GENERIC_FORM, marks_left, steps_of
from stitch.sources.streams import head_of, is_piece, is_sent, joined, sent_in
from stitch.sources.texts import conversation_in, delimiter_of, in_one_order, rows_of, speaker_of, speaks

_EXCERPT_CHARS = 200
_HEAD_LINES = 20
"""In so many lines of a text somebody must speak, or it is no conversation."""

_OPENS = re.compile(rb"\s*(?:\{|\[\s*(?:[\[{\"'\d\-\]]|true|false|null|$))")
"""How a JSON document begins, and a line that says when somebody speaks does not."""
_SAID_BYTES = 6
_MOST_SKIPPED = 1 << 20  # bytes of lines that are no records, rejected at once
_BETWEEN = " \t\r\n,"
"""What may stand between two values of a list or a file."""


class StepReader:
    """Reads the records of one file in their order, and numbers steps that have no id inside their trajectory.

    Args:
        source: The name of the file.
        trajectory: The trajectory of records that name none.
        nameless: The source has no name by which it is known again. What is not named is then named by its number and
            by what it and all before it say.
        numbered: Begins the ids that are numbers.
    """

    def __init__(self, source: str, *, trajectory: str, nameless: bool = False, numbered: str = "") -> None:
        self.source = source
        self._prefix = numbered
        self._said: dict[str, bytes] | None = {} if nameless else None
        """A digest of all that was said in a trajectory, where steps are named by it."""
        self._numbers: dict[str, int] = {}
        self._given: dict[str, tuple[str, int]] = {}
        """The last number that a trajectory gave a step itself, and how many steps without one came after it."""
        self._reading = FileReading(trajectory, source=source, nameless=nameless)
        self._explained = False
        self._placeholders = 0
        """Number of messages without words since the last step."""
        self._told = (0, "")
        """What was rejected last, whole, by its line."""

    def steps(self, number: int, raw: bytes | Any) -> Iterator[SourcedStep | Rejection]:
        """The steps of the record on line `number`, or why there are none."""
        if isinstance(raw, Unreadable):
            yield self._rejection(number, raw.reason, raw.text)
            return
        if raw is PLACEHOLDER:  # others keep their numbers, whatever is known to be left out
            name = self._reading.name(None, None, whole=False)
            self._numbers[name] = self._numbers.get(name, -1) + 1
            self._placeholders += 1
            return
        value = parse(raw) if isinstance(raw, bytes) else raw
        if is_rejection(value):
            yield from self._again(value)
            return
        if value is NO_JSON:
            yield self._rejection(number, why_unparsable(cast("bytes", raw)), raw)
            return
        if limits.is_too_deep(value):
            yield self._rejection(number, f"it is nested more than {limits.MAX_DEPTH} deep", raw)
            return
        try:
            for name, step in steps_of(value, self._reading):
                count = self._numbers[name] = self._numbers.get(name, -1) + 1
                if isinstance(step, StepRejectedError):
                    yield self._rejection(number, f"step {count} of {name!r}: {step.message}", raw)
                    continue
                after = self._after(name, step)
                if numbered := step.id is None:
                    step = step.model_copy(update={"id": self._numbered(name, count) + after})
                elif step.id.isdecimal():
                    self._given[name] = step.id, 0
                numbered = numbered and self._said is None
                yield SourcedStep(name, step, self.source, number, numbered=numbered, placeholders=self._placeholders)
                self._placeholders = 0
        except StepRejectedError as error:
            reason = error.message.split(" (")[0] if self._explained else error.message
            yield self._rejection(number, f"{reason}; {error.hint}" if error.hint else reason, raw)

    def know(self, people: bytes) -> None:
        """Take note of who is who in a list of people."""
        self._reading.messages.people |= people_in({"users": parse(people)})

    def rest(self, number: int) -> Iterator[SourcedStep]:
        """Notes of programs behind the last step of the file, which ends with the line `number`."""
        for name, step in marks_left(self._reading):
            count = self._numbers[name] = self._numbers.get(name, -1) + 1
            identity = self._numbered(name, count) + self._after(name, step)
            yield SourcedStep(name, step.model_copy(update={"id": identity}), self.source, number)

    def _again(self, rejected: Mapping[str, Any]) -> Iterator[SourcedStep | Rejection]:
        """The steps of a line of a rejects file, which was mended meanwhile, or whose format is known now."""
        source, number = rejected["source"], rejected["line"]
        if rejected["record"]:
            # Numbers alone are the ids of steps of the whole file.
            reader = StepReader(source, trajectory=stem_of(source), numbered=f"line-{number}-")
            yield from reader.steps(number, rejected["record"].encode())

    def _numbered(self, trajectory: str, count: int) -> str:
        """An id for a step without one: its number, or, where others bring theirs, one after the last of these."""
        if trajectory not in self._given:
            return f"{self._prefix}{count}"
        last, after = self._given[trajectory]
        self._given[trajectory] = last, after + 1
        return f"{last}-{after + 1}"

    def _after(self, trajectory: str, step: Step) -> str:
        """End of the id of a step where all that was said so far is part of it."""
        if self._said is None:
            return ""
        before = self._said.get(trajectory, b"")
        digest = blake2b(before + step.model_dump_json().encode(), digest_size=_SAID_BYTES).digest()
        self._said[trajectory] = digest
        return f"-{digest.hex()}"

    def line(self, number: int, raw: bytes) -> Iterator[SourcedStep | Rejection]:
        """As `steps`, for a line that stands alone: one that begins with a speaker is what this speaker says."""
        spoken = speaker_of(decoded(raw)) if parse(raw) is NO_JSON else None
        if spoken is not None and "timestamp" in spoken:
            spoken["timestamp"] = self._reading.time_of(spoken["timestamp"], guess=True)
        if spoken is not None:
            yield from self.steps(number, PLACEHOLDER if says_nothing(spoken) else without(spoken, NOTED))
        else:
            yield from self.steps(number, raw)

    def save(self) -> dict[str, Any]:
        """Memory between two records, as JSON; `restore` takes it up."""
        return {"numbers": self._numbers, "given": self._given, **self._reading.save()}

    def restore(self, saved: Mapping[str, Any]) -> None:
        """Go on where `save` was called."""
        self._numbers = dict(saved["numbers"])
        self._given = {name: (last, after) for name, (last, after) in saved.get("given", {}).items()}
        self._reading.restore(saved)

    def _rejection(self, line: int, reason: str, raw: bytes | Any) -> Rejection:
        whole = _whole(raw)
        told, self._told = self._told == (line, whole), (line, whole)
        if GENERIC_FORM in reason:  # it is shown once a file, however many of its records are not known
            reason = reason.replace(f"; {GENERIC_FORM}", "") if self._explained else reason
            self._explained = True
        text = whole[:_EXCERPT_CHARS].strip()
        return Rejection(source=self.source, line=line, reason=reason, text=text, record="" if told else whole)


_OF_A_REJECTION = {"tenant", *Rejection.model_fields}


def is_rejection(value: Any) -> bool:
    """Whether it is a line of a rejects file: one with its fields and no others, for a step may have any of them."""
    return isinstance(value, Mapping) and value.keys() == _OF_A_REJECTION and (
        all(isinstance(inner, int if name == "line" else str) for name, inner in value.items())
    )  # fmt: skip


def _whole(raw: bytes | Any) -> str:
    """A record as a text: as it stood, or its JSON."""
    if isinstance(raw, bytes):
        return raw.decode("utf-8", "replace")
    try:
        return orjson.dumps(raw).decode()
    except orjson.JSONEncodeError:  # it is nested too deeply
        with suppress(RecursionError):
            return str(raw)
        return ""


def records(lines: Lines) -> Iterator[tuple[int, bytes | Any]]:
    """Yield numbered records: raw lines, or the parsed items of one document that spans the file.

    A reply that was streamed is one record. A line that is too long is what is `Unreadable`.

    Raises:
        InputError: A packed file expands to more than it may.
    """
    for record in _records_of(numbered_lines(lines)):
        yield from _too_long(lines)
        yield record
    yield from _too_long(lines)


def _too_long(lines: Lines) -> Iterator[tuple[int, Unreadable]]:
    """The lines that were too long to be read since the last time."""
    found, lines.too_long = lines.too_long, []
    for number, begins in found:
        yield number, Unreadable(too_long("line"), begins)


def _records_of(lines: Iterator[tuple[int, bytes]]) -> Iterator[tuple[int, bytes | Any]]:
    head = head_of(lines)
    if not head:
        return
    lines = chain(head, lines)
    if is_sent(head[-1][1]):
        lines = sent_in(lines)
    first = next(lines, None) or head[0]
    value = parse(first[1])
    if is_piece(value):
        rest = ((number, raw if (said := parse(raw)) is NO_JSON else said) for number, raw in lines)
        yield from joined(chain([(first[0], value)], rest))
    elif (known := format_of(value)) is not None and known.parts is not None:
        lines = chain([first], lines)
        while window := list(_window(lines)):
            yield from together(window)
    else:
        yield from joined(_records(first, lines))


def _window(lines: Iterator[tuple[int, bytes]]) -> Iterator[tuple[int, Any]]:
    """The records of so many lines as a document may be long."""
    size = 0
    while size < limits.MAX_RECORD_BYTES and (line := next(lines, None)) is not None:
        size += len(line[1])
        yield line[0], line[1] if (value := parse(line[1])) is NO_JSON else value


def _records(first: tuple[int, bytes], lines: Iterator[tuple[int, bytes]]) -> Iterator[tuple[int, bytes | Any]]:
    value = parse(first[1])
    opens = _OPENS.match(first[1]) is not None
    plain = value is NO_JSON or not isinstance(value, Mapping | list)
    if isinstance(value, list):
        second = next(lines, None)
        rest = chain([second], lines) if second else lines
        if second is not None and isinstance(parse(second[1]), list):
            yield from chain([first], rest)  # one list a line: each is a record of its own
        else:
            yield from enumerate(_items(value), start=1)
            yield from rest
    elif plain and (speaks(first[1]) or not opens):
        yield from _texts(first, lines)
    elif value is NO_JSON:
        yield from _document(first, lines)
    else:
        yield from _each_value(chain([first], lines))


def _each_value(lines: Iterable[tuple[int, bytes]]) -> Iterator[tuple[int, bytes | Any]]:
    """The lines; of one that holds several values, as two writers leave it behind, each of these."""
    for number, raw in lines:
        several = _documents(raw) if raw.lstrip()[:1] == b"{" and parse(raw) is NO_JSON else []
        yield from ((number, value) for value in several or [raw])


def _texts(first: tuple[int, bytes], lines: Iterator[tuple[int, bytes]]) -> Iterator[tuple[int, bytes | Any]]:
    """Utterances of a text or a table; the records among other lines."""
    # Where the first line says who speaks, and is no header of a letter, no line waits for another.
    head = [first] if speaks(first[1]) and not begins_mail(first[1]) else [first, *islice(lines, _HEAD_LINES)]
    rest = chain(head, lines)
    if is_mail(head):
        yield from letters_in(rest)
    elif any(parse(raw) is not NO_JSON and raw.lstrip()[:1] in OPENING for _, raw in head):
        yield from rest
    elif (delimiter := delimiter_of(decoded(first[1]))) is not None:
        yield from rows_of(rest, delimiter=delimiter)
    elif (said := conversation_in(head, rest)) is not None:
        yield from in_one_order(said)
    else:
        yield from _prose(rest)


def _document(first: tuple[int, bytes], lines: Iterator[tuple[int, bytes]]) -> Iterator[tuple[int, bytes | Any]]:
    """The records of a document over several lines, or of a file whose first line is broken."""
    remaining, size = list[tuple[int, bytes]](), len(first[1])
    for number, line in lines:
        remaining.append((number, line))
        size += len(line)
        if size > limits.MAX_RECORD_BYTES or len(remaining) > limits.MAX_DOCUMENT_LINES:
            reason = f"{too_long('JSON document over several lines')}, or has too many of them; {GENERIC_FORM}"
            yield first[0], Unreadable(reason, first[1])
            return
    data = b"".join([first[1], *(line for _, line in remaining)])
    whole = parse(data)
    values = _items(whole) if whole is not NO_JSON else _documents(data)
    if values or whole is not NO_JSON:
        yield from enumerate(values, start=1)
    elif not any(isinstance(parse(line), Mapping) for _, line in remaining) and (
            remaining or not first[1].rstrip().endswith(b"}")):  # fmt: skip
        yield from _cut_off(data, last=(remaining or [first])[-1][0])
    else:
        yield from [first, *remaining]


def _decoded(text: str, at: int) -> Iterator[tuple[Any, int]]:
    """The JSON values one after the other in a text, as far as they are whole, each with where it ends."""
    decoder = json.JSONDecoder(parse_constant=str)
    with suppress(ValueError, RecursionError):
        while True:
            while text[at : at + 1] and text[at] in _BETWEEN:
                at += 1
            value, at = decoder.raw_decode(text, at)
            yield value, at


def _text_of(data: bytes) -> str:
    """Bytes as a text; none if they are no UTF-8."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return ""


def _documents(data: bytes) -> list[Any]:
    """The values of a file that holds several JSON documents, each over several lines; none if it is not that."""
    text = _text_of(data)
    found = list(_decoded(text, 0))
    values = [item for value, _ in found for item in _items(value)]
    whole = bool(found) and not text[found[-1][1] :].strip(_BETWEEN)
    return values if whole and all(isinstance(value, Mapping) for value in values) else []


def _prose(lines: Iterable[tuple[int, bytes]]) -> Iterator[tuple[int, bytes | Any]]:
    """The records in a file that begins with what is none: those that are JSON, and why the others are not, once."""
    begun, last, skipped = 0, 0, bytearray()
    for number, raw in lines:
        none = raw.lstrip()[:1] not in OPENING or parse(raw) is NO_JSON
        if skipped and (not none or len(skipped) > _MOST_SKIPPED):
            yield _no_text(begun, bytes(skipped), last)
            skipped.clear()
        if none:
            begun, last = begun if skipped else number, number
            skipped += raw if not skipped or _text_of(raw) else b""  # bytes that are no text help nobody
        else:
            yield number, raw
    if skipped:
        yield _no_text(begun, bytes(skipped), last)


def _no_text(number: int, raw: bytes, last: int) -> tuple[int, Unreadable]:
    why = why_unparsable(raw[: raw.find(b"\n") + 1] or raw)
    if why.startswith("malformed JSON"):
        other = "no text that says who speaks (`Ann: hello`), and no table with columns such as role and content"
        why = f"{why}; {other}; `stitch add - < FILE` keeps a text as one step; {GENERIC_FORM}"
    return number, Unreadable(f"lines {number} to {last}: {why}" if last > number else why, raw)


def _cut_off(data: bytes, *, last: int) -> Iterator[tuple[int, Any]]:
    """The records of a list that breaks off, as far as they are whole, and where it does."""
    number, at, text = 0, 0, _text_of(data)
    for value, end in _decoded(text, 1) if text.startswith("[") else ():
        number, at = number + 1, end
        yield number, value
    told = f"; the {number} records before that are stored" if number else f"; {GENERIC_FORM}"
    reason = f"{why_unparsable(data)}: the JSON document ends or breaks off before line {last + 1}{told}"
    yield last, Unreadable(reason, text[at:].lstrip(_BETWEEN).encode() if number else data)


def _items(value: Any) -> Sequence[Any]:
    """The records of a document: those of a list, the oldest first, or the document itself."""
    if not isinstance(value, list):
        return [value]
    return [record for _, record in together(enumerate(oldest_first(value)))]
