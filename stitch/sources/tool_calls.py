"""The calls of tools in a file, and their results, in whichever of the forms in use they are written down."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Any

import orjson
from pydantic import ValidationError

from stitch.core import ToolCall
from stitch.errors import StepRejectedError
from stitch.sources.fields import TEXT_FIELDS, Row, metadata_of, taken_of
from stitch.sources.parts import (
    beyond_texts,
    first_of,
    has_parts,
    kind_of,
    object_in,
    plain_part,
    text_of,
    unwritten,
    without,
)

LAST_CALLED = ""
"""Under this id stands the tool that was called last: an observation answers it and names none."""
_NAMES = ("name", "tool_name", "toolName", "function_name", "functionName", "tool", "server_tool")
_ARGUMENTS = ("arguments", "input", "args", "parameters", "kwargs", "tool_kwargs", "action", "queries", "code",
              "params_as_json")  # fmt: skip
_IDS = ("call_id", "toolUseID", "tool_call_id", "toolCallId", "tool_use_id", "toolUseId", "callID",
        "toolCallRequestId", "callId", "source_call_id", "id")  # fmt: skip
RESULT_IDS = ("toolUseID", "tool_use_id", "toolUseId", "tool_call_id", "toolCallId", "call_id", "callID",
              "toolCallRequestId", "callId", "source_call_id", "id")  # fmt: skip
_ANSWERS = ("content", "output", "result", "response", "toolResult", "value", "outputs", "tool_return",
            "extracted_content", "result_value")  # fmt: skip
_OWN_ANSWERS = ("output", "result", "outputs", "errorText", "results", "error")
"""Where a call holds what came of it, if whoever wrote it down waited for that."""
_CAME = ("observation", "obs", "result", "observations", "error")
"""Where a step of an agent holds what came of its actions."""
SEVERAL = ("tool_messages", "tool_results", "toolResults", "tool_responses")
"""Under which names a message of a tool holds several results."""
_LISTS = ("tool_calls", "toolCalls", "toolInvocations", "toolRequests")
_ALONE = ("function_call", "functionCall")
_NAMED_BY_KIND = ("queries", "code")
"""Arguments that keep their name if they are no object."""
_PLAIN_KINDS = ("function_call", "tool_use", "tool_call", "tool-call")

_OUTCOMES = ("failure", "success")
_FAILING = ("error-text", "error-json")
_FAILED = frozenset({"error", "failed", "failure", "output-error", "output-denied", "cancelled", "status_code_error",
                     "2", *_FAILING})  # fmt: skip
_PACKED = ('{"output":', '[{"type":"text"')
_ENDED = re.compile(r"^(?:Exit code:|Process exited with code) (?P<code>\d{1,3})$", re.MULTILINE)
_HEAD_CHARS = 200
"""How a result begins that says the exit code in its text."""
_CODES = ("exit_code", "exitCode", "returncode", "return_code", "exit_status")


def outcome_told(fields: Mapping[str, Any]) -> str | None:
    """`failure` or `success`, where flags beside a result tell one; None where none does.

    Exit code 1 tells neither: to a search it means that there was nothing.
    """
    if fields.get("outcome") in _OUTCOMES:
        return str(fields["outcome"])
    code = next((fields[name] for name in _CODES if type(fields.get(name)) is int), None)
    flags = (fields.get("is_error") is True, fields.get("isError") is True, fields.get("success") is False)
    marks = (
        *flags,
        str(fields.get("level")).upper() == "ERROR",
        bool(fields.get("error") or fields.get("errorText")),
        not _FAILED.isdisjoint(_states_of(fields)),
    )
    if any(marks) or code not in (None, 0, 1):
        return "failure"
    return "success" if code == 0 else None


def _states_of(fields: Mapping[str, Any]) -> Iterator[str]:
    for value in (fields.get("status"), fields.get("state"), fields.get("type")):
        names = ("code", "status_code", "status")
        inner = [value.get(name) for name in names] if isinstance(value, Mapping) else [value]
        yield from (str(one).lower() for one in inner)


class ToolCalls:
    """Reads calls and results; remembers which tools were called, for a result often names the id of its call alone."""

    def __init__(self) -> None:
        self.names: dict[str, str] = {}
        """The names of called tools, by the id of the call."""

    def call(self, written: Any) -> ToolCall:
        """The call that is written down in any of the forms in use.

        Raises:
            StepRejectedError: It names no tool.
        """
        name, fields = _named(written)
        if name is None or not isinstance(fields, Mapping):
            raise StepRejectedError("tool call has no name")
        identity = identity_of(written)
        try:
            call = ToolCall(name=name, arguments=_arguments_in(fields), id=None if identity is None else str(identity))
        except ValidationError as error:
            raise StepRejectedError(f"tool call {name!r}: {error.errors()[0]['msg']}") from None
        if call.id is not None:
            self.names[call.id] = call.name
        self.names[LAST_CALLED] = call.name
        return call

    def result(self, fields: Mapping[str, Any], *, beside: Mapping[str, Any] | None = None) -> Row:
        """A tool's result, with what stands `beside` it in its message."""
        rest = without(fields, "type", "own")
        reference = _first_taken(rest, RESULT_IDS)
        rest = {**without(rest, "run"), **object_in(rest, "run")}
        answer = _first_taken(rest, _ANSWERS)
        if answer is None:
            answer = first_of(rest.get("error"), ("message",), str) or rest.get("error") or rest.get("reason")
        if isinstance(answer, Mapping) and has_parts(answer.get("content")) and answer["content"]:
            answer, rest = answer["content"], {**without(answer, "content"), **rest}  # as servers of MCP answer
        answer, rest = _unwrapped(answer, rest)
        if isinstance(answer, str) and (ended := _ENDED.search(answer, 0, _HEAD_CHARS)) is not None:
            rest = {"exit_code": int(ended["code"]), **rest}
        metadata = metadata_of({**(beside or {}), **rest})
        if isinstance(answer, list) and (more := beyond_texts(answer)):
            metadata["parts"] = [*metadata.get("parts", ()), *more]
        named = _first_taken(metadata, _NAMES, str)
        if first_of(answer, ("type",)) in _FAILING:
            metadata["outcome"], answer = "failure", answer.get("value", answer)
        row: Row = {"role": "tool", "content": text_of(answer), "metadata": metadata}
        row |= taken_of(metadata, "timestamp", "parent")
        if reference is not None:
            metadata["tool_call_id"] = str(reference)
        return {**row, "tool_name": named or self.name_of([reference])}

    def own_result(self, written: Any, call: ToolCall) -> Row | None:
        """The result that stands in a call itself, if whoever wrote it down waited for that."""
        answer = answer_of(written) if isinstance(written, Mapping) else None
        if answer is None:
            return None
        part = plain_part(answer[0]) if isinstance(answer, list) and len(answer) == 1 and isinstance(
            answer[0], Mapping) else {}  # fmt: skip
        row = self.result(part if kind_of(part) == "result" else {"content": answer})
        row["tool_name"] = call.name
        if call.id is not None:
            row["metadata"]["tool_call_id"] = call.id
        if told := outcome_told(written):
            row["metadata"].setdefault("outcome", told)
        return row

    def acted(self, fields: dict[str, Any]) -> tuple[tuple[ToolCall, ...], list[Row]]:
        """The actions of a step of an agent as calls, taken out of its fields, and what came of each as its result."""
        action = fields.pop("action", None) or calls_beside(fields)
        came = _came_of(fields)
        if not isinstance(action, list):
            action, came = [action], [] if came is None else [text_of(came)]
        calls = tuple(self._action(one, fields) for one in action)
        results: list[Row] = []
        for number, one in enumerate(came if isinstance(came, list) else [came] if came else []):
            told = self.result(one) if isinstance(one, Mapping) else {"role": "tool", "content": text_of(one)}
            of = calls[-1:] if len(calls) == 1 or not isinstance(came, list) else calls[number : number + 1]
            results.append({**told, "tool_name": of[0].name if of else "tool"})
        return calls, results

    def _action(self, action: Any, fields: dict[str, Any]) -> ToolCall:
        """The call that an action is: an object, also one that its name holds, or a text."""
        if isinstance(action, Mapping):
            name, given = next(iter(action.items())) if len(action) == 1 else ("action", None)
            return self.call({"name": name, "arguments": given} if isinstance(given, Mapping) else
                             {"name": "action", **action})  # fmt: skip
        said, given = text_of(action), fields.pop("action_input", None)
        return ToolCall(name=(said.replace("(", " ").replace("[", " ").split() or ["action"])[0][:512],
                        arguments={"input": said} if given is None else arguments_of(given))  # fmt: skip

    def name_of(self, references: Iterable[Any]) -> str:
        """The tool of the first call that is known by one of the ids; `tool` if none is."""
        return next(filter(None, (self.names.get(str(reference)) for reference in references)), "tool")


def _came_of(fields: dict[str, Any]) -> Any:
    """Take what came of actions out of the fields; an error is told as that of a result."""
    under = next((name for name in _CAME if fields.get(name)), "")
    came = fields.pop(under, None)
    return {under: came} if under == "error" and isinstance(came, Mapping) else came


def _unwrapped(answer: Any, rest: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """An answer without the object or the JSON that a program puts around its text, and what stands beside it."""
    inner = unwritten(answer) if isinstance(answer, str) and answer.startswith(_PACKED) else answer
    if isinstance(inner, Mapping) and isinstance(inner.get("output"), str) and inner.keys() <= {
            "output", "metadata", *_CODES}:  # fmt: skip
        return inner["output"], {**rest, **without(inner, "output", "metadata"), **object_in(inner, "metadata")}
    if isinstance(inner, list):
        return inner, rest
    if isinstance(inner, Mapping) and list(inner) == ["error"] and isinstance(inner["error"], str):
        return inner["error"], {**rest, "outcome": "failure"}
    return answer, rest


def _named(call: Any) -> tuple[str | None, Any]:
    """The name of the tool that is called, if there is one, and the object that holds the arguments."""
    if not isinstance(call, Mapping):
        return None, None
    inner = call.get("function", call)
    if isinstance(inner, str):
        inner = {**call, "name": inner}
    if made := first_of(inner, ("toolCall",), Mapping):
        inner = {**made, **made.get("value", {})}
    name, kind = first_of(inner, _NAMES, str), call.get("type")
    if name is not None or not isinstance(kind, str):
        return name, inner
    if isinstance(own := call.get(kind), Mapping):  # a tool that the provider runs itself, in a field of its own
        given = without(own, "outputs")
        return kind, given if any(key in given for key in _ARGUMENTS) else {"arguments": given}
    if not kind_of(call) or kind in _PLAIN_KINDS:
        return None, inner
    return kind.removesuffix("_call").removeprefix("tool-") or None, inner  # "web_search_call", "tool-weather"


def _arguments_in(fields: Mapping[str, Any]) -> Mapping[str, Any]:
    """The arguments of a call, under whichever name they stand; lists of queries and code keep theirs."""
    given = _given_in(fields)
    if given is None:
        return {}
    written = fields[given]
    return arguments_of({given: written} if given in _NAMED_BY_KIND and not isinstance(written, Mapping) else written)


def _given_in(fields: Mapping[str, Any]) -> str | None:
    return next((key for key in _ARGUMENTS if fields.get(key) is not None), None)


def arguments_of(arguments: Any) -> Mapping[str, Any]:
    """Arguments as a mapping; a text that is no JSON object is kept whole under `input`."""
    if isinstance(arguments, str):
        with suppress(orjson.JSONDecodeError):
            arguments = orjson.loads(arguments)
    arguments = {} if arguments is None else arguments
    return arguments if isinstance(arguments, Mapping) else {"input": arguments}


def _first_taken(fields: dict[str, Any], names: Iterable[str], kind: type = object) -> Any:
    """Take the first of these fields that has a value of a kind out of the others."""
    return next(
        (fields.pop(name) for name in names if fields.get(name) is not None and isinstance(fields[name], kind)), None
    )


def identity_of(call: Mapping[str, Any]) -> Any:
    """The id by which the result of a call names it."""
    return first_of(call, _IDS)


def answer_of(call: Mapping[str, Any]) -> Any:
    """Result of a call, if it stands in the call itself; an image is no text and stays where it is."""
    if call.get("type") == "image_generation_call":
        return None
    holders = (call, call.get("function"), call.get(str(call.get("type"))))
    answer = next((found for fields in holders if (found := first_of(fields, _OWN_ANSWERS)) is not None), None)
    refused = answer is None and object_in(call, "approval").get("approved") is False
    return first_of(call["approval"], ("reason",), str) or "denied" if refused else answer


def beyond_call(call: Mapping[str, Any]) -> dict[str, Any]:
    """Fields of a call beside its name, arguments, id and result."""
    answers = () if answer_of(call) is None else _OWN_ANSWERS
    said = {"type", "function", "index", "toolCall", *answers, *_NAMES, *_ARGUMENTS, *_IDS}
    said |= {"outcome"} if call.get("outcome") in _OUTCOMES else set()
    said -= {name for name in _ARGUMENTS if name != _given_in(call)}
    own = identity_of(call)
    rest = {key: value for key, value in call.items() if value is not None and (
        key not in said or (key == "id" and value != own))}  # fmt: skip
    for inner in (object_in(call, "toolCall"), object_in(call, "function")):
        rest |= without(inner, *said, *_ARGUMENTS, "value")
    return rest


def is_call(part: Mapping[str, Any]) -> bool:
    """Whether a part without a kind is a call, as some agents write theirs."""
    return isinstance(part.get("name"), str) and "arguments" in part and "text" not in part


def calls_beside(metadata: dict[str, Any]) -> list[Any]:
    """The calls that stand beside the content, taken out of the metadata."""
    written = [call for name in _LISTS for call in _listed(metadata, name)]
    written += [metadata.pop(name) for name in _ALONE if isinstance(metadata.get(name), Mapping)]
    more = metadata.get("additional_kwargs")
    if not written and isinstance(more, Mapping):
        written = [call for name in _LISTS for call in more.get(name) or ()]
        written += [more[name] for name in _ALONE if isinstance(more.get(name), Mapping)]
        if isinstance(more.get("tool_call_id"), str):
            metadata.setdefault("tool_call_id", more["tool_call_id"])
            metadata.setdefault("name", more.get("name"))
    return written


def _listed(metadata: dict[str, Any], name: str) -> list[Any]:
    """Take a list, or the JSON of one, out of the metadata; none if there is none."""
    value = unwritten(metadata.get(name))
    if not isinstance(value, list | tuple):
        return []
    del metadata[name]
    return list(value)


def several_in(metadata: Mapping[str, Any], role: str) -> list[dict[str, Any]] | None:
    """The results that a message of a tool, or one that says nothing else, holds as messages; None if it has none."""
    results = next((metadata[name] for name in SEVERAL if metadata.get(name)), None)
    says = role != "tool" and any(metadata.get(name) for name in (*TEXT_FIELDS, *_LISTS))
    if says or not isinstance(results, list):
        return None
    return [_one_of_several(result) if isinstance(result, Mapping) else {"type": "tool_result", "content": result}
            for result in results]  # fmt: skip


def _one_of_several(result: Mapping[str, Any]) -> dict[str, Any]:
    rest, call = without(result, "call"), result.get("call")
    name = call.get("name") if isinstance(call, Mapping) else None
    if "role" in rest or kind_of(rest) is not None:
        return rest
    return {"name": name, **rest, "type": "tool_result", "kind": rest.get("type")}


_CALL_CHARS, _CALLS = 20_000, 200
"""The longest text that is parsed for calls: a parser of Python can be made to break by what is nested deeper."""
_TAGGED = re.compile(r"<tool_call>(?P<call>[^<]*(?:<(?!/?tool_call>)[^<]*)*)</tool_call>")
_ELEMENT = re.compile(
    r"<(?P<name>[a-z]+(?:_[a-z]+)+)>\s*(?P<given>(?:<(\w+)>(?:(?!</\3>).)*</\3>\s*)+)</(?P=name)>\s*$", re.DOTALL
)
_GIVEN = re.compile(r"<(?P<name>\w+)>(?P<value>.*?)</(?P=name)>", re.DOTALL)
_ACTION = re.compile(r"(?:^|\n)Action[ \t]*:[ \t]*(?P<name>\S[^\n]{0,199})\nAction Input[ \t]*:(?P<given>[\s\S]*)$")


def calls_in(content: Any) -> tuple[list[Any], Any]:
    """The calls in a text that is the JSON of calls, and what is left of the content."""
    value = unwritten(content) if isinstance(content, str) else None
    calls = value if isinstance(value, list) else [value]
    known = all(isinstance(call, Mapping) and isinstance(call.get("name"), str) for call in calls)
    return (calls, None) if calls and known else ([], content)


def spoken_calls(text: str) -> list[dict[str, Any]]:
    """The calls in what an assistant says: in tags, as an element at its end, as `Action` with input, or as Python."""
    if "<tool_call>" in text:
        return [call for found in _TAGGED.finditer(text) for call in calls_in(found["call"].strip())[0]]
    if text.rstrip().endswith(">") and (found := _ELEMENT.search(text, max(0, len(text) - _CALL_CHARS))) is not None:
        arguments = {one["name"]: one["value"].strip() for one in _GIVEN.finditer(found["given"])}
        return [{"name": found["name"], "arguments": arguments}]
    if "Action Input" in text and (found := _ACTION.search(text)) is not None:
        given = found["given"].split("\nObservation", 1)[0].strip()
        return [{"name": found["name"].strip(), "arguments": given or None}]
    return called_in(text) if text.lstrip().startswith("[") and text.rstrip().endswith(")]") else []


def called_in(text: str) -> list[dict[str, Any]]:
    """The calls in a text that is calls in the form of Python, such as `[cd(folder="x"), ls()]`; else none."""
    if len(text) > _CALL_CHARS or not text.rstrip().endswith((")", "]")) or text.count("(") > _CALLS:
        return []
    try:
        body = ast.parse(text.strip(), mode="eval").body
        nodes = body.elts if isinstance(body, ast.List | ast.Tuple) else [body]
        calls = []
        for node in nodes:
            if not isinstance(node, ast.Call):
                return []
            arguments = {str(number): ast.literal_eval(value) for number, value in enumerate(node.args)}
            arguments |= {str(given.arg): ast.literal_eval(given.value) for given in node.keywords}
            calls.append({"name": ast.unparse(node.func), "arguments": orjson.loads(orjson.dumps(arguments))})
    except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
        return []
    return calls
