"""The formats of trajectories that are recognized, each by its content.

A format says whether a record (one JSON value: a line of a file, or an item of a list) is its own, and reads it. The
first that recognizes a record reads it; one line in `FORMATS` adds another.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from stitch.core import Step
from stitch.errors import StepRejectedError
from stitch.sources import agents
from stitch.sources.messages import MessageReader, Row, make_step
from stitch.sources.spans import TraceReader, trace_of_run

TrajectoryRow = tuple["str | None", "Row | StepRejectedError"]


class FileReading:
    """What is remembered between the records of a file.

    Args:
        default: The trajectory of records that name none.
    """

    def __init__(self, default: str) -> None:
        self.messages = MessageReader()
        self.traces = TraceReader(self.messages)
        self._default = default
        self._whole: dict[str, int] = {}

    def name(self, trajectory: str | None, *, whole: bool) -> str:
        """The name of the trajectory of a record; of two `whole` records of one name, the second is numbered."""
        name = self._default if trajectory is None else trajectory
        if not whole:
            return name
        count = self._whole[name] = self._whole.get(name, 0) + 1
        return name if count == 1 else f"{name}-{count}"


RowReader = Callable[[Any, FileReading], Iterator[TrajectoryRow]]


class Format(NamedTuple):
    """How one kind of record is recognized and read."""

    name: str
    recognizes: Callable[[Any], bool]
    rows: RowReader
    whole: bool = False
    """A record is a whole trajectory, not a part of one that other records go on with."""


def steps_of(record: Any, reading: FileReading) -> Iterator[tuple[str, Step | StepRejectedError]]:
    """Read one record: yield trajectory ids with steps, or with why there is none.

    Raises:
        StepRejectedError: No format recognizes it.
    """
    for known in FORMATS:
        if known.recognizes(record):
            break
    else:
        names = ", ".join(known.name for known in FORMATS)
        raise StepRejectedError(
            f"not a known format ({names})",
            hint='the generic form is one step a line: {"role": "user", "content": "...", "trajectory": "t1"}',
        )
    named: dict[str | None, str] = {}
    for trajectory, row in _safely(known, record, reading):
        if trajectory not in named:
            named[trajectory] = reading.name(trajectory, whole=known.whole)
        try:
            yield named[trajectory], row if isinstance(row, StepRejectedError) else make_step(row)
        except StepRejectedError as error:
            yield named[trajectory], error


def _safely(known: Format, record: Any, reading: FileReading) -> Iterator[TrajectoryRow]:
    """The rows of a record; what breaks its reading off is the last of them."""
    trajectory = None
    try:
        for trajectory, row in known.rows(record, reading):
            yield trajectory, row
    except StepRejectedError as error:
        yield trajectory, error
    except (AttributeError, KeyError, IndexError, TypeError, ValueError) as error:
        # A record that looks like a format and breaks its rules: files of other people, so anything may be wrong.
        yield trajectory, StepRejectedError(f"broken {known.name}: {type(error).__name__}: {error}")


def _with_list(field: str, *, of: str | None = None) -> Callable[[Any], bool]:
    """Recognizes objects that have a list under `field`; with `of`, one whose first entry has that field."""

    def recognizes(record: Any) -> bool:
        entries = record.get(field) if isinstance(record, Mapping) else None
        if not isinstance(entries, list):
            return False
        return of is None or (bool(entries) and isinstance(entries[0], Mapping) and of in entries[0])

    return recognizes


def _with(*fields: str, **types: type) -> Callable[[Any], bool]:
    """Recognizes objects that have all `fields`, and those in `types` with a value of the type."""

    def recognizes(record: Any) -> bool:
        return (
            isinstance(record, Mapping)
            and all(field in record for field in fields)
            and all(isinstance(record.get(field), kind) for field, kind in types.items())
        )

    return recognizes


def _conversation(field: str, *ids: str, parts: int = 1, speaker: bool = False) -> RowReader:
    """Reads the messages under `field`; the first `parts` of the fields `ids` that it has name the trajectory."""

    def rows(record: Any, reading: FileReading) -> Iterator[TrajectoryRow]:
        named = [str(record[name]) for name in ids if record.get(name) is not None][:parts]
        for row in agents.conversation(record, record[field], reading.messages, field=field, speaker=speaker):
            yield "-".join(named) or None, row

    return rows


def _one(read: Callable[..., agents.Reading], *ids: str, plain: bool = False) -> RowReader:
    """Reads a record with a function of `agents`, a `plain` one without what is remembered of the file."""

    def rows(record: Any, reading: FileReading) -> Iterator[TrajectoryRow]:
        trajectory = next((str(record[name]) for name in ids if record.get(name) is not None), None)
        for row in read(record) if plain else read(record, reading.messages):
            yield trajectory, row

    return rows


_CAME_ID = re.compile(r"^(?P<trajectory>.+)-turn-\d+$")
_CAME_STAMP = re.compile(r"\s*-{3,4}\s?TIMESTAMP:\s*(?P<stamp>\S+(?: \S+)*?)\s*$")
_CAME_GOLD = ("partition", "action", "action_object", "timestamp_mapping")


def _is_came_turn(record: Any) -> bool:
    return (
        _with("role", id=str, content=str)(record)
        and bool(_CAME_ID.match(record["id"]))
        and any(name in record for name in _CAME_GOLD)
    )


def _came_turn(record: Any, reading: FileReading) -> Iterator[TrajectoryRow]:
    turn = {key: value for key, value in record.items() if key not in _CAME_GOLD}
    if stamp := _CAME_STAMP.search(turn["content"]):
        turn["content"] = turn["content"][: stamp.start()]
        turn["timestamp"] = stamp["stamp"]
    trajectory = _CAME_ID.sub(r"\g<trajectory>", turn["id"])
    for row in reading.messages.rows(turn):
        yield trajectory, row


def _is_step(record: Any) -> bool:
    return isinstance(record, Mapping) and ("role" in record or record.get("type") in _ITEM_TYPES)


_ITEM_TYPES = ("function_call", "function_call_output")


def _step(record: Any, reading: FileReading) -> Iterator[TrajectoryRow]:
    trajectory = record.get("trajectory")
    for row in reading.messages.rows(record):
        yield None if trajectory is None else str(trajectory), row


def _is_episodes(record: Any) -> bool:
    return isinstance(record, Mapping) and bool(record) and all(_with(turn_history=dict)(v) for v in record.values())


def _episodes(record: Any, reading: FileReading) -> Iterator[TrajectoryRow]:
    for name, episode in record.items():
        for row in agents.inter_code(episode):
            yield str(name), row


def _is_span(record: Any) -> bool:
    return isinstance(record, Mapping) and "attributes" in record and ("traceId" in record or "trace_id" in record)


_IDS = ("id", "instance_id", "conversation_id", "session_id", "uuid", "task_id")

FORMATS: tuple[Format, ...] = (
    Format("trajectory of steps", _with_list("steps"), _conversation("steps", "id")),
    Format("CAME-Bench turn", _is_came_turn, _came_turn),
    Format("coding-agent session line", _with(message=dict, type=str), _one(agents.session_line, "sessionId")),
    Format("coding-agent session summary", _with("leafUuid", summary=str), _one(agents.session_line, "sessionId")),
    Format("OpenHands event", lambda r: _with(source=str)(r) and ("action" in r or "observation" in r),
           _one(agents.open_hands, "session_id", plain=True)),
    Format("SWE-agent .traj", lambda r: (_with_list("history", of="role")(r) and "agent" in r["history"][0])
           or _with_list("trajectory", of="observation")(r), _one(agents.swe_agent, "instance_id"), whole=True),
    Format("Who&When log", lambda r: _with_list("history", of="role")(r) and "mistake_step" in r,
           _conversation("history", "question_ID", speaker=True), whole=True),
    Format("agent data protocol", _with_list("content", of="class_"),
           _one(agents.agent_data_protocol, "id", plain=True), whole=True),
    Format("tau-bench", _with_list("traj"), _conversation("traj", "task_id", "trial", parts=2), whole=True),
    Format("BFCL task", _with_list("question"), _one(agents.bfcl, "id"), whole=True),
    Format("InterCode episode", _with(turn_history=dict), _one(agents.inter_code, "task_id", plain=True), whole=True),
    Format("InterCode log", _is_episodes, _episodes, whole=True),
    Format("browsing trajectory", lambda r: _with_list("trajectory")(r) and "intent" in r,
           _one(agents.web_trajectory, "task_id", plain=True), whole=True),
    Format("chat messages", _with_list("messages"), _conversation("messages", *_IDS), whole=True),
    Format("conversations", _with_list("conversations"), _conversation("conversations", *_IDS), whole=True),
    Format("Gemini contents", _with_list("contents"), _conversation("contents", *_IDS), whole=True),
    Format("message history", _with_list("history", of="role"), _conversation("history", *_IDS), whole=True),
    Format("trajectory of messages", _with_list("trajectory", of="role"), _conversation("trajectory", *_IDS),
           whole=True),
    Format("Responses input", _with_list("input"), _conversation("input", *_IDS), whole=True),
    Format("OpenTelemetry export", _with_list("resourceSpans"), lambda r, reading: reading.traces.export(r)),
    Format("OpenTelemetry span", _is_span,
           lambda r, reading: ((str(r.get("traceId") or r.get("trace_id")), row) for row in reading.traces.span(r))),
    Format("LangSmith run", _with("inputs", run_type=str),
           lambda r, reading: ((trace_of_run(r), row) for row in reading.traces.run(r))),
    Format("step", _is_step, _step),
)  # fmt: skip
"""All formats, in the order in which they are tried."""
