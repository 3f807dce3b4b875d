"""SWE-agent and mini-SWE-agent: what a model said and did in a repository."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import chain
from typing import Any

from stitch.errors import StepRejectedError
from stitch.sources.conversation import Reading, about_trajectory, call_of, conversation
from stitch.sources.fields import Row
from stitch.sources.messages import MessageReader
from stitch.sources.parts import text_of
from stitch.sources.recognizing import with_fields, with_list

_TOLD = ("action", "observation", "response", "thought", "query", "messages")
"""What of an entry stands in the messages of the history."""
_COMMAND = re.compile(r"```(?:bash|sh|mswea_bash_command)[ \t]{0,9}\n(?P<command>.*?)\n?```", re.DOTALL)
_RETURNED = ("<returncode>", "<output>", "Observation:", "<observation>")


def is_run(record: Any) -> bool:
    """Whether it is a `.traj` of SWE-agent."""
    return (with_list("history", of="role")(record) and "agent" in record["history"][0]) or (
        with_list("trajectory", of="observation")(record) and "intent" not in record
    )


def is_mini_run(record: Any) -> bool:
    """Whether it is a trajectory of mini-SWE-agent."""
    return with_list("messages")(record) and (
        str(record.get("trajectory_format")).startswith("mini-swe-agent")
        or with_fields("mini_version")(record.get("info"))
    )


def read_run(record: Mapping[str, Any], reader: MessageReader) -> Reading:
    """The messages of `history`, each action as a tool call and each observation as its result.

    The entries of `trajectory` repeat the same thoughts and observations; what they alone know (state, time) goes to
    the metadata of the action.
    """
    run = _Run(record)
    # The last actions of a run may stand in `trajectory` alone.
    for message in chain(record.get("history") or (), (said for entry in run.entries for said in _messages_of(entry))):
        try:
            for row in reader.rows(message):
                run.take_in(row, message)
                yield row
        except StepRejectedError as error:
            yield error
    if run.tool is not None and record.get("history") and run.observed:
        yield {"role": "tool", "tool_name": run.tool, "content": text_of(run.observed), "metadata": {}}


class _Run:
    """What is known between two messages of a run."""

    def __init__(self, record: Mapping[str, Any]) -> None:
        self.about: dict[str, Any] | None = about_trajectory(record, "trajectory", "history")
        self.entries = iter(record.get("trajectory") or ())
        self.tool: str | None = None
        """What was called and not yet answered."""
        self.observed: Any = None

    def take_in(self, row: Row, message: Any) -> None:
        """Make an action of a row the call of a tool, and what is said after it its result."""
        row.pop("origin", None)  # the task is called an observation too, and the others are known by their place
        if self.about:
            row["metadata"]["trajectory"], self.about = self.about, None
        action = message.get("action") if isinstance(message, Mapping) else None
        if isinstance(action, str) and row["role"] == "assistant":
            entry: Mapping[str, Any] = next(self.entries, {}) if message.get("agent") else message
            self.tool, self.observed = (action.split() or ["submit"])[0], entry.get("observation")
            row["metadata"].update(_only_in(entry, said=row["content"]))
            if not row["tool_calls"]:
                row["tool_calls"] = (call_of(self.tool, {"input": action}),)
        elif self.tool is not None:
            # Older versions write what the environment answered as if the user had said it.
            row["role"], row["tool_name"] = "tool", row.get("tool_name") or self.tool
            self.tool = None


def _only_in(entry: Mapping[str, Any], *, said: str) -> dict[str, Any]:
    """What an entry knows and its message does not say: its state, its time, and a thought in other words."""
    known = {key: value for key, value in entry.items() if key not in _TOLD and value}
    thoughts = (text_of(entry.get(key)).strip() for key in ("response", "thought"))
    other = next((thought for thought in thoughts if thought not in said), None)
    return {**known, "entry_thought": other} if other else known


def _messages_of(entry: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    thought = entry.get("thought") or entry.get("response")
    rest = {key: value for key, value in entry.items() if key not in _TOLD and value}
    yield {"role": "assistant", "content": thought, "action": entry.get("action"), **rest}
    yield {"role": "user", "content": entry.get("observation")}


def read_mini_run(record: Mapping[str, Any], reader: MessageReader) -> Reading:
    """The messages; the command in a reply is a call, and what the user says then its result."""
    called = False
    for row in conversation(record, record["messages"], reader, field="messages"):
        if not isinstance(row, StepRejectedError):
            found = _COMMAND.search(row["content"]) if row["role"] == "assistant" else None
            if found and not row.get("tool_calls"):
                row["tool_calls"], called = ({"name": "bash", "arguments": {"command": found["command"]}},), True
            elif called and row["role"] == "user" and row["content"].lstrip().startswith(_RETURNED):
                row["role"], row["tool_name"], called = "tool", "bash", False
        yield row
