"""What prompts and examples of somebody else may not hold: what could end the text that stands around them."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from stitch.text.markers import escape_unseen

_MOST_INSTRUCTION_CHARS = 200_000
_MOST_EXAMPLES = 1_000
_MARKER = re.compile(
    r"<[|\uff5c][^<>\n]{1,60}[|\uff5c]>|\[/?INST\]|<</?SYS>>|</?(?:start|end)_of_[a-z]{1,20}>|\[\|[a-z]{1,20}\|\]"
    r"|\[/?(?:SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_CALLS|TOOL_RESULTS)\]|\[\[ ## \w{1,60} ## \]\]"
)
"""By which chat templates, and DSPy, tell apart who speaks."""


def without_markers(instructions: str) -> str:
    """Instructions without what would be refused."""
    return escape_unseen(_MARKER.sub("", instructions), escape=lambda signs: "")


def reason_to_refuse(instructions: str, demos: Sequence[object]) -> str | None:
    """What a prompt holds that none of ours does; None if nothing."""
    if len(instructions) > _MOST_INSTRUCTION_CHARS:
        return f"has instructions longer than {_MOST_INSTRUCTION_CHARS:,} letters"
    if len(demos) > _MOST_EXAMPLES:
        return f"has more than {_MOST_EXAMPLES:,} examples"
    return breaks_out([instructions, *demos])


def breaks_out(value: Any) -> str | None:
    """What in a text or an example could end what stands around it; None if nothing."""
    for each in _parts(value):
        if isinstance(each, float) and not math.isfinite(each):
            return "has no finite number"
        if isinstance(each, str) and _MARKER.search(each):
            return "has the marker of a chat template"
        if isinstance(each, str) and escape_unseen(each, escape=lambda signs: "") != each:
            return "has a sign that nobody sees"
    return None


def _parts(value: Any) -> Iterator[Any]:
    """All texts and numbers in a value, the names in objects included."""
    waiting = [value]
    while waiting:
        each = waiting.pop()
        if isinstance(each, Mapping):
            waiting += [*each.keys(), *each.values()]
        elif isinstance(each, list):
            waiting += each
        else:
            yield each
