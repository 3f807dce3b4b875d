"""Lone steps: a message, a turn of CAME-Bench, what was done with which tool."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from stitch.sources.recognizing import FileReading, TrajectoryRow, with_fields

_CAME_ID = re.compile(r"^(?P<trajectory>.+)-turn-\d+$")
_CAME_STAMP = re.compile(r"\s*-{3,4}\s?TIMESTAMP:\s*(?P<stamp>\S+(?: \S+)*?)\s*$")
_STAMP_CHARS = 300
_CAME_FIELDS = ("partition", "action", "action_object", "timestamp_mapping")


def _stamp_of(content: str) -> re.Match[str] | None:
    """The stamp at the end of a turn; no text is so long that looking for it takes long."""
    return _CAME_STAMP.search(content, max(0, len(content) - _STAMP_CHARS))


def is_came_turn(record: Any) -> bool:
    """Whether it is a turn of CAME-Bench."""
    return (
        with_fields("role", id=str, content=str)(record)
        and bool(_CAME_ID.match(record["id"]))
        and (any(name in record for name in _CAME_FIELDS) or bool(_stamp_of(record["content"])))
    )


def came_turn(record: Any, reading: FileReading) -> Iterator[TrajectoryRow]:
    """A turn of CAME-Bench: its trajectory and its time stand in its id and its text."""
    turn = dict(record)
    if stamp := _stamp_of(turn["content"]):
        turn["content"] = turn["content"][: stamp.start()]
        turn["timestamp"] = stamp["stamp"]
    trajectory = _CAME_ID.sub(r"\g<trajectory>", turn["id"])
    for row in reading.messages.rows(turn):
        yield trajectory, row


def read_step(record: Any, reading: FileReading) -> Iterator[TrajectoryRow]:
    """A lone step, of the trajectory that it names."""
    trajectory = next((record[name] for name in _CONVERSATIONS if isinstance(record.get(name), str | int)), None)
    for row in reading.messages.rows(record):
        yield None if trajectory is None else str(trajectory), row


_CONVERSATIONS = ("trajectory", "conversation_id", "conversationId", "thread_id", "threadId", "dialogue_id",
                  "dialog_id", "chat_id", "chatId", "message_tree_id", "trajectory_id", "traj_id")  # fmt: skip
"""The fields of a lone step that say which trajectory it is of."""


def is_acted(record: Any) -> bool:
    """Whether it is what was done with which tool, and what came of it."""
    return with_fields("action")(record) and any(
        name in record for name in ("observation", "thought", "action_input", "obs")
    )
