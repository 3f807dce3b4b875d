"""Detection of recalled memories: what comes back as a message is not stored as if it were said.

A context is one `<memory>` element with `<step>` elements in it (`budget`), and no quoted text can begin or end either
(`quoting`). So what stands between the two is a memory's, wherever a program put it: in a prompt, in the result of a
tool, in the JSON of one.
"""

from __future__ import annotations

import re
from typing import Any

from stitch.core import Step

_LEFT, _RIGHT = r"(?:<|&lt;|\\u003c|\\u003C)", r"(?:>|&gt;|\\u003e|\\u003E)"
_SPACE = r"(?:\s|\\[nrt])*"
_OPENING = re.compile(rf"{_LEFT}memory{_RIGHT}{_SPACE}(?={_LEFT}(?:step|theme)\b)")
_CLOSING = re.compile(rf"{_LEFT}/memory{_RIGHT}")
_STEP = re.compile(rf"{_LEFT}step\b")
_PRINTED = re.compile(r"\[recalled: \d+ steps?\]")


def without_recalled(text: str) -> str:
    """Return `text` with `[recalled: N steps]` in place of each context of a memory; one that was cut off ends it."""
    if "memory" not in text:
        return text
    pieces, at = list[str](), 0
    while (opening := _OPENING.search(text, at)) is not None:
        closing = _CLOSING.search(text, opening.end())
        end = len(text) if closing is None else closing.end()
        count = len(_STEP.findall(text, opening.end(), end))
        pieces += [text[at : opening.start()], f"[recalled: {count} step{'' if count == 1 else 's'}]"]
        at = end
    return "".join([*pieces, text[at:]]) if pieces else text


def is_recalled(text: str) -> bool:
    """Whether a text says nothing but what a memory recalled."""
    kept = without_recalled(text)
    return kept != text and not _PRINTED.sub("", kept).strip()


def step_without_recalled(step: Step) -> Step:
    """Return a step without what a memory recalled, in what it says and in what it gives to tools."""
    content = without_recalled(step.content)
    calls = tuple(
        call
        if (arguments := _without(dict(call.arguments))) == call.arguments
        else call.model_copy(update={"arguments": arguments})
        for call in step.tool_calls
    )
    if content == step.content and calls == step.tool_calls:
        return step
    return step.model_copy(update={"content": content, "tool_calls": calls})


def _without(value: Any) -> Any:
    if isinstance(value, str):
        return without_recalled(value)
    if isinstance(value, dict):
        return {key: _without(inner) for key, inner in value.items()}
    return [_without(inner) for inner in value] if isinstance(value, list) else value
