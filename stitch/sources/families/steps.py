"""Lone steps: a message, a turn of CAME-Bench, what was done with which tool."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from typing_extensions import TypedDict

from stitch.sources.fields import is_message
from stitch.sources.recognizing import FileReading, Format, TrajectoryRow, with_fields


class Message(TypedDict, total=False):
    """One step: who speaks and what. Other programs spell `role` and `content` in many other ways."""

    role: str
    content: Any
    id: str | int
    timestamp: str | float
    trajectory: str | int
    tool_calls: list[Any]


class Acted(TypedDict, total=False):
    """What was done with which tool, and what came of it."""

    thought: Any
    action: Any
    action_input: Any
    observation: Any


_CAME_ID = re.compile(r"^(?P<trajectory>.+)-turn-\d+$")
_CAME_STAMP = re.compile(r"\s*-{3,4}\s?TIMESTAMP:\s*(?P<stamp>\S+(?: \S+)*?)\s*$")
_STAMP_CHARS = 300
_CAME_FIELDS = ("partition", "action", "action_object", "timestamp_mapping")


def _stamp_of(content: str) -> re.Match[str] | None:
    """The stamp at the end of a turn; no text is so long that looking for it takes long."""
    return _CAME_STAMP.search(content, max(0, len(content) - _STAMP_CHARS))


def _is_came_turn(record: Any) -> bool:
    return (
        with_fields("role", id=str, content=str)(record)
        and bool(_CAME_ID.match(record["id"]))
        and (any(name in record for name in _CAME_FIELDS) or bool(_stamp_of(record["content"])))
    )


def _came_turn(record: Any, reading: FileReading) -> Iterator[TrajectoryRow]:
    turn = dict(record)
    if stamp := _stamp_of(turn["content"]):
        turn["content"] = turn["content"][: stamp.start()]
        turn["timestamp"] = stamp["stamp"]
    trajectory = _CAME_ID.sub(r"\g<trajectory>", turn["id"])
    for row in reading.messages.rows(turn):
        yield trajectory, row


def _step(record: Any, reading: FileReading) -> Iterator[TrajectoryRow]:
    trajectory = next((record[name] for name in _CONVERSATIONS if isinstance(record.get(name), str | int)), None)
    for row in reading.messages.rows(record):
        yield None if trajectory is None else str(trajectory), row


_CONVERSATIONS = ("trajectory", "conversation_id", "conversationId", "thread_id", "threadId", "dialogue_id",
                  "dialog_id", "chat_id", "chatId", "message_tree_id", "trajectory_id", "traj_id")  # fmt: skip
"""The fields of a lone step that say which trajectory it is of."""


def _is_acted(record: Any) -> bool:
    return with_fields("action")(record) and any(
        name in record for name in ("observation", "thought", "action_input", "obs")
    )


CAME_TURN = Format("CAME-Bench turn", _is_came_turn, _came_turn, model=Message)
STEP = Format("step", is_message, _step, model=Message)
ACTED = Format("thought, action and observation", _is_acted, _step, model=Acted)
