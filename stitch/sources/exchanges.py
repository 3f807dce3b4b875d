"""Requests to a model with their replies, as gateways and batch interfaces log them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from stitch.sources.messages import is_message

_TOLD = ("messages", "contents", "input", "prompt", "completion", "choices", "candidates", "output")
_ENVELOPES = ("request", "response", "body", "params", "result")


def messages_of(record: Any) -> list[Any]:
    """The messages of a request and its reply: of chat completions, of Anthropic's, Gemini's or Responses'."""
    reply: Any = record
    asked: list[Any] = []
    for name in ("request", "body", "params", "kwargs"):
        inner = record.get(name)
        inner = inner.get("body", inner) if isinstance(inner, Mapping) else None
        if isinstance(inner, Mapping):
            system = [{"role": "system", "content": inner["system"]}] if inner.get("system") else []
            for field in ("messages", "contents", "input"):
                if isinstance(inner.get(field), list):
                    asked += [*system, *inner[field]]
                elif isinstance(inner.get(field), str):
                    asked += [*system, {"role": "user", "content": inner[field]}]
    for name in ("messages", "contents", "input", "prompt"):
        if isinstance(record.get(name), list):
            asked += record[name]
        elif isinstance(record.get(name), str):
            asked.append({"role": "user", "content": record[name]})
    for name in ("response", "body", "result", "message"):
        inner = reply.get(name) if isinstance(reply, Mapping) else None
        reply = inner if isinstance(inner, Mapping | list | str) else reply
    if isinstance(reply, str):
        return [*asked, {"role": "assistant", "content": reply}]
    if isinstance(reply, Mapping):
        if isinstance(reply.get("choices"), list):
            return [*asked, *(choice.get("message") or {"role": "assistant", "content": choice.get("text")}
                              for choice in reply["choices"] if isinstance(choice, Mapping))]  # fmt: skip
        if isinstance(reply.get("candidates"), list):
            return [*asked, *({"role": "model", **choice.get("content", {})}
                              for choice in reply["candidates"] if isinstance(choice, Mapping))]  # fmt: skip
        if isinstance(reply.get("output"), list):
            return [*asked, *reply["output"]]
        if reply is not record and is_message(reply):
            return [*asked, reply]
        if isinstance(record.get("completion"), str):
            return [*asked, {"role": "assistant", "content": record["completion"]}]
    return asked


def is_exchange(record: Any) -> bool:
    """Whether a record is a request to a model with its reply, or one of the two in its envelope."""
    if not isinstance(record, Mapping) or "role" in record or "run_type" in record:
        return False
    marks = ("choices", "candidates", "request", "response", "body", "params", "completion", "output")
    return any(name in record for name in marks) and any(map(is_message, messages_of(record)))


def beside(record: Mapping[str, Any]) -> dict[str, Any]:
    """A request and its reply without what they say, in whatever depth their envelopes have."""
    return {
        key: beside(inner) if key in _ENVELOPES and isinstance(inner, Mapping) else inner
        for key, inner in record.items()
        if key not in _TOLD
    }
