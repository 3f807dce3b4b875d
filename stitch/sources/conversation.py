"""Messages of a record as rows, with what the record knows of the whole trajectory under `trajectory` of the first."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from stitch.errors import StepRejectedError
from stitch.sources.fields import BROKEN, Row, is_message, is_system, oldest_first, system_of, time_in
from stitch.sources.messages import MessageReader
from stitch.sources.parts import first_of, without

Reading = Iterator["Row | StepRejectedError"]

_KINDS = ("type", "kind", "event", "messageType")
_WORDS = ("content", "message", "text", "instructions", "transcript", "result", "prompt", "summary", "description")


class Done(NamedTuple):
    """A row that needs no reading any more, among messages that do."""

    row: Row


def conversation(messages: Iterable[Any], reader: MessageReader, *, speaker: bool = False) -> Reading:
    """The rows of messages; a broken one does not end the reading of those after it.

    An entry that nobody says, but that names its kind, is an event of this kind.
    """
    for message in messages:
        if isinstance(message, Done | StepRejectedError):
            yield message.row if isinstance(message, Done) else message
            continue
        try:
            yield from [_event_among(message)] if _names_its_kind(message) else reader.rows(message, speaker=speaker)
        except StepRejectedError as error:
            yield error
        except BROKEN as error:
            yield StepRejectedError(f"broken message: {type(error).__name__}: {error}")


def _names_its_kind(message: Any) -> bool:
    return isinstance(message, Mapping) and not is_message(message) and "action" not in message and (
        first_of(message, _KINDS, str) is not None)  # fmt: skip


def _event_among(message: Mapping[str, Any]) -> Row:
    kind = first_of(message, _KINDS, str)
    row = {"timestamp": time_in(message),
           **event({**message, "type": kind}, without(message, "type", "timestamp", "id"))}  # fmt: skip
    return row if message.get("id") is None else {**row, "id": str(message["id"])}


def event(record: Mapping[str, Any], rest: Mapping[str, Any]) -> Row:
    """What is no message of anybody: it is named by its kind, and its words, if it has any, are its text."""
    kind = str(record.get("type") or record.get("event") or "event")
    words = next((key for key in _WORDS if isinstance(record.get(key), str)), "")
    said = str(record[words]) if words and record[words].strip() else kind.replace("_", " ").replace("-", " ")
    metadata = {key: value for key, value in rest.items() if key != words and value is not None}
    heard = "input_audio_transcription" in kind and words == "transcript"  # the user's voice, as it was understood
    return {"role": "user" if heard else kind, "content": said, "metadata": metadata}


def talk(
    record: Mapping[str, Any], messages: list[Any], reader: MessageReader, *, field: str, speaker: bool = False
) -> Reading:
    """The messages that a record has under a `field`, the oldest first; instructions beside them are the first one."""
    system = None if messages and is_system(messages[0]) else system_of(record)
    said = oldest_first(list(messages))
    about = about_trajectory(record, field, system[0] if system else field)
    return with_about(about, conversation([system[1], *said] if system else said, reader, speaker=speaker))


def about_trajectory(record: Mapping[str, Any], *fields: str) -> dict[str, Any]:
    """What a record says beside the steps in `fields`."""
    return {key: value for key, value in record.items() if key not in fields and value is not None}


def with_about(about: Mapping[str, Any] | None, rows: Iterable[Row | StepRejectedError]) -> Reading:
    """The rows; the first that is not rejected says in its metadata what is known `about` the whole trajectory."""
    for row in rows:
        if about and not isinstance(row, StepRejectedError):
            row["metadata"], about = {**row.get("metadata", {}), "trajectory": about}, None
        yield row
