"""The agent data protocol: observations and actions, each by its class."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from typing_extensions import TypedDict

from stitch.errors import StepRejectedError
from stitch.sources.conversation import Reading, about_trajectory, call_of, with_about
from stitch.sources.fields import Row
from stitch.sources.parts import text_of
from stitch.sources.recognizing import Format, read_one, with_list


class Event(TypedDict, total=False):
    """An action (`api_action`, `code_action`, `message_action`) or an observation."""

    class_: str
    content: Any
    source: str
    function: str
    kwargs: dict[str, Any]
    description: str
    language: str
    axtree: str
    html: str


class Trajectory(TypedDict, total=False):
    """The events of a run."""

    id: str
    content: list[Event]
    details: dict[str, Any]


def read(record: Mapping[str, Any]) -> Reading:
    """A trajectory: observations and actions by class."""
    return with_about(about_trajectory(record, "content", "id"), _events(record))


def _events(record: Mapping[str, Any]) -> Reading:
    last_tool = "environment"
    for event in record["content"]:
        if not isinstance(event, Mapping) or not isinstance(event.get("class_"), str):
            yield StepRejectedError("event has no field 'class_'")
            continue
        rest = {key: value for key, value in event.items() if value is not None}
        if (called := _called(event["class_"], rest)) is not None:
            last_tool = called["tool_calls"][0]["name"]
            yield called
        elif event["class_"] == "message_action":
            yield {"metadata": rest, "role": "assistant", "content": text_of(rest.pop("content", None))}
        else:
            yield _seen(rest, last_tool)


def _called(kind: str, rest: dict[str, Any]) -> Row | None:
    """The call of a tool, or of code; None if an event is none."""
    if kind == "api_action":
        call = call_of(str(rest.pop("function", "call")), rest.pop("kwargs", None) or {})
    elif kind == "code_action":
        call = call_of(str(rest.pop("language", "code")), {"code": rest.pop("content", "")})
    else:
        return None
    said = text_of(rest.pop("description", None))
    return {"metadata": rest, "tool_calls": (call,), "role": "assistant", "content": said}


def _seen(rest: dict[str, Any], last_tool: str) -> Row:
    content = rest.pop("content", None) or rest.pop("axtree", None) or rest.pop("html", None)
    if rest.get("source", "environment") == "user":
        return {"metadata": rest, "role": "user", "content": text_of(content)}
    return {"metadata": rest, "role": "tool", "tool_name": last_tool, "content": text_of(content)}


TRAJECTORY = Format(
    "agent data protocol", with_list("content", of="class_"), read_one(read, "id", plain=True), whole=True,
    model=Trajectory,
)  # fmt: skip
