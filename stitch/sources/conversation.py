"""Records that hold messages, and what they know of the whole trajectory.

What a record knows of the whole trajectory goes to the metadata of its first step, under `trajectory`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from stitch.errors import StepRejectedError
from stitch.sources.fields import BROKEN, Row, is_message, oldest_first, system_of
from stitch.sources.messages import MessageReader
from stitch.sources.model_calls import is_system
from stitch.sources.parts import without

Reading = Iterator["Row | StepRejectedError"]

_WORDS = ("content", "message", "text", "instructions", "transcript", "result", "prompt", "summary", "description")


def conversation(
    record: Mapping[str, Any], messages: Sequence[Any], reader: MessageReader, *, field: str, speaker: bool = False
) -> Reading:
    """Read the messages of a record; `field` is where they stand in it.

    Instructions that stand beside them are the first message. An entry that nobody says, but that names its kind, is an
    event of this kind.
    """
    system = None if messages and is_system(messages[0]) else system_of(record)
    about: dict[str, Any] | None = about_trajectory(record, field, system[0] if system else field)
    said = oldest_first(list(messages))
    for message in [system[1], *said] if system else said:
        try:
            for row in _rows_or_event(message, reader, speaker=speaker):
                if about:
                    row["metadata"] = {**row["metadata"], "trajectory": about}
                    about = None
                yield row
        except StepRejectedError as error:
            yield error
        except BROKEN as error:  # the messages after it are read all the same
            yield StepRejectedError(f"broken message: {type(error).__name__}: {error}")


def _rows_or_event(message: Any, reader: MessageReader, *, speaker: bool) -> Iterator[Row]:
    if isinstance(message, Mapping) and not is_message(message) and "action" not in message:
        kind = next((message[name] for name in ("type", "kind", "event") if isinstance(message.get(name), str)), None)
        if kind:
            rest = without(message, "type", "timestamp", "id")
            said = {"timestamp": message.get("timestamp"), **event({**message, "type": kind}, rest)}
            yield {**said, "id": str(message["id"])} if message.get("id") is not None else said
            return
    yield from reader.rows(message, speaker=speaker)


def event(record: Mapping[str, Any], rest: Mapping[str, Any]) -> Row:
    """What is no message of anybody: it is named by its kind, and its words, if it has any, are its text."""
    kind = str(record.get("type") or record.get("event") or "event")
    words = next((key for key in _WORDS if isinstance(record.get(key), str)), "")
    said = str(record[words]) if words and record[words].strip() else kind.replace("_", " ").replace("-", " ")
    metadata = {key: value for key, value in rest.items() if key != words and value is not None}
    heard = "input_audio_transcription" in kind and words == "transcript"  # the user's voice, as it was understood
    return {"role": "user" if heard else kind, "content": said, "metadata": metadata}


def about_trajectory(record: Mapping[str, Any], *fields: str) -> dict[str, Any]:
    """What a record says beside the steps in `fields`."""
    return {key: value for key, value in record.items() if key not in fields and value is not None}


def with_about(about: Mapping[str, Any] | None, rows: Iterable[Row | StepRejectedError]) -> Reading:
    """The rows; the first that is not rejected says in its metadata what is known `about` the whole trajectory."""
    for row in rows:
        if about and not isinstance(row, StepRejectedError):
            row["metadata"] = {**row.get("metadata", {}), "trajectory": about}
            about = None
        yield row


def call_of(name: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The call of a tool, as a step holds it."""
    return {"name": name, "arguments": dict(arguments)}
