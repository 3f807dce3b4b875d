"""From a record of a file to its steps, and what of it is none."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from stitch.core import Origin, Step
from stitch.errors import StepRejectedError
from stitch.sources.attachments import attachments_named_in
from stitch.sources.conversation import Done
from stitch.sources.fields import Row, people_in
from stitch.sources.formats import FIRST, FORMATS, HEAD, format_of, holds_several, is_record, unpacked
from stitch.sources.messages import make_step
from stitch.sources.parts import is_mark, mended, without
from stitch.sources.recognizing import IDS, FileReading, Format, named_by, read_safely, said_in
from stitch.sources.unread import UNREAD, Said, texts_in, unread_in

GENERIC_FORM = (
    "the generic form is one step a line:"
    '\n    {"role": "user", "content": "Book the hotel", "trajectory": "t1"}'
    '\n    {"role": "assistant", "content": "It is booked", "trajectory": "t1", "timestamp": "2026-01-31T09:30:00"}'
)
"""What a format that is not known can be turned into."""
MARKS = "marks"
"""Where the metadata of a step keep what a program noted before it."""
_OF_A_STEP = ("role", "content", "metadata", "tool_calls", "origin")
_FIELDS_SHOWN, _NAME_CHARS = 8, 40


def steps_of(record: Any, reading: FileReading) -> Iterator[tuple[str, Step | StepRejectedError]]:
    """Read one record: yield trajectory ids with steps, or with why there is none.

    Raises:
        StepRejectedError: No format recognizes it.
    """
    whole = mended(record)
    record = unpacked(attachments_named_in(whole))
    among, known = reading.recognized, _format_of(record, reading)
    reading.messages.people |= people_in(record)
    read = list(_named(known, record, reading))
    reading.recognized = True
    rejected = any(isinstance(row, StepRejectedError) for _, row in read)
    repeated = reading.messages.repeated_taken()
    kept: dict[str, Any] = {} if rejected else _unread(whole, [*(row for _, row in read), *repeated])
    if kept and not read:
        if not among:
            raise StepRejectedError("nobody says or does anything in it")
        # Between records that are known nothing of a log is dropped.
        about = whole if isinstance(whole, Mapping) else {"record": whole}
        event = {"role": "event", "content": "\n".join(kept.pop(UNREAD).values()), "metadata": dict(about)}
        read = [(reading.name(None, record, whole=False), event)]
    for trajectory, row in read:
        if isinstance(row, StepRejectedError):
            yield trajectory, row
            continue
        if kept:
            row = {**row, "metadata": {**kept, **row.get("metadata", {})}}
        if is_mark(row):
            _keep_mark(row, reading.marks.setdefault(trajectory, []))
            kept = {}
            continue
        if marks := [*reading.marks.pop("", ()), *reading.marks.pop(trajectory, ())]:
            row = {**row, "metadata": {MARKS: marks, **row.get("metadata", {})}}
        try:
            step, kept = make_step({**row, "timestamp": reading.time_of(row.get("timestamp"))}), {}
        except StepRejectedError as error:
            # What the record knows of the whole trajectory stands in its first step, also if this is another one.
            kept = _about_trajectory(row)
            yield trajectory, error
        else:
            reading.last = step.content
            yield trajectory, step


def _named(known: Format, record: Any, reading: FileReading) -> Iterator[tuple[str, Row | StepRejectedError]]:
    """The rows of a record with their trajectories; a mark that names none is of whatever the next step is of."""
    named: dict[str | None, str] = {}
    for trajectory, row in read_safely(known, record, reading):
        is_whole = _is_whole(known, record, trajectory)
        if trajectory is None and not (is_whole or isinstance(row, StepRejectedError)) and is_mark(row):
            yield "", row
            continue
        if trajectory not in named:
            named[trajectory] = reading.name(trajectory, record, whole=is_whole)
        yield named[trajectory], row


def _keep_mark(row: Row, marks: list[Row]) -> None:
    mark = {"kind": row["role"], **without(row, *_OF_A_STEP), **row.get("metadata", {})}
    marks.append({name: value for name, value in mark.items() if value is not None})


def marks_left(reading: FileReading) -> Iterator[tuple[str, Step]]:
    """The marks behind the last step of a trajectory, as an event of it; those that say nothing are none."""
    left, reading.marks = reading.marks, {}
    for trajectory, marks in left.items():
        if words := "\n".join(dict.fromkeys(text for _, text in texts_in(marks, least=3) if text not in reading.last)):
            name = trajectory or reading.name(None, None, whole=False)
            yield name, make_step({"role": "event", "content": words, "metadata": {MARKS: marks}})


def _is_whole(known: Format, record: Any, trajectory: str | None) -> bool:
    """Whether what a record says is all of a trajectory, and not a part that others go on with."""
    return known.whole or (trajectory is None and known is FORMATS[-1] and holds_several(record))


def _unread(record: Any, rows: Iterable[Any]) -> dict[str, Any]:
    """Texts of a record that no row says, as metadata."""
    said = Said()
    for row in rows:
        said.take_in(row)
    found = unread_in(record, said)
    return {UNREAD: found} if found else {}


def _format_of(record: Any, reading: FileReading) -> Format:
    if (known := format_of(record)) is not None:
        return known
    if _is_event(record) and (reading.recognized or isinstance(record.get(str(record.get("type"))), Mapping | int)):
        return HEAD  # between records that are known: nothing of a log is dropped
    if named_by(record, (*IDS, "user_id")) is not None and any(texts_in(record, least=3)):
        return _THING
    raise StepRejectedError(f"no step and no record of a known log ({_described(record)})", hint=GENERIC_FORM)


def _words_of_thing(record: Any) -> Iterator[Done]:
    """The words of a record that nobody says: of a person, a room or a project, as exports list them beside talks."""
    words = dict.fromkeys(text for _, text in texts_in(record, least=3))
    yield Done({"role": "record", "content": "\n".join(words), "origin": Origin.DOCUMENT, "metadata": dict(record)})


_THING = said_in("thing with an id", lambda record: True, _words_of_thing)


def _described(record: Any) -> str:
    """Description of a record by its first fields."""
    if not isinstance(record, Mapping):
        return f"it is a {type(record).__name__}"
    names = [str(name)[:_NAME_CHARS] for name in list(record)[:_FIELDS_SHOWN]]
    more = ", ..." if len(record) > _FIELDS_SHOWN else ""
    return f"its fields are {', '.join(names)}{more}" if names else "it is empty"


def _about_trajectory(row: Row) -> dict[str, Any]:
    """Metadata of a row on its whole trajectory."""
    metadata = row.get("metadata", {})
    return {key: metadata[key] for key in ("trajectory", "within", MARKS, UNREAD) if metadata.get(key)}


def _is_event(record: Any) -> bool:
    """Whether a record that is not known says at least what kind of event it is."""
    return isinstance(record, Mapping) and any(
        isinstance(record.get(name), str) and record[name].strip() for name in ("type", "event", "kind"))  # fmt: skip


def not_read(step: Step) -> Counter[str]:
    """Counts of what a step keeps in its metadata and no step says: texts, and lists of known records by name."""
    unread = step.metadata.get(UNREAD)
    found = Counter({"texts": len(unread)} if isinstance(unread, Mapping) else {})
    if isinstance(marks := step.metadata.get(MARKS), list):
        found["marks of programs"] += len(marks)
    waiting = [step.metadata.get(name) for name in ("trajectory", "within")]
    for about in waiting:
        for name, value in about.items() if isinstance(about, Mapping) else ():
            if isinstance(value, Mapping):
                waiting.append(value)
            elif isinstance(value, list) and any(map(is_record, value[:FIRST])):
                found[name] += len(value)
    return found
