"""How the records of a file are recognized, and what is remembered between them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from hashlib import blake2b
from pathlib import PurePath
from typing import Any, NamedTuple

import orjson

from stitch.errors import StepRejectedError
from stitch.sources.conversation import Reading, about_trajectory, with_about
from stitch.sources.fields import BROKEN, Row
from stitch.sources.messages import MessageReader
from stitch.sources.traces import TraceReader, broken

TrajectoryRow = tuple["str | None", "Row | StepRejectedError"]


IDS = (
    "id", "instance_id", "conversation_id", "session_id", "sessionId", "uuid", "task_id", "trajectory_id", "traj_id",
    "thread_id", "dialogue_id", "dialog_id", "chat_id", "run_id", "trace_id", "custom_id", "sample_id",
)  # fmt: skip
"""The fields by which a record names its trajectory, the first that counts first."""


class FileReading:
    """What is remembered between the records of a file.

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
        self._default = default
        self._nameless = nameless
        self._whole: dict[str, int] = {}

    def save(self) -> dict[str, Any]:
        """What is remembered, as JSON."""
        shown = {trace: sorted(digests) for trace, digests in self.traces.shown.items()}
        return {
            "recognized": self.recognized,
            "whole": self._whole,
            "tools": self.messages.tools.names,
            "shown": shown,
            "conversations": self.traces.conversations,
        }

    def restore(self, saved: Mapping[str, Any]) -> None:
        """Go on where `save` was called."""
        self.recognized = bool(saved.get("recognized"))
        self._whole = dict(saved["whole"])
        self.messages.tools.names = dict(saved["tools"])
        self.traces.shown = {trace: set(digests) for trace, digests in saved["shown"].items()}
        self.traces.conversations = dict(saved.get("conversations", {}))

    def name(self, trajectory: str | None, record: Any, *, whole: bool) -> str:
        """The name of the trajectory of a record; of two `whole` records of one name, the second is numbered."""
        name = self._default if trajectory is None else trajectory
        if whole and trajectory is None and self._nameless:
            name = f"{name}-{blake2b(orjson.dumps(record), digest_size=4).hexdigest()}"
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


def with_list(field: str, *, of: str | None = None) -> Callable[[Any], bool]:
    """Recognizes objects that have a list under `field`; with `of`, one whose first entry has that field."""

    def recognizes(record: Any) -> bool:
        entries = record.get(field) if isinstance(record, dict) else None
        first = entries[0] if isinstance(entries, list) and entries else None
        return isinstance(entries, list) if of is None else isinstance(first, Mapping) and of in first

    return recognizes


def with_fields(*fields: str, **types: type) -> Callable[[Any], bool]:
    """Recognizes objects that have all `fields`, and those in `types` with a value of the type."""
    needed = {*fields, *types}

    def recognizes(record: Any) -> bool:
        if not isinstance(record, dict) or not needed <= record.keys():
            return False
        return not types or all(isinstance(record[field], kind) for field, kind in types.items())

    return recognizes


def record_format(
    name: str,
    recognizes: Callable[[Any], bool],
    read: Callable[[Any, MessageReader], Reading],
    *ids: str,
    without: tuple[str, ...] | None = None,
    whole: bool = False,
) -> Format:
    """The format of records that a function of a family reads; the first of the fields `ids` names the trajectory.

    The first step of a record knows what it says of the whole trajectory: all fields but those `without`, if given.
    """

    def rows(record: Any, reading: FileReading) -> Iterator[TrajectoryRow]:
        trajectory = next((str(record[name]) for name in ids if record.get(name) is not None), None)
        said = read(record, reading.messages)
        for row in said if without is None else with_about(about_trajectory(record, *without), said):
            yield trajectory, row

    return Format(name, recognizes, rows, whole or without is not None)
