"""Requests to a model with their replies, as gateways, batch interfaces and data for tuning write them down."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from stitch.sources.fields import is_message, is_system, system_of, time_in
from stitch.sources.parts import first_of, object_in, text_of, without
from stitch.sources.tool_calls import calls_in

_ASKED = ("messages", "contents", "input", "prompt", "chat_history", "query", "question")
_REPLIED = ("outputs", "output", "response", "response_body", "body", "result", "message", "preferred_output",
            "completion", "generations", "outputBodyJson", "chosen")  # fmt: skip
_TOLD = (*_ASKED, "completion", "choices", "candidates", "output", "preferred_output", "chosen", "answers")
_ENVELOPES = ("request", "response", "body", "params", "result", "input", "inputs", "request_body", "response_body",
              "output", "outputs", "message", "inputBodyJson", "outputBodyJson")  # fmt: skip
_MARKS = ("choices", "candidates", "request", "response", "body", "params", "completion", "output", "outputs", "result",
          "request_body", "preferred_output", "custom_id", "chosen", "answers", "chat_history")  # fmt: skip
_REQUESTS = ("request", "body", "params", "kwargs", "inputs", "input", "request_body")
_MAX_DEPTH = 5
_HUMANS = {"Human": "user", "Assistant": "assistant", "System": "system"}
_HUMAN = re.compile(r"\n\n(Human|Assistant|System):")
_INST = re.compile(r"\[/?INST\]")


def messages_of(record: Any) -> list[Any]:
    """The messages of a request and its reply: of chat completions, of Anthropic's, Gemini's or Responses'."""
    asked = [said for name in _REQUESTS for said in _requested(record.get(name))] + _asked_in(record)
    replies = _replies_in(record, asked=bool(asked))
    if not replies and isinstance(record.get("inputs"), Mapping) and record.get("outputs"):
        # An example of a data set: what is given and what is expected, under names of its own.
        given = asked or [{"role": "user", "content": _only(record["inputs"])}]
        return [*given, {"role": "assistant", "content": _only(record["outputs"])}]  # fmt: skip
    last = _said(asked[-1]) if asked else None
    return [*asked, *(reply for reply in replies if last is None or _said(reply) != last)]


def _requested(request: Any) -> list[Any]:
    """The messages of a request in its envelope, with the instructions beside them."""
    body = first_of(request, ("body", "inputBodyJson"))
    inner = request if body is None else body
    if not isinstance(inner, Mapping):
        return []
    system, said = system_of(inner), _asked_in(inner)
    return [system[1], *said] if system and said and not is_system(said[0]) else said


def _said(message: Any) -> Any:
    """Role and text of a message that is no more than that."""
    plain = isinstance(message, Mapping) and isinstance(message.get("content"), str) and not message.get("tool_calls")
    return (message.get("role"), message["content"]) if plain else None


def dated(record: Mapping[str, Any], messages: list[Any]) -> list[Any]:
    """The messages; what is asked last in a record and what is replied was said when the record says."""
    inner = [record, *(record[name] for name in (*_REPLIED, *_REQUESTS) if isinstance(record.get(name), Mapping))]
    inner += [held for one in inner if (held := object_in(one, "body"))]
    when = next((at for at in map(time_in, inner) if at is not None), None)
    last = max((at for at, said in enumerate(messages) if isinstance(said, Mapping) and said.get("role") == "user"),
               default=0)  # fmt: skip
    return [{"timestamp": when, **said} if at >= last and isinstance(said, Mapping) and time_in(said) is None else said
            for at, said in enumerate(messages)]  # fmt: skip


def answer_of_batch(record: Mapping[str, Any]) -> str | None:
    """Name of the answer to a request of a batch, which stands in another file than this; None if it is none."""
    answered = "custom_id" in record and ("response" in record or "result" in record)
    return str(record.get("id") or "reply") if answered else None


def turns_in(text: str) -> list[dict[str, Any]]:
    """The turns of a conversation that is written into one text with the marks of older models; none if it is not."""
    if "[INST]" in text:
        pieces = (
            (at, piece.replace("</s>", "").replace("<s>", "").strip()) for at, piece in enumerate(_INST.split(text))
        )
        return [{"role": "user" if at % 2 else "assistant", "content": said} for at, said in pieces if said]
    parts = _HUMAN.split(text)
    if len(parts) < 3 or parts[0].strip():
        return []
    said = [(parts[at], parts[at + 1].strip()) for at in range(1, len(parts) - 1, 2)]
    return [{"role": _HUMANS[who], "content": words} for who, words in said if words]


def _only(given: Any) -> str:
    """A text that stands alone in an object, or the JSON of it."""
    return text_of(next(iter(given.values())) if isinstance(given, Mapping) and len(given) == 1 else given)


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
            turns = turns_in(said) or [{"role": "user", "content": said}]
            asked += [turn for turn in turns if _said(turn) not in map(_said, asked)]
    return asked


def _replies_in(reply: Any, *, asked: bool, depth: int = 0) -> list[Any]:
    """The messages of a reply, in whatever envelope it is; a text is one if something was `asked`."""
    if isinstance(reply, str):
        said = [{"role": "assistant", "content": reply}] if asked and reply and depth else []
        return turns_in(reply) or said
    if isinstance(reply, list):
        return _listed(reply, asked=asked)
    if isinstance(reply, Mapping) and depth <= _MAX_DEPTH:
        chosen = _chosen(reply)
        return _enveloped(reply, asked=asked, depth=depth) if chosen is None else chosen
    return []


def _chosen(reply: Mapping[str, Any]) -> list[Any] | None:
    """The choices or candidates of a reply; None if it has no such list."""
    for name, read in (("choices", _choice), ("candidates", _candidate)):
        if isinstance(reply.get(name), list):
            return [read(choice) for choice in reply[name] if isinstance(choice, Mapping)]
    return None


def _enveloped(reply: Mapping[str, Any], *, asked: bool, depth: int) -> list[Any]:
    """A reply that is a message itself, holds others, or says why there is none."""
    if depth and is_message(reply):
        return [reply]
    for name in _REPLIED:
        inner = reply.get(name)
        if inner and (said := _replies_in(inner, asked=asked, depth=depth + 1)):
            return said
    return _answered(reply, asked=asked) or _ended(reply, inside=depth > 0)


def _listed(reply: list[Any], *, asked: bool) -> list[Any]:
    """The messages of a reply that is a list, of texts or of messages."""
    texts = [{"role": "assistant", "content": said} for said in reply if isinstance(said, str) and said]
    if asked and len(texts) == len(reply):
        return texts
    # What is no message among messages is an event of its kind.
    return [said for said in reply if isinstance(said, Mapping)] if any(map(is_message, reply)) else []


def _answered(reply: Mapping[str, Any], *, asked: bool) -> list[Any]:
    """A reply in a field of its own beside the question."""
    if asked and isinstance(reply.get("answers"), str):
        calls, said = calls_in(reply["answers"])
        return [{"role": "assistant", "content": said, "tool_calls": calls}]
    own = reply.get("answer") if "query" in reply else reply.get("text") if "chat_history" in reply else None
    if isinstance(own, str) and own:
        return [{"role": "assistant", "content": own}]
    return []


def _ended(reply: Mapping[str, Any], *, inside: bool) -> list[Any]:
    """The reason there is no reply; an error that is not `inside` an envelope is one of a request with an id."""
    if "custom_id" in reply and isinstance(ended := reply.get("result"), Mapping) and isinstance(
            kind := ended.get("type"), str) and len(ended) == 1:  # fmt: skip
        return [{"role": "error", "content": f"request {kind}"}]
    error = reply.get("error")
    if isinstance(error, Mapping) and (inside or "custom_id" in reply or reply.get("object") == "response"):
        text = error.get("message") or (error.get("error") or {}).get("message") or str(dict(error))
        return [{"role": "error", "content": text, "error": error}]
    return []


def _choice(choice: Mapping[str, Any]) -> dict[str, Any]:
    """A choice of chat completions, or a piece of one that was streamed, as a message."""
    rest = without(choice, "message", "delta", "text", "index")
    said = choice.get("message") or choice.get("delta") or {"content": choice.get("text")}
    return {"role": "assistant", **rest, **(said if isinstance(said, Mapping) else {"content": said})}


def _candidate(candidate: Mapping[str, Any]) -> dict[str, Any]:
    rest = without(candidate, "content", "index")
    content = candidate.get("content")
    said = content if isinstance(content, Mapping) else {"content": content}
    return {"role": "model", **rest, **said}


def is_exchange(record: Any) -> bool:
    """Whether a record is a request to a model with its reply, or one of the two in its envelope."""
    if not isinstance(record, Mapping) or any(name in record for name in ("role", "run_type", "observations")):
        return False
    # An answer beside a `question` is what a benchmark knows, and the conversation it asks about may stand beside both.
    if not any(name in record for name in _MARKS) and not {"query", "answer"} <= record.keys():
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


def said_to_model(record: Any) -> list[Any]:
    """The contents of a request to Gemini; those that name no role are the user's."""
    return [{"role": "user", **c} if isinstance(c, Mapping) and "parts" in c else c for c in record["contents"]]
