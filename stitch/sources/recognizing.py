"""Recognizers and readers of records, and the memory between the records of a file."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from hashlib import blake2b
from pathlib import PurePath
from typing import Any, NamedTuple

import orjson

from stitch.errors import StepRejectedError
from stitch.sources.conversation import RowStream, about_trajectory, conversation, with_about
from stitch.sources.fields import BROKEN, Row
from stitch.sources.messages import MessageReader
from stitch.sources.parts import first_of
from stitch.sources.traces import SpanContent, TraceReader, broken, in_order
from stitch.text.dates import is_slashed, iso_of_slashed, month_leads, probable_order

TrajectoryRow = tuple["str | None", "Row | StepRejectedError"]
Recognizer = Callable[[Any], bool]

IDS = (
    "custom_id", "id", "instance_id", "conversation_id", "conversationId", "session_id", "sessionId", "uuid", "task_id",
    "trajectory_id", "traj_id", "thread_id", "dialogue_id", "dialog_id", "chat_id", "run_id", "trace_id",
    "sample_id",
)  # fmt: skip
"""The fields by which a record names its trajectory, the first that counts first."""


class FileReading:
    """Memory between the records of a file.

    Args:
        default: The trajectory of records that name none.
        source: The name of the file.
        nameless: The file has no name: whole trajectories without one are named by what they say.
    """

    def __init__(self, default: str, *, source: str = "", nameless: bool = False) -> None:
        path = PurePath(source)
        self.number = path.stem
        """The name of the file without its ending; in a folder with a file an event, the number of the event."""
        folders = [part for part in path.parts[:-1] if part not in ("events", "event_cache")]
        self.folder = folders[-1] if folders else default
        self.messages = MessageReader()
        self.traces = TraceReader(self.messages)
        self.recognized = False
        """Whether a record of the file was of a known format; what stands between such records is then an event."""
        self.month_first: bool | None = None
        """Whether `1/2/26` is in January, if a time of the file has shown it."""
        self.marks: dict[str, list[Row]] = {}
        """What programs noted, and nobody said, since the last step of each trajectory; under no name, of the file."""
        self.last = ""
        """The words of the last step."""
        self._default = default
        self._nameless = nameless
        self._whole: dict[str, int] = {}

    def save(self) -> dict[str, Any]:
        """The memory as JSON."""
        shown = {trace: sorted(digests) for trace, digests in self.traces.shown.items()}
        return {"recognized": self.recognized, "whole": self._whole, "tools": self.messages.tools.names, "shown": shown,
                "conversations": self.traces.conversations, "month_first": self.month_first,
                "marks": self.marks}  # fmt: skip

    def restore(self, saved: Mapping[str, Any]) -> None:
        """Go on where `save` was called."""
        self.recognized = bool(saved.get("recognized"))
        self._whole = dict(saved["whole"])
        self.messages.tools.names = dict(saved["tools"])
        self.traces.shown = {trace: set(digests) for trace, digests in saved["shown"].items()}
        self.traces.conversations = dict(saved.get("conversations", {}))
        self.month_first = saved.get("month_first")
        self.marks = {name: list(marks) for name, marks in saved.get("marks", {}).items()}

    def time_of(self, stamp: Any, *, guess: bool = False) -> Any:
        """A time; of two numbers before a year, which is the month as far as the file has shown it, or as a `guess`."""
        if not is_slashed(stamp):
            return stamp
        if (leads := month_leads(stamp)) is not None:
            self.month_first = leads
        first = probable_order([stamp]) if guess and self.month_first is None else self.month_first
        return stamp if first is None else iso_of_slashed(stamp, month_first=first)

    def name(self, trajectory: str | None, record: Any, *, whole: bool) -> str:
        """The name of the trajectory of a record; the second of two `whole` ones that do not go on is numbered."""
        name = self._default if trajectory is None else trajectory
        if not whole or self.traces.conversations.get(name) == name:
            return name
        if trajectory is None and self._nameless:
            name = f"{name}-{blake2b(orjson.dumps(record), digest_size=4).hexdigest()}"
        count = self._whole[name] = self._whole.get(name, 0) + 1
        return name if count == 1 else f"{name}-{count}"


class Format(NamedTuple):
    """Recognizer and reader of one kind of record."""

    name: str
    recognizes: Recognizer
    rows: Callable[[Any, FileReading], Iterator[TrajectoryRow]]
    whole: bool = False
    """A record is a whole trajectory, not a part of one that other records go on with."""
    parts: Callable[[Any], list[tuple[str, Any]]] | None = None
    """What a record holds of each trace, where the records of a trace are read together."""


def read_safely(known: Format, record: Any, reading: FileReading) -> Iterator[TrajectoryRow]:
    """The rows of a record; what breaks its reading off is the last of them."""
    trajectory = None
    try:
        for trajectory, row in known.rows(record, reading):
            yield trajectory, row
    except StepRejectedError as error:
        yield trajectory, error
    except BROKEN as error:
        yield trajectory, broken(known.name, error)


def has(*fields: str, **values: Any) -> Recognizer:
    """Recognizes objects that have all `fields`, and those in `values` of this type, among these, or recognized so."""
    needed = {*fields, *values}

    def recognizes(record: Any) -> bool:
        if not isinstance(record, dict) or not needed <= record.keys():
            return False
        return not values or all(_fits(record[field], wanted) for field, wanted in values.items())

    return recognizes


def _fits(value: Any, wanted: Any) -> bool:
    if isinstance(wanted, type):
        return isinstance(value, wanted)
    return value in wanted if isinstance(wanted, tuple) else bool(wanted(value))


def first(*fields: str) -> Recognizer:
    """Recognizes lists whose first entry has all `fields`."""
    entry = has(*fields)
    return lambda entries: isinstance(entries, list) and bool(entries) and entry(entries[0])


def any_of(*recognizers: Recognizer) -> Recognizer:
    """Recognizes what one of them does."""
    return lambda record: any(recognizes(record) for recognizes in recognizers)


def named_by(record: Any, ids: Iterable[str]) -> str | None:
    """The first of the fields `ids` under which a record has a name or a number."""
    named = first_of(record, ids, str | int | float)
    return None if named is None else str(named)


def read_as(
    name: str,
    recognizes: Recognizer,
    read: Callable[[Any, MessageReader], RowStream],
    *ids: str,
    told: tuple[str, ...] | None = None,
    whole: bool = False,
) -> Format:
    """The format of records that a function reads; the first of the fields `ids` names the trajectory.

    The first step of a record knows what it says of the whole trajectory: all fields but those `told`, if given.
    """

    def rows(record: Any, reading: FileReading) -> Iterator[TrajectoryRow]:
        trajectory, about = named_by(record, ids), None if told is None else about_trajectory(record, *told)
        for row in with_about(about, read(record, reading.messages)):
            yield trajectory, row

    return Format(name, recognizes, rows, whole or told is not None)


def said_in(
    name: str,
    recognizes: Recognizer,
    messages: Callable[[Any], Iterable[Any]],
    *ids: str,
    told: tuple[str, ...] | None = None,
    whole: bool = False,
) -> Format:
    """As `read_as`, for records whose `messages` are read as those of any program."""
    return read_as(name, recognizes, lambda record, reader: conversation(messages(record), reader), *ids, told=told,
                   whole=whole)  # fmt: skip


def traced(
    name: str,
    recognizes: Recognizer,
    held: Callable[[Any], list[Any]],
    read: Callable[[Any], SpanContent],
    trace_of: Callable[[Any], Any],
) -> Format:
    """The format of records that hold spans or runs, and of lists of them."""

    def recognized(record: Any) -> bool:
        several = record if isinstance(record, list) else [record]
        return bool(several) and all(map(recognizes, several))

    return Format(name, recognized, lambda record, reading: in_order(held(record), read, reading.traces),
                  parts=lambda record: [(str(trace_of(part)), part) for part in held(record)])  # fmt: skip
