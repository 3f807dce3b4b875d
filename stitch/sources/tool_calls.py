"""The calls of tools in a file, and their results, in whichever of the forms in use they are written down."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import orjson
from pydantic import ValidationError

from stitch.core import ToolCall
from stitch.errors import StepRejectedError
from stitch.sources.fields import Row, metadata_of, taken_of
from stitch.sources.parts import (
    ANSWERS,
    CALL_ARGUMENTS,
    CALL_NAMES,
    RESULT_IDS,
    arguments_of,
    beyond_texts,
    calls_in,
    has_parts,
    identity_of,
    kind_of,
    text_of,
    without,
)

LAST_CALLED = ""
"""Under this id stands the tool that was called last: an observation answers it and names none."""
_NAMED_BY_KIND = ("queries", "code")
"""Arguments that keep their name if they are no object."""


OUTCOMES = ("failure", "success")
_FAILING = ("error-text", "error-json")
_FAILED = frozenset({"error", "failed", "failure", "output-error", "status_code_error", "2", *_FAILING})
_CODES = ("exit_code", "exitCode", "returncode", "return_code", "exit_status")


def outcome_told(fields: Mapping[str, Any]) -> str | None:
    """`failure` or `success`, where flags beside a result tell one; None where none does.

    Exit code 1 tells neither: to a search it means that there was nothing.
    """
    if fields.get("outcome") in OUTCOMES:
        return str(fields["outcome"])
    code = next((fields[name] for name in _CODES if type(fields.get(name)) is int), None)
    flags = (fields.get("is_error") is True, fields.get("isError") is True, fields.get("success") is False)
    marks = (*flags, bool(fields.get("error") or fields.get("errorText")), not _FAILED.isdisjoint(_states_of(fields)))
    if any(marks) or code not in (None, 0, 1):
        return "failure"
    return "success" if code == 0 else None


def _states_of(fields: Mapping[str, Any]) -> Iterator[str]:
    for value in (fields.get("status"), fields.get("state"), fields.get("type")):
        inner = (
            [value.get(name) for name in ("code", "status_code", "status")] if isinstance(value, Mapping) else [value]
        )
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
        answer, failed = _answer_taken(rest), rest.get("error")
        if answer is None and failed:
            answer = failed
        if isinstance(answer, Mapping) and has_parts(answer.get("content")) and answer["content"]:
            answer, rest = answer["content"], {**without(answer, "content"), **rest}  # as servers of MCP answer
        metadata = metadata_of({**(beside or {}), **rest})
        if isinstance(answer, list) and (more := beyond_texts(answer)):
            metadata["parts"] = [*metadata.get("parts", ()), *more]
        named = next((metadata.pop(name) for name in CALL_NAMES if isinstance(metadata.get(name), str)), None)
        if isinstance(answer, Mapping) and answer.get("type") in _FAILING:
            metadata["outcome"], answer = "failure", answer.get("value", answer)
        row: Row = {"role": "tool", "content": text_of(answer), "metadata": metadata}
        row |= taken_of(metadata, "timestamp", "parent")
        if reference is not None:
            metadata["tool_call_id"] = str(reference)
        return {**row, "tool_name": named or self.name_of([reference])}

    def name_of(self, references: Iterable[Any]) -> str:
        """The tool of the first call that is known by one of the ids; `tool` if none is."""
        return next(filter(None, (self.names.get(str(reference)) for reference in references)), "tool")


def _named(call: Any) -> tuple[str | None, Any]:
    """The name of the tool that is called, if there is one, and the object that holds the arguments."""
    if not isinstance(call, Mapping):
        return None, None
    inner = call.get("function", call)
    if isinstance(inner, str):
        inner = {**call, "name": inner}
    if isinstance(inner, Mapping) and isinstance(inner.get("toolCall"), Mapping):
        inner = {**inner["toolCall"], **inner["toolCall"].get("value", {})}
    name = next((inner[key] for key in CALL_NAMES if isinstance(inner.get(key), str)), None) if inner else None
    if name is None and isinstance(call.get("type"), str):
        return _provided(call, inner)
    return name, inner


def _provided(call: Mapping[str, Any], inner: Any) -> tuple[str | None, Any]:
    """The name of a tool that a provider runs itself, and what its call holds."""
    kind = call["type"]
    if isinstance(own := call.get(kind), Mapping):  # a tool of the provider, in a field of its own
        given = without(own, "outputs")
        return kind, given if any(key in given for key in CALL_ARGUMENTS) else {"arguments": given}
    if not kind_of(call) or kind in ("function_call", "tool_use", "tool_call", "tool-call"):
        return None, inner
    return kind.removesuffix("_call").removeprefix("tool-") or None, inner  # "web_search_call", "tool-weather"


def _arguments_in(fields: Mapping[str, Any]) -> Mapping[str, Any]:
    """The arguments of a call, under whichever name they stand; lists of queries and code keep theirs."""
    given = next((key for key in CALL_ARGUMENTS if fields.get(key) is not None), None)
    if given is None:
        return {}
    written = fields[given]
    return arguments_of({given: written} if given in _NAMED_BY_KIND and not isinstance(written, Mapping) else written)


def _first_taken(fields: dict[str, Any], names: Iterable[str]) -> Any:
    """Take the first of these fields that has a value out of the others."""
    return next((fields.pop(name) for name in names if fields.get(name) is not None), None)


def _answer_taken(fields: dict[str, Any]) -> Any:
    """Take what a tool answered out of the other fields of its result."""
    answer = _first_taken(fields, ANSWERS)
    run = fields.get("run")
    if answer is not None or not isinstance(run, Mapping) or run.get("result") is None:
        return answer
    fields["run"] = without(run, "result")
    return run["result"]


_CALL_CHARS, _CALLS = 20_000, 200
"""The longest text that is parsed for calls: a parser of Python can be made to break by what is nested deeper."""
_TAGGED = re.compile(r"<tool_call>(?P<call>[^<]*(?:<(?!/?tool_call>)[^<]*)*)</tool_call>")
_ACTION = re.compile(r"(?:^|\n)Action[ \t]*:[ \t]*(?P<name>\S[^\n]{0,199})\nAction Input[ \t]*:(?P<given>[\s\S]*)$")


def spoken_calls(text: str) -> list[dict[str, Any]]:
    """The calls in what an assistant says: between tags, as `Action` with `Action Input`, or as calls of Python."""
    if "<tool_call>" in text:
        return [call for found in _TAGGED.finditer(text) for call in calls_in(found["call"].strip())[0]]
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
