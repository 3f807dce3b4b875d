"""Calls of tools that a model wrote into its words, because it had no other way to call them."""

from __future__ import annotations

import ast
import re
from typing import Any

import orjson

from stitch.sources.parts import calls_in

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
