"""Messages of a record as rows, with what the record knows of the whole trajectory under `trajectory` of the first."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from typing import Any, NamedTuple

from stitch.errors import StepRejectedError
from stitch.sources.fields import BROKEN, Row, is_system, oldest_first, system_of
from stitch.sources.messages import MessageReader
from stitch.sources.parts import first_of, is_mark, without

RowStream = Iterator["Row | StepRejectedError"]


class Done(NamedTuple):
    """A row that needs no reading any more, among messages that do."""

    row: Row


def conversation(messages: Iterable[Any], reader: MessageReader, *, speaker: bool = False) -> RowStream:
    """The rows of messages; a broken one does not end the reading of those after it."""
    for message in chain.from_iterable(map(_versions_of, messages)):
        if isinstance(message, Done | StepRejectedError):
            yield message.row if isinstance(message, Done) else message
            continue
        try:
            yield from reader.rows(message, speaker=speaker)
        except StepRejectedError as error:
            yield error
        except BROKEN as error:
            yield StepRejectedError(f"broken message: {type(error).__name__}: {error}")


def _versions_of(message: Any) -> list[Any]:
    """A message, or its versions, made of blocks of parts, as LM Studio keeps them; those shown no longer say so."""
    versions = first_of(message, ("versions",), list)
    if versions is None or "currentlySelected" not in message:
        return [message]
    left = [None if number == message["currentlySelected"] else "left" for number in range(len(versions))]
    contents = [[part for block in version.get("steps", ()) for part in _parts_of(block)] for version in versions]
    return [{"branch": branch, "content": content, **without(version, "steps")}
            for branch, content, version in zip(left, contents, versions, strict=True)]  # fmt: skip


def _parts_of(block: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The parts of a block, or the block if it has none, each with what is known of the block."""
    kind = {"type": "thinking"} if first_of(block.get("style"), ("type",)) == "thinking" else {}
    return [{**without(block, "content"), **part, **kind} for part in block.get("content") or [block]]


def talk(
    record: Mapping[str, Any], messages: list[Any], reader: MessageReader, *, field: str, speaker: bool = False
) -> RowStream:
    """The messages that a record has under a `field`, the oldest first; instructions beside them are the first one."""
    system = None if messages and is_system(messages[0]) else system_of(record)
    said = oldest_first(list(messages))
    about = about_trajectory(record, field, system[0] if system else field)
    return with_about(about, conversation([system[1], *said] if system else said, reader, speaker=speaker))


def about_trajectory(record: Mapping[str, Any], *fields: str) -> dict[str, Any]:
    """Fields of a record beside the steps in `fields`."""
    return {key: value for key, value in record.items() if key not in fields and value is not None}


def with_about(about: Mapping[str, Any] | None, rows: Iterable[Row | StepRejectedError]) -> RowStream:
    """The rows; the first that becomes a step says in its metadata what is known `about` the whole trajectory."""
    for row in rows:
        if about and not isinstance(row, StepRejectedError) and not is_mark(row):
            row["metadata"], about = {**row.get("metadata", {}), "trajectory": about}, None
        yield row


def with_ids(rows: Iterable[Row | StepRejectedError], name: str | None) -> RowStream:
    """The rows; under a `name` those without an id have one that begins with it."""
    for number, row in enumerate(rows):
        if name is not None and not isinstance(row, StepRejectedError):
            row.setdefault("id", f"{name}-{number}")
        yield row
