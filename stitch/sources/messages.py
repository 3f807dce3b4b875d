"""From a message, as chat programs and agents write them down, to steps.

More than 400 lines because all forms in which one message may be written stand in one place.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Mapping
from typing import Any

import orjson
from pydantic import ValidationError

from stitch.core import Step, ToolCall
from stitch.errors import StepRejectedError

GOLD_FIELDS = frozenset(
    {"gold", "evidence", "answer", "has_answer", "rewrite", "ground_truth", "is_correct"}
    | {"mistake_agent", "mistake_step", "mistake_reason"}
)
"""What benchmarks know of a step and a memory must not: dropped at the door."""

ROLES = {"human": "user", "gpt": "assistant", "ai": "assistant", "model": "assistant", "bot": "assistant"} | {
    "agent": "assistant", "gemini": "assistant", "environment": "tool", "aimessage": "assistant",
    "humanmessage": "user", "systemmessage": "system", "toolmessage": "tool", "functionmessage": "tool",
    "aimessagechunk": "assistant", "function": "tool",
}  # fmt: skip
"""What other programs call the roles."""

_KNOWN_ROLES = frozenset({*ROLES, "user", "assistant", "system", "developer", "tool", "chatmessage"})
_ROLE_FIELDS = ("role", "from", "sender", "speaker", "author", "source")
_TEXT_FIELDS = ("content", "parts", "text", "value", "message", "system_prompt", "utterance")
_ALIASES = {
    "timestamp": ("created_at", "createdAt", "create_time", "created", "start_time", "ts", "time", "datetime", "date"),
    "parent": ("parent_id", "parentId", "parentUuid", "parent_uuid", "parent_message_id", "reply_to", "in_reply_to"),
    "id": ("uuid", "message_id", "messageId", "step_id", "dia_id"),
    "session": ("session_id", "sessionId", "session_name"),
}
"""Under which other names what a step has a field for may stand."""

_CALL_NAMES = ("name", "tool_name", "toolName", "function_name", "tool", "server_tool")
_CALL_ARGUMENTS = ("arguments", "input", "args", "parameters", "kwargs", "action")
_CALL_IDS = ("id", "call_id", "tool_call_id", "toolCallId", "tool_use_id", "callID", "callId", "source_call_id")
_RESULT_IDS = ("tool_use_id", "tool_call_id", "toolCallId", "call_id", "callID", "callId", "source_call_id", "id")
_ANSWERS = ("content", "output", "result", "response", "toolResult", "value")
_THOUGHTS = ("thinking", "reasoning", "redacted_thinking", "thought")

_PART_MARKS = {"type", "text", "functionResponse", "function_response"}
_REMEMBERED = 32

Row = dict[str, Any]
"""The fields of a `Step`, not yet checked."""


def make_step(row: Row) -> Step:
    """Return `Step(**row)`.

    Raises:
        StepRejectedError: In one line, which field is wrong and why.
    """
    try:
        return Step(**row)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        reason = str(first["msg"]).removeprefix("Value error, ")
        raise StepRejectedError(f"step field {where!r}: {reason}" if where else f"step: {reason}") from None


def is_message(record: Any) -> bool:
    """Whether a record says who speaks and what, calls a tool, or is a tool's result."""
    if not isinstance(record, Mapping):
        return False
    if kind_of(record) is not None and record.get("type") != "message":
        return True
    if "role" in record or _role_in(record) is not None:
        return True
    if isinstance(record.get("kwargs"), Mapping) and isinstance(record.get("id"), list):
        return "content" in record["kwargs"]
    inner = record.get("message", record.get("data", record.get("kwargs")))
    return isinstance(inner, Mapping) and (_role_in(inner) is not None or _role_in(record, typed=True) is not None)


def kind_of(record: Mapping[str, Any]) -> str | None:
    """`call`, `result` or `thought` for items and parts that are no text; None for all others."""
    kind = record.get("type")
    if not isinstance(kind, str):
        return None
    plain = kind.lower().replace("_", "").replace("-", "")
    if plain.endswith(("toolresult", "calloutput", "callresponse", "functionresponse", "toolresponse", "callresult")):
        return "result"
    if kind.startswith("tool-") and "toolCallId" in record and plain not in ("toolerror", "toolapprovalresponse"):
        return "call"
    if plain.endswith(("tooluse", "call", "toolrequest", "toolinvocation")):
        return "call"
    return "thought" if kind in _THOUGHTS else None


class MessageReader:
    """Reads messages of the OpenAI, Anthropic and Gemini kinds and their relatives; one reader a file.

    Content may be a text, null, or a list of parts; tool calls and results may stand in fields or in parts. A message
    that holds tool results becomes one step a result. The reader remembers the names of called tools, because a
    result often names only the id of the call. Gold fields are dropped; whatever else a message has becomes metadata.
    """

    def __init__(self) -> None:
        self.tool_names: dict[str, str] = {}
        """The names of called tools, by the id of the call."""
        self._said: OrderedDict[str, bool] = OrderedDict()

    def rows(self, message: Any, *, speaker: bool = False) -> Iterator[Row]:
        """Yield the steps of a message as rows.

        Args:
            message: One message.
            speaker: The field `name` says who speaks, and is the role.

        Raises:
            StepRejectedError: It is no message.
        """
        if not isinstance(message, Mapping):
            raise StepRejectedError(f"step is not an object but {type(message).__name__}")
        fields = _unwrapped(message)
        kind = kind_of(fields)
        if "role" in fields:
            kind = None
        if kind == "call":
            yield self._called(fields)
        elif kind == "result":
            yield self._result(fields)
        elif kind == "thought":
            yield self._thought(fields)
        else:
            yield from self._spoken(fields, speaker=speaker)

    def said_twice(self, text: str, *, item: bool) -> bool:
        """Whether a text that a log holds in two forms, as an `item` and not as one, was just seen in the other."""
        if self._said.get(text, item) is not item:
            del self._said[text]
            return True
        self._said[text] = item
        if len(self._said) > _REMEMBERED:
            self._said.popitem(last=False)
        return False

    def _spoken(self, fields: dict[str, Any], *, speaker: bool) -> Iterator[Row]:
        field = _role_in(fields) or _role_in(fields, typed=True)
        if field is None:
            if "action" in fields and "observation" in fields:
                yield from self._acted(fields)
                return
            raise StepRejectedError("step has no field 'role'")
        said = fields.pop(field)
        if isinstance(said, Mapping):  # the author of a message, as an object of its own
            said = fields.setdefault("author", said).get("role")
        metadata = _metadata_of(fields)
        row: Row = {"role": ROLES.get(said.lower(), said), "metadata": metadata}
        if row["role"] != said:
            metadata["role"] = said
        for name in ("id", "timestamp", "session", "parent", "tool_name"):
            if (value := _taken(metadata, name)) is not None:
                row[name] = value
        if speaker and isinstance(metadata.get("name"), str):
            metadata["role"] = said
            row["role"] = metadata.pop("name")
        named = [name for name in _TEXT_FIELDS if name in metadata]
        field = next((name for name in named if metadata[name]), named[0] if named else None)
        content = metadata.pop(field) if field else None
        if isinstance(content, Mapping) and isinstance(content.get("parts"), list):
            metadata.update({key: value for key, value in content.items() if key != "parts"})
            content = content["parts"]
        written = [call for name in ("tool_calls", "toolCalls") for call in _listed(metadata, name)]
        written += [
            metadata.pop(name) for name in ("function_call", "functionCall") if isinstance(metadata.get(name), Mapping)
        ]
        calls = [self._call(call) for call in written]
        if beyond := [rest for call in written if (rest := _beyond_call(call))]:
            metadata["calls"] = beyond
        texts: list[str] = []
        results: list[Row] = []
        after: list[Row] = []
        # A tool's result may be any JSON value; only a list is a list of parts.
        whole = row["role"] == "tool" and not _has_parts(content)
        for part in content if isinstance(content, list) and not whole else [text_of(content)]:
            self._take_in(part, row=row, texts=texts, calls=calls, results=results, after=after)
        observed = metadata.get("observation") if isinstance(metadata.get("observation"), Mapping) else None
        yield from results
        if texts or calls or not results:
            self._name_result(row)
            yield {**row, "content": "\n".join(texts), "tool_calls": tuple(calls)}
        yield from after
        if observed is not None and isinstance(observed.get("results"), list):
            metadata.pop("observation")
            for result in observed["results"]:
                if isinstance(result, Mapping):
                    yield {**_moment(row), **self._result(result)}

    def _acted(self, fields: dict[str, Any]) -> Iterator[Row]:
        """An entry of thought, action and observation: what was done with which tool, and what came of it."""
        metadata = _metadata_of(fields)
        action, observed = metadata.pop("action"), metadata.pop("observation", None)
        row: Row = {"role": "assistant", "metadata": metadata}
        row |= {name: value for name in ("id", "timestamp") if (value := _taken(metadata, name)) is not None}
        row["content"] = text_of(metadata.pop("thought", None) or metadata.pop("response", None))
        if isinstance(action, Mapping):
            call = self._call({"name": "action", **action})
        else:
            said = text_of(action)
            call = ToolCall(name=(said.replace("(", " ").replace("[", " ").split() or ["action"])[0][:512],
                            arguments={"input": said})  # fmt: skip
        yield {**row, "tool_calls": (call,)}
        if observed is not None:
            yield {**_moment(row), "role": "tool", "tool_name": call.name, "content": text_of(observed)}

    def _take_in(
        self,
        part: Any,
        *,
        row: Row,
        texts: list[str],
        calls: list[ToolCall],
        results: list[Row],
        after: list[Row],
    ) -> None:
        """Add a part of a message to where it belongs; what is no text and no tool goes to the metadata.

        Results of earlier calls come before what the message says; those of its own calls come `after`.
        """
        if part is None or part == "":
            return
        if isinstance(part, str):
            texts.append(part)
            return
        if not isinstance(part, Mapping):
            texts.append(text_of(part))
            return
        part = _inner_of(part)
        kind = kind_of(part)
        if kind == "call" or (kind is None and row["role"] == "assistant" and _is_call(part)):
            calls.append(self._call(part))
            if beyond := _beyond_call(part):
                row["metadata"].setdefault("parts", []).append(beyond)
            # Some programs write the result into the part of the call.
            if answers := [name for name in ("output", "result") if part.get(name) is not None]:
                answer = {
                    "type": "tool_result",
                    "id": calls[-1].id,
                    "name": calls[-1].name,
                    "content": part[answers[0]],
                }
                after.append({**_moment(row), **self._result(answer)})
        elif kind == "result":
            results.append({**_moment(row), **self._result(part, beside=row["metadata"])})
        else:
            text = part.get("text", part.get("content"))
            if isinstance(text, Mapping):  # a text with its annotations
                text = text.get("value")
            if isinstance(text, str) and kind != "thought" and part.get("thought") is not True:
                texts.append(text)
                rest = {key: value for key, value in part.items() if value and part[key] != text and key != "type"}
                if rest:
                    row["metadata"].setdefault("parts", []).append(rest)
            else:
                row["metadata"].setdefault("parts", []).append(dict(part))

    def _called(self, fields: dict[str, Any]) -> Row:
        call = self._call(fields)
        taken = (*_CALL_NAMES, *_CALL_ARGUMENTS[:3], "call_id", "type", "function")
        rest = {key: value for key, value in fields.items() if key not in taken}
        if fields.get("call_id") is None:
            rest.pop("id", None)
        row: Row = {"role": "assistant", "content": "", "tool_calls": (call,), "metadata": _metadata_of(rest)}
        row |= {name: value for name in ("timestamp", "parent") if (value := _taken(row["metadata"], name)) is not None}
        if fields.get("type") not in ("function_call", "tool_use", "tool_call"):
            row["metadata"]["type"] = fields.get("type")
        return row

    def _result(self, fields: Mapping[str, Any], *, beside: Mapping[str, Any] | None = None) -> Row:
        """A tool's result, with what stands `beside` it in its message."""
        rest = {key: value for key, value in fields.items() if key != "type"}
        reference = next((rest.pop(name) for name in _RESULT_IDS if rest.get(name) is not None), None)
        field = next((name for name in _ANSWERS if rest.get(name) is not None), None)
        answer = rest.pop(field) if field else None
        metadata = _metadata_of({**(beside or {}), **rest})
        named = next((metadata.pop(name) for name in _CALL_NAMES if isinstance(metadata.get(name), str)), None)
        row: Row = {"role": "tool", "content": text_of(answer), "metadata": metadata}
        row |= {name: value for name in ("timestamp", "parent") if (value := _taken(metadata, name)) is not None}
        if reference is not None:
            metadata["tool_call_id"] = str(reference)
        return {**row, "tool_name": named or self.tool_names.get(str(reference)) or "tool"}

    def _thought(self, fields: dict[str, Any]) -> Row:
        """A thought that stands as an item of its own; one without words is named by its kind."""
        metadata = _metadata_of(fields)
        texts = [text_of(metadata.pop(name)) for name in ("summary", "content", "text", "thinking") if name in metadata]
        said = "\n".join(text for text in texts if text.strip() and text not in ("[]", "{}"))
        row: Row = {"role": "assistant", "content": said or str(fields["type"]), "metadata": metadata}
        return row | {name: value for name in ("timestamp",) if (value := _taken(metadata, name)) is not None}

    def _name_result(self, row: Row) -> None:
        """Name the tool whose result a message of the role `tool` is."""
        if row["role"] != "tool" or "tool_name" in row:
            return
        metadata = row["metadata"]
        references = metadata.get("tool_call_ids") or [
            metadata[name] for name in _RESULT_IDS[:-1] if metadata.get(name) is not None
        ]
        known = (self.tool_names.get(str(reference)) for reference in references)
        named = metadata.pop("name", None) or metadata.pop("toolName", None)
        row["tool_name"] = named or next(filter(None, known), "tool")

    def _call(self, call: Any) -> ToolCall:
        inner = call.get("function", call) if isinstance(call, Mapping) else None
        if isinstance(inner, str):
            inner = {**call, "name": inner}
        if isinstance(inner, Mapping) and isinstance(inner.get("toolCall"), Mapping):
            inner = {**inner["toolCall"], **inner["toolCall"].get("value", {})}
        name = next((inner[key] for key in _CALL_NAMES if isinstance(inner.get(key), str)), None) if inner else None
        if name is None and isinstance(call, Mapping) and isinstance(call.get("type"), str) and kind_of(call):
            # Calls of tools that a provider runs itself: "web_search_call", "tool-weather".
            name = None if call["type"] in ("function_call", "tool_use", "tool_call", "tool-call") else call["type"]
            name = name.removesuffix("_call").removeprefix("tool-") if name else None
        if not isinstance(inner, Mapping) or name is None:
            raise StepRejectedError("tool call has no name")
        given = next((inner[key] for key in _CALL_ARGUMENTS if inner.get(key) is not None), None)
        ids = ("call_id", *_CALL_IDS)
        identity = next((call[key] for key in ids if call.get(key) is not None), None)
        try:
            made = ToolCall(name=name, arguments=_arguments_of(given), id=None if identity is None else str(identity))
        except ValidationError as error:
            raise StepRejectedError(f"tool call {name!r}: {error.errors()[0]['msg']}") from None
        if made.id is not None:
            self.tool_names[made.id] = made.name
        return made


def text_of(content: Any) -> str:
    """The text of a content: of a list of parts, the text parts, one below the other; of other values, their JSON."""
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if isinstance(content, list) and content and all(isinstance(part, str | Mapping) for part in content):
        texts = [part if isinstance(part, str) else part.get("text") for part in content]
        if all(isinstance(text, str) for text in texts):
            return "\n".join(filter(None, texts))
    return orjson.dumps(content).decode()


def _unwrapped(message: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a message without gold and nulls; of one inside an envelope, with those of the envelope."""
    fields = {key: value for key, value in message.items() if value is not None and key not in GOLD_FIELDS}
    if _role_in(fields) is not None:
        return fields
    for name in ("message", "data", "kwargs"):
        inner = fields.get(name)
        if not isinstance(inner, Mapping):
            continue
        kept = {key: value for key, value in inner.items() if value is not None and key not in GOLD_FIELDS}
        outer = {key: value for key, value in fields.items() if key != name}
        if name == "kwargs" and isinstance(outer.get("id"), list) and outer["id"]:
            kept.setdefault("role", str(outer.pop("id")[-1]))
            return {**{k: v for k, v in outer.items() if k not in ("lc", "type")}, **kept}
        if _role_in(kept) is not None or _role_in(outer, typed=True) is not None:
            return {**outer, **kept}
    return fields


def _role_in(fields: Mapping[str, Any], *, typed: bool = False) -> str | None:
    """The field that says who speaks; with `typed`, the field `type` may."""
    for name in _ROLE_FIELDS:
        value = fields.get(name)
        if isinstance(value, Mapping) and name == "author" and isinstance(value.get("role"), str):
            return name
        if isinstance(value, str) and value.strip() and (name != "source" or any(f in fields for f in _TEXT_FIELDS)):
            return name
    kind = fields.get("type")
    has_text = any(name in fields for name in _TEXT_FIELDS)
    return "type" if isinstance(kind, str) and kind.lower() in _KNOWN_ROLES and (typed or has_text) else None


def _inner_of(part: Mapping[str, Any]) -> Mapping[str, Any]:
    """A part in the form with a `type`, if it says by its only field what it is, as those of Gemini do."""
    for names, kind in ((("functionCall", "function_call", "toolInvocation"), "tool_call"),
                        (("functionResponse", "function_response"), "tool_result")):  # fmt: skip
        for name in names:
            if isinstance(part.get(name), Mapping):
                rest = {key: value for key, value in part.items() if key not in (name, "type")}
                return {**rest, **part[name], "type": kind}
    return part


def _beyond_call(call: Mapping[str, Any]) -> dict[str, Any]:
    """What a call says beside its name, arguments, id and result."""
    said = ("type", "function", "index", "output", "result", "toolCall", *_CALL_NAMES, *_CALL_ARGUMENTS, *_CALL_IDS)
    rest = {key: value for key, value in call.items() if key not in said and value is not None}
    if isinstance(inner := call.get("toolCall"), Mapping):
        rest |= {key: value for key, value in inner.items() if key not in (*said, "value")}
    return rest


def _is_call(part: Mapping[str, Any]) -> bool:
    return isinstance(part.get("name"), str) and "arguments" in part and "text" not in part


def _has_parts(content: Any) -> bool:
    return isinstance(content, list) and all(
        isinstance(part, str) or (isinstance(part, Mapping) and bool(_PART_MARKS & part.keys())) for part in content
    )


def _listed(metadata: dict[str, Any], name: str) -> list[Any]:
    """Take a list out of the metadata; none if there is none."""
    value = metadata.get(name)
    return list(metadata.pop(name)) if isinstance(value, list | tuple) else []


def _taken(metadata: dict[str, Any], name: str) -> Any:
    """Take what a step has a field for out of the metadata, whatever it is called there."""
    kinds = (str, int, float) if name == "timestamp" else (str, int)
    for alias in (name, *_ALIASES.get(name, ())):
        value = metadata.get(alias)
        if isinstance(value, kinds) and not isinstance(value, bool) and value != "":
            return metadata.pop(alias)
        if alias == name and value is not None:
            return metadata.pop(alias)  # of the wrong type: the step says so
    return None


def _moment(row: Row) -> Row:
    return {key: row[key] for key in ("timestamp", "session", "parent") if key in row}


def _metadata_of(fields: Mapping[str, Any]) -> dict[str, Any]:
    """The fields as metadata, those that a row calls `metadata` among them."""
    metadata = {key: value for key, value in fields.items() if value is not None and key != "trajectory"}
    inner = metadata.pop("metadata", None)
    return {**metadata, **inner} if isinstance(inner, Mapping) else metadata


def _arguments_of(arguments: Any) -> Mapping[str, Any]:
    """Arguments as a mapping; a text that is no JSON object is kept whole under `input`."""
    if isinstance(arguments, str):
        try:
            arguments = orjson.loads(arguments)
        except orjson.JSONDecodeError:
            return {"input": arguments}
    if arguments is None:
        return {}
    return arguments if isinstance(arguments, Mapping) else {"input": arguments}
