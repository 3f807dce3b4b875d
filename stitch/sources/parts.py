"""The parts of a message: what each of them is, whatever program wrote it, and the words it holds."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import Any

import orjson

CALL_NAMES = ("name", "tool_name", "toolName", "function_name", "functionName", "tool", "server_tool")
CALL_ARGUMENTS = ("arguments", "input", "args", "parameters", "kwargs", "action", "queries", "code")
CALL_IDS = ("call_id", "toolUseID", "tool_call_id", "toolCallId", "tool_use_id", "toolUseId", "callID", "callId",
            "source_call_id", "id")  # fmt: skip
RESULT_IDS = ("toolUseID", "tool_use_id", "toolUseId", "tool_call_id", "toolCallId", "call_id", "callID", "callId",
              "source_call_id", "id")  # fmt: skip
ANSWERS = ("content", "output", "result", "response", "toolResult", "value", "outputs", "tool_return")
OWN_ANSWERS = ("output", "result", "outputs", "errorText", "results", "error")
"""Where a call holds what came of it, if whoever wrote it down waited for that."""
_THOUGHTS = ("thinking", "reasoning", "redacted_thinking", "thought")
_WITH_DATA = ("text", "reasoning", "tool_call", "tool_result")
_PART_MARKS = {"type", "content_type", "$type", "text", "functionResponse", "function_response", "toolResult",
               "tool_call_result"}  # fmt: skip
_RESULTS = ("toolresult", "calloutput", "callresponse", "functionresponse", "toolresponse", "callresult",
            "functionresult", "toolreturn", "functionresultcontent", "toolexecutioncomplete")  # fmt: skip
_CALLS = ("tooluse", "call", "toolrequest", "toolinvocation", "dynamictool", "toolexecution", "functioncallcontent")
"""How the kinds of parts end, written as one word, that are results or calls."""
SEVERAL = ("tool_messages", "tool_results", "toolResults", "tool_responses")
"""Under which names a message of a tool holds several results."""
_HOLDERS = (("document", "data"), ("resource", "text"))
_CALL_LISTS = ("tool_calls", "toolCalls", "toolInvocations", "toolRequests")
_ONE_CALL = ("function_call", "functionCall")
_WORDS = ("refusal", "thinking", "reasoning", "text", "summary", "transcript", "reasoningText", "input_audio")
_NAMES = ("title", "filename", "file_name", "name", "file_id", "fileUri", "url")


def kind_of(record: Mapping[str, Any]) -> str | None:
    """`call`, `result` or `thought` for items and parts that are no text; None for all others."""
    kind = record.get("type")
    if not isinstance(kind, str):
        return None
    plain = re.sub(r"[_.-]", "", kind.lower())
    if plain.endswith(_RESULTS):
        return "result"
    own = kind.startswith("tool-") and not {"toolCallId", "state"}.isdisjoint(record)
    if plain.endswith(_CALLS) or (own and plain not in ("toolerror", "toolapprovalresponse")):
        return "call"
    return "thought" if kind in _THOUGHTS else None


def plain_part(part: Mapping[str, Any]) -> Mapping[str, Any]:
    """A part in the form with a `type`, if it says in another way what it is, as by its only field."""
    part = _typed(part)
    if not _FORMS.keys().isdisjoint(part):
        for field, plain in _FORMS.items():
            if isinstance(part.get(field), Mapping):
                return plain(part, field)
    if part.get("type") == "tool" and isinstance(part.get("state"), Mapping):
        return _with_state(part)
    if "type" not in part and "call_id" in part and "content" in part:
        return {**part, "type": "tool_result"}
    return part


def _typed(part: Mapping[str, Any]) -> Mapping[str, Any]:
    """A part that says its kind under `type`, with its data, if they are an object, among its fields."""
    kind = part.get("type", part.get("content_type", part.get("$type")))
    if isinstance(kind, str) and "type" not in part:
        part = {**without(part, "content_type", "$type"), "type": kind}
    if isinstance(data := part.get("data"), Mapping) and (kind in _WITH_DATA or "." in str(kind)):
        part = {**without(part, "data"), **data}
    return part


def _under(kind: str) -> Callable[[Mapping[str, Any], str], Mapping[str, Any]]:
    """What makes a part of that `kind` of an object in a field."""
    return lambda part, field: {**without(part, field, "type"), **part[field], "type": kind}


def _answer_under(part: Mapping[str, Any], field: str) -> Mapping[str, Any]:
    done = part[field]
    origin = _object(done.get("origin"))
    return {**without(part, field), **without(done, "origin"), "type": "tool_result", "name": origin.get("tool_name"),
            "id": origin.get("id")}  # fmt: skip


def _code_under(part: Mapping[str, Any], field: str) -> Mapping[str, Any]:
    return {**without(part, field), "type": "tool_call", "name": "code_execution", "arguments": dict(part[field])}


def _code_result_under(part: Mapping[str, Any], field: str) -> Mapping[str, Any]:
    return {**without(part, field), **part[field], "type": "tool_result", "name": "code_execution", "own": True}


_FORMS: Mapping[str, Callable[[Mapping[str, Any], str], Mapping[str, Any]]] = {
    **dict.fromkeys(("functionCall", "function_call", "toolInvocation", "toolUse", "tool_call"), _under("tool_call")),
    **dict.fromkeys(("functionResponse", "function_response", "toolResult"), _under("tool_result")),
    "tool_call_result": _answer_under,
    **dict.fromkeys(("executableCode", "executable_code"), _code_under),
    **dict.fromkeys(("codeExecutionResult", "code_execution_result"), _code_result_under),
}
"""The fields that say what a part is if they hold an object, the first that counts first, and what is made of it."""


def _with_state(part: Mapping[str, Any]) -> Mapping[str, Any]:
    """A tool with its state, as OpenCode writes it: the call and what came of it."""
    state = part["state"]
    answer = state.get("output", state.get("error"))
    rest = without(state, "input", "output", "error")
    return {**part, "type": "tool_call", "state": rest, "input": state.get("input"), "output": answer}


def is_call(part: Mapping[str, Any]) -> bool:
    """Whether a part without a kind is a call, as some agents write theirs."""
    return isinstance(part.get("name"), str) and "arguments" in part and "text" not in part


def has_parts(content: Any) -> bool:
    """Whether a content is a list of parts, and not any list."""
    return isinstance(content, list) and all(
        isinstance(part, str) or (isinstance(part, Mapping) and bool(_PART_MARKS & part.keys())) for part in content
    )


def document_of(part: Mapping[str, Any]) -> str | None:
    """The text of a document that stands in a message; None if the part is none, or holds no text."""
    source = part.get("source")
    if part.get("type") == "search_result":
        said = (part.get("title"), text_of(part.get("content")))
        return "\n".join(text for text in said if isinstance(text, str) and text) or None
    if part.get("type") != "document" or not isinstance(source, Mapping):
        return None
    text = source.get("data") if source.get("type") == "text" else source.get("content")
    return text_of(text) if text else None


def words_of(parts: Iterable[Any]) -> str:
    """Words for parts that are no text: their thoughts, refusals and data, or what they are, such as `[image]`."""
    return "\n".join(_words_of(part) for part in parts if isinstance(part, Mapping))


def _words_of(part: Mapping[str, Any]) -> str:
    said = next((part[name] for name in _WORDS if part.get(name)), None)
    if isinstance(said, Mapping):
        said = next((said[name] for name in ("text", "transcript") if isinstance(said.get(name), str)), None)
    if said:
        return text_of(said)
    data = part.get("data")
    return text_of(data) if isinstance(data, Mapping | list) else f"[{_label_of(part)}]"


def _label_of(part: Mapping[str, Any]) -> str:
    """The kind of a part, and its name if it has one; what an address holds itself is no name."""
    kind = part.get("type") or part.get("kind") or next(iter(part), "part")
    nested = [part, *(value for value in part.values() if isinstance(value, Mapping))]
    name = next((str(at[key]) for key in _NAMES for at in nested if isinstance(at.get(key), str)), "")
    return f"{kind} {name}" if name and not name.startswith("data:") else str(kind)


def text_of(content: Any) -> str:
    """The text of a content: of a list of parts, the text parts, one below the other; of other values, their JSON."""
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if isinstance(content, list) and content and all(isinstance(part, str | Mapping) for part in content):
        texts = [part if isinstance(part, str) else part.get("text", _text_held(part)) for part in content]
        if all(isinstance(text, str) for text in texts):
            return "\n".join(filter(None, texts))
    return orjson.dumps(content).decode()


def _held_in(part: Mapping[str, Any]) -> tuple[str, str] | None:
    """The fields under which a document or resource that a tool gave stands in a part, and its text in that."""
    holders = ((holder, name) for holder, name in _HOLDERS if isinstance(part.get(holder), Mapping))
    return next(((holder, name) for holder, name in holders if part[holder].get(name)), None)


def _text_held(part: Mapping[str, Any]) -> str | None:
    held = _held_in(part)
    return None if held is None else text_of(part[held[0]][held[1]])


def text_in(part: Mapping[str, Any]) -> tuple[Any, Mapping[str, Any]]:
    """The text of a part, None if it has none, and the part without a second copy of it."""
    text = part.get("text", part.get("content"))
    if isinstance(text, Mapping):  # a text with its annotations
        beside = {key: value for key, value in text.items() if key != "value" and value}
        part, text = {**part, **beside, "text": text.get("value")}, text.get("value")
    if text is None and (held := _held_in(part)) is not None:
        part, text = {**part, held[0]: {**part[held[0]], held[1]: None}}, _text_held(part)
    if text is None and part.get("type") == "refusal":
        part, text = {"refused": True, **part}, part.get("refusal")
    return text, part


def beyond_texts(parts: list[Any]) -> list[dict[str, Any]]:
    """What the parts of an answer say beside their texts, if they are read as these."""
    if not all(isinstance(part, Mapping) and isinstance(part.get("text", _text_held(part)), str) for part in parts):
        return []
    beside = (without(text_in(part)[1], "type", "text") for part in parts)
    return list(filter(None, ({key: value for key, value in rest.items() if value} for rest in beside)))


def beyond_call(call: Mapping[str, Any]) -> dict[str, Any]:
    """What a call says beside its name, arguments, id and result."""
    said = ("type", "function", "index", "toolCall", *OWN_ANSWERS, *CALL_NAMES, *CALL_ARGUMENTS, *CALL_IDS)
    rest = {key: value for key, value in without(call, *said).items() if value is not None and (
        key != "outcome" or value not in ("failure", "success"))}  # fmt: skip
    if call.get("id") is not None and call["id"] != (own := identity_of(call)) and own is not None:
        rest["id"] = call["id"]
    taken = next((key for key in CALL_ARGUMENTS if call.get(key) is not None), None)
    rest |= {key: call[key] for key in CALL_ARGUMENTS if key != taken and call.get(key) is not None}
    for inner in (call.get("toolCall"), call.get("function")):
        rest |= without(inner, *said, "value") if isinstance(inner, Mapping) else {}
    return rest


def identity_of(call: Mapping[str, Any]) -> Any:
    """The id by which the result of a call names it."""
    return next((call[key] for key in CALL_IDS if call.get(key) is not None), None)


def answer_of(call: Mapping[str, Any]) -> Any:
    """What came of a call, if it stands in the call itself; an image is no text and stays where it is."""
    if call.get("type") == "image_generation_call":
        return None
    inner = call.get("function")
    for fields in (call, inner, call.get(str(call.get("type")))):
        if isinstance(fields, Mapping):
            for name in OWN_ANSWERS:
                if fields.get(name) is not None:
                    return fields[name]
    return None


def arguments_of(arguments: Any) -> Mapping[str, Any]:
    """Arguments as a mapping; a text that is no JSON object is kept whole under `input`."""
    if isinstance(arguments, str):
        try:
            arguments = orjson.loads(arguments)
        except orjson.JSONDecodeError:
            return {"input": arguments}
    if arguments is None:
        return {}
    return arguments if isinstance(arguments, Mapping) else {"input": arguments}


def several_in(metadata: Mapping[str, Any], role: str) -> list[dict[str, Any]] | None:
    """The results that a message of a tool holds under a name of their own, as messages; None if it holds none."""
    results = next((metadata[name] for name in SEVERAL if metadata.get(name)), None)
    if role != "tool" or not isinstance(results, list):
        return None
    return [_one_of_several(result) if isinstance(result, Mapping) else {"type": "tool_result", "content": result}
            for result in results]  # fmt: skip


def _one_of_several(result: Mapping[str, Any]) -> dict[str, Any]:
    rest = without(result, "call")
    return rest if "role" in rest else {"type": "tool_result", "name": _object(result.get("call")).get("name"), **rest}


def calls_beside(metadata: dict[str, Any]) -> list[Any]:
    """The calls that stand beside the content, taken out of the metadata."""
    written = [call for name in _CALL_LISTS for call in _listed(metadata, name)]
    written += [metadata.pop(name) for name in _ONE_CALL if isinstance(metadata.get(name), Mapping)]
    more = metadata.get("additional_kwargs")
    if not written and isinstance(more, Mapping):
        written = [call for name in _CALL_LISTS for call in more.get(name) or ()]
        written += [more[name] for name in _ONE_CALL if isinstance(more.get(name), Mapping)]
        if isinstance(more.get("tool_call_id"), str):
            metadata.setdefault("tool_call_id", more["tool_call_id"])
            metadata.setdefault("name", more.get("name"))
    return written


def calls_in(content: Any) -> tuple[list[Any], Any]:
    """The calls in a text that is the JSON of calls, and what is left of the content."""
    try:
        value = orjson.loads(content) if isinstance(content, str) else None
    except orjson.JSONDecodeError:
        return [], content
    calls = value if isinstance(value, list) else [value]
    known = all(isinstance(call, Mapping) and isinstance(call.get("name"), str) for call in calls)
    return (calls, None) if calls and known else ([], content)


def result_in(answer: Any) -> Mapping[str, Any]:
    """The answer in a call as a result; one in a list of one part is that of the part."""
    if isinstance(answer, list) and len(answer) == 1 and isinstance(answer[0], Mapping):
        part = plain_part(answer[0])
        if kind_of(part) == "result":
            return part
    return {"content": answer}


def _listed(metadata: dict[str, Any], name: str) -> list[Any]:
    """Take a list, or the JSON of one, out of the metadata; none if there is none."""
    value = metadata.get(name)
    if isinstance(value, str) and value.lstrip()[:1] == "[":
        with suppress(orjson.JSONDecodeError):
            value = orjson.loads(value)
    if not isinstance(value, list | tuple):
        return []
    del metadata[name]
    return list(value)


def without(fields: Mapping[str, Any], *names: str) -> dict[str, Any]:
    """The fields of an object but those named."""
    return {key: value for key, value in fields.items() if key not in names}


def _object(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
