"""Steps as a prompt shows them: one JSON line each, so that no text can end its own quotation."""

from __future__ import annotations

import json
from typing import Any

from stitch.core import Step

SHOWN_CHARS = 2_000
"""How much of a step is shown; of a longer one the beginning and the end."""

_END_CHARS = 500


def quote(fields: dict[str, Any]) -> str:
    """One JSON line. The marks with which DSPy tells fields apart are broken up where they stand in a text."""
    return json.dumps(fields, ensure_ascii=False).replace("[[ ##", "[ [ #").replace("## ]]", "# ] ]")


def shown_text(step: Step, *, limit: int = SHOWN_CHARS) -> str:
    """What a step says and calls, its middle left out if it is long."""
    calls = [f"{call.name}({json.dumps(dict(call.arguments), ensure_ascii=False)})" for call in step.tool_calls]
    return shorten("\n".join(filter(None, [step.content.strip(), *calls])), limit=limit)


def shorten(text: str, *, limit: int) -> str:
    """The text, or its beginning and end with `…` between them."""
    if len(text) <= limit:
        return text
    end = min(_END_CHARS, limit // 4)
    return f"{text[: limit - end - 3].rstrip()} … {text[-end:].lstrip()}"


def quote_step(step: Step, *, n: int | None = None, text: str | None = None) -> str:
    """A step to be labeled, with its number in the window."""
    fields: dict[str, Any] = {} if n is None else {"n": n}
    fields["role"] = f"{step.role} {step.tool_name}" if step.tool_name else step.role
    fields["text"] = shown_text(step) if text is None else shorten(text, limit=SHOWN_CHARS)
    return quote(fields)
