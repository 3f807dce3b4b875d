"""Steps as a prompt shows them: one JSON line each, so that no text can end its own quotation."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from typing import Any

from stitch.core import Step, ToolCall
from stitch.text.markers import harmless_json
from stitch.text.sentences import sentence_spans

SHOWN_CHARS = 2_000
"""How much of a step is shown; of a longer one the beginning and the end."""

_END_CHARS = 500
_TIME_CHARS = 40
_HOUR_CHARS, _MINUTE_CHARS = len("2026-03-01 12"), len("2026-03-01 12:30")
_ISO = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d")


def quote(fields: dict[str, Any]) -> str:
    """One JSON line, in which no text is read as what stands around it.

    The marks of chat templates, contexts and DSPy, and signs that nobody sees, are begun with JSON's own escapes: to
    whoever reads JSON the texts are what they were.
    """
    return harmless_json(json.dumps(fields, ensure_ascii=False, separators=(",", ":")))


def shown_text(step: Step, *, limit: int = SHOWN_CHARS) -> str:
    """Quoted text of a step and its calls, the middle left out if it is long."""
    said = step.content.strip()
    calls = [_shown_call(call) for call in step.tool_calls if not said.startswith(f"{call.name}(")]
    return shorten("\n".join(filter(None, [said, *calls])), limit=limit)


def _shown_call(call: ToolCall) -> str:
    """A call as in code; texts stand as they are, for the line of JSON around them escapes them once."""
    said = (own if isinstance(own, str) else json.dumps(own, ensure_ascii=False) for own in call.arguments.values())
    return f"{call.name}({', '.join(f'{name}={own}' for name, own in zip(call.arguments, said, strict=True))})"


def shorten(text: str, *, limit: int) -> str:
    """The text, or its beginning and end with `…` between them."""
    if len(text) <= limit:
        return text
    end = min(_END_CHARS, limit // 4)
    return f"{text[: limit - end - 3].rstrip()} … {text[-end:].lstrip()}"


def cut_at_sentence(text: str, *, limit: int) -> str:
    """The sentences of a text that fit into so many characters; of a first one that does not, the words that do."""
    text = " ".join(text.split())
    if len(text) <= limit:
        return text
    end = max((end for _, end in sentence_spans(text) if end <= limit), default=0)
    return text[:end] if end else f"{text[: limit - 1].rpartition(' ')[0] or text[: limit - 1]}…"


def shown_time(step: Step) -> str:
    """Time of a step, to the minute; a time in another form than ISO 8601 as it is, empty if there is none."""
    if isinstance(step.timestamp, (int, float)):
        try:
            return datetime.fromtimestamp(step.timestamp, tz=timezone.utc).strftime("%Y-%m-%d %H:%M")
        except (OverflowError, OSError, ValueError):
            return ""
    written = step.timestamp or ""
    return written[:_MINUTE_CHARS].replace("T", " ") if _ISO.match(written) else written[:_TIME_CHARS]


def quote_window(steps: Sequence[Step], *, session: str | None = None, time: str = "") -> str:
    """Steps to be labeled, numbered; session and hour are shown where they change.

    Args:
        steps: Of the window.
        session: Of the step before.
        time: Of the step before, as `shown_time` gives it.
    """
    lines = []
    for n, step in enumerate(steps, start=1):
        told: dict[str, Any] = {"n": n}
        if step.session is not None and step.session != session:
            told["session"] = step.session
        now = shown_time(step)
        if now[:_HOUR_CHARS] != time[:_HOUR_CHARS] and now:
            told["time"] = now
        session, time = step.session, now or time
        lines.append(quote_step(step, told=told))
    return "\n".join(lines)


def quote_step(step: Step, *, told: Mapping[str, Any] | None = None, text: str | None = None) -> str:
    """A step to be labeled, with what else is told of it."""
    fields: dict[str, Any] = dict(told or {})
    fields["role"] = f"{step.role} {step.tool_name}" if step.tool_name else step.role
    fields["text"] = shown_text(step) if text is None else shorten(text, limit=SHOWN_CHARS)
    return quote(fields)
