"""Records that hold the messages of a conversation under a field."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from operator import itemgetter
from typing import Any, NamedTuple

from typing_extensions import TypedDict

from stitch.sources.conversation import conversation
from stitch.sources.fields import is_message
from stitch.sources.recognizing import IDS, FileReading, Format, TrajectoryRow, with_fields, with_list


class Steps(TypedDict, total=False):
    """A trajectory in the form of this library."""

    id: str | int
    steps: list[dict[str, Any]]


class Talk(TypedDict, total=False):
    """A conversation: its messages under one of several names."""

    id: str | int
    messages: list[Any]
    conversations: list[Any]
    history: list[Any]
    trajectory: list[Any]
    traj: list[Any]
    input: list[Any]
    contents: list[Any]
    system: Any


class Conversation(NamedTuple):
    """Records that hold messages, and where."""

    format: Format
    field: str
    messages: Callable[[Any], list[Any]]
    """What such a record holds."""


_WHO_AND_WHEN = ("mistake_step", "mistake_agent", "mistake_reason", "question_ID")


def _is_who_and_when(record: Any) -> bool:
    return with_list("history", of="role")(record) and (
        any(name in record for name in _WHO_AND_WHEN)
        or ("question" in record and all(with_fields("role", "name")(message) for message in record["history"]))
    )


def _is_conversations(record: Any) -> bool:
    return with_list("conversations")(record) and is_message((record["conversations"] or [0])[0])


def said_to_model(record: Any) -> list[Any]:
    """The contents of a request to Gemini; those that name no role are the user's."""
    return [{"role": "user", **c} if isinstance(c, Mapping) and "parts" in c else c for c in record["contents"]]


def _held(
    name: str,
    field: str,
    *,
    ids: tuple[str, ...] = IDS,
    parts: int = 1,
    speaker: bool = False,
    whole: bool = True,
    recognizes: Callable[[Any], bool] | None = None,
    messages: Callable[[Any], list[Any]] | None = None,
    model: Any = Talk,
) -> Conversation:
    """Messages under `field`; the first `parts` of the fields `ids` that a record has name the trajectory."""
    held = messages or itemgetter(field)

    def rows(record: Any, reading: FileReading) -> Iterator[TrajectoryRow]:
        named = [str(record[name]) for name in ids if record.get(name) is not None][:parts]
        for row in conversation(record, held(record), reading.messages, field=field, speaker=speaker):
            yield "-".join(named) or None, row

    return Conversation(Format(name, recognizes or with_list(field), rows, whole, model), field, held)


STEPS = _held("trajectory of steps", "steps", ids=("id",), whole=False, model=Steps)
WHO_AND_WHEN = _held("Who&When log", "history", ids=("question_ID",), speaker=True, recognizes=_is_who_and_when)
TAU_BENCH = _held("tau-bench", "traj", ids=("task_id", "trial"), parts=2)
MESSAGES = _held("chat messages", "messages")
CONVERSATIONS = _held("conversations", "conversations", recognizes=_is_conversations)
CONTENTS = _held("Gemini contents", "contents", messages=said_to_model)
HISTORY = _held("message history", "history", recognizes=with_list("history", of="role"))
TRAJECTORY = _held("trajectory of messages", "trajectory", recognizes=with_list("trajectory", of="role"))
INPUT = _held("Responses input", "input")
