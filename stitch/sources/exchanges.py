"""Requests to a model with their replies, as gateways, batch interfaces and data for tuning write them down."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from stitch.sources.messages import is_message, system_of

_ASKED = ("messages", "contents", "input", "prompt", "chat_history")
_REPLIED = ("outputs", "output", "response", "response_body", "body", "result", "message", "preferred_output",
            "completion", "generations")  # fmt: skip
_TOLD = (*_ASKED, "completion", "choices", "candidates", "output", "preferred_output")
_ENVELOPES = ("request", "response", "body", "params", "result", "input", "inputs", "request_body", "response_body",
              "output", "outputs", "message")  # fmt: skip
_MARKS = ("choices", "candidates", "request", "response", "body", "params", "completion", "output", "outputs", "result",
          "request_body", "preferred_output", "custom_id")  # fmt: skip
_REQUESTS = ("request", "body", "params", "kwargs", "inputs", "input", "request_body")
_MAX_DEPTH = 5


def messages_of(record: Any) -> list[Any]:
    """The messages of a request and its reply: of chat completions, of Anthropic's, Gemini's or Responses'."""
    asked: list[Any] = []
    for name in _REQUESTS:
        inner = record.get(name)
        inner = inner.get("body", inner) if isinstance(inner, Mapping) else None
        if isinstance(inner, Mapping):
            system = system_of(inner)
            said = _asked_in(inner)
            asked += [system[1], *said] if system and said and not is_system(said[0]) else said
    asked += _asked_in(record)
    return [*asked, *_replies_in(record, asked=bool(asked))]


def is_system(message: Any) -> bool:
    """Whether a message says how to behave."""
    return isinstance(message, Mapping) and message.get("role") in ("system", "developer")


def _asked_in(record: Mapping[str, Any]) -> list[Any]:
    task = record.get("instruction")
    if isinstance(task, str) and isinstance(record.get("output"), str):
        more = record.get("input")
        return [{"role": "user", "content": f"{task}\n{more}" if isinstance(more, str) and more else task}]
    asked: list[Any] = []
    for name in _ASKED:
        if isinstance(record.get(name), list):
            asked += record[name]
        elif isinstance(said := record.get(name), str) and said:
            asked.append({"role": "user", "content": said})
    return asked


def _replies_in(reply: Any, *, asked: bool, depth: int = 0) -> list[Any]:
    """The messages of a reply, in whatever envelope it is; a text is one if something was `asked`."""
    if isinstance(reply, str):
        return [{"role": "assistant", "content": reply}] if asked and reply and depth else []
    if isinstance(reply, list):
        texts = [{"role": "assistant", "content": said} for said in reply if isinstance(said, str) and said]
        return texts if asked and len(texts) == len(reply) else [said for said in reply if is_message(said)]
    if not isinstance(reply, Mapping) or depth > _MAX_DEPTH:
        return []
    if isinstance(reply.get("choices"), list):
        return [_choice(choice) for choice in reply["choices"] if isinstance(choice, Mapping)]
    if isinstance(reply.get("candidates"), list):
        return [_candidate(choice) for choice in reply["candidates"] if isinstance(choice, Mapping)]
    if depth and is_message(reply):
        return [reply]
    for name in _REPLIED:
        inner = reply.get(name)
        if inner and (said := _replies_in(inner, asked=asked, depth=depth + 1)):
            return said
    error = reply.get("error")
    if isinstance(error, Mapping) and (depth or "custom_id" in reply):
        text = error.get("message") or (error.get("error") or {}).get("message") or str(dict(error))
        return [{"role": "error", "content": text, "error": error}]
    return []


def _choice(choice: Mapping[str, Any]) -> dict[str, Any]:
    """A choice of chat completions, or a piece of one that was streamed, as a message."""
    rest = {key: value for key, value in choice.items() if key not in ("message", "delta", "text", "index")}
    said = choice.get("message") or choice.get("delta") or {"content": choice.get("text")}
    return {"role": "assistant", **rest, **said}


def _candidate(candidate: Mapping[str, Any]) -> dict[str, Any]:
    rest = {key: value for key, value in candidate.items() if key not in ("content", "index")}
    content = candidate.get("content")
    said = content if isinstance(content, Mapping) else {"content": content}
    return {"role": "model", **rest, **said}


def is_exchange(record: Any) -> bool:
    """Whether a record is a request to a model with its reply, or one of the two in its envelope."""
    if not isinstance(record, Mapping) or any(name in record for name in ("role", "run_type", "observations")):
        return False
    if not any(name in record for name in _MARKS):
        return False
    if is_message(record) and not isinstance(record.get("input"), Mapping):
        return False
    return any(map(is_message, messages_of(record)))


def beside(record: Mapping[str, Any]) -> dict[str, Any]:
    """A request and its reply without what they say, in whatever depth their envelopes have."""
    kept = {}
    for key, inner in record.items():
        if key in _ENVELOPES and isinstance(inner, Mapping) and not is_message(inner):
            kept[key] = beside(inner)
        elif key not in _TOLD and not (key in _REPLIED and (isinstance(inner, str) or is_message(inner))):
            kept[key] = inner
    return kept
