"""Causes of calls: a failure before a call, or the result that first told what the call uses."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from stitch.core import Cause, MemorySnippet
from stitch.retrieve.kinds import FAILURES, Kind, failed, kind_of
from stitch.retrieve.links.facts import calls_in
from stitch.text.identifiers import identifiers

_MOST_IDENTIFIERS = 12
_READ_CHARS = 2_000
_SAYS_LITTLE = re.compile(r"(?:19|20)\d\d|__\w+__")
"""Years, and names that all modules have."""
_TELLING = re.compile(r"[\d/@]")
"""In what tells one thing from another; words joined by underscores may be those of a kind ("changed_mind")."""
_LEAST_CHARS = 4
"""Shorter identifiers are said by many who mean something else."""


def cause_of(call: MemorySnippet, before: Sequence[MemorySnippet], *, said: Sequence[str]) -> Cause | None:
    """Find the cause of a call; None where nothing says so.

    A result that went wrong, with nothing but words behind it, that names something the call names, or answered the
    same tool; or else the result that was the first to name something that the call names.
    `before` are the steps of its goal before it, in order, `said` their texts in lower case.
    """
    if kind_of(call) is not Kind.CALL:
        return None
    names = _names(call)
    result, calling = _last_result(before)
    if result is not None and failed(result):
        around = (result.text.lower(), "" if calling is None else calling.text.lower())
        shared = next((name for name in names if any(name in text for text in around)), "")
        if shared or not set(call.tools).isdisjoint(result.tools or (calling.tools if calling is not None else ())):
            return Cause(result.step, result.position, _outcome(result), shared)
    return max(_told_first(names, before, said=said), key=lambda cause: cause.position, default=None)


def _names(call: MemorySnippet) -> list[str]:
    """Identifiers a call names, among the values of its arguments, or in its words where these stand in none."""
    written = calls_in(call.text)
    text = "\n".join(str(value) for each in written for value in each.arguments.values()) if written else call.text
    tools = {tool.lower() for tool in call.tools}
    found = (one.value.lower() for one in identifiers(text[-_READ_CHARS:]) if not _SAYS_LITTLE.fullmatch(one.value))
    names = [name for name in dict.fromkeys(found) if len(name) >= _LEAST_CHARS and name not in tools]
    telling = [name for name in names if _TELLING.search(name)]
    return (telling or names)[:_MOST_IDENTIFIERS]


def _last_result(before: Sequence[MemorySnippet]) -> tuple[MemorySnippet | None, MemorySnippet | None]:
    """The last result, if no other call and no word of a user came after it, and its call."""
    result: MemorySnippet | None = None
    for step in reversed(before):
        kind = kind_of(step)
        if kind is Kind.RESULT:
            result = result or step
        elif kind is Kind.CALL:
            return result, step
        elif kind is Kind.USER and result is None:
            return None, None
    return result, None


def _told_first(names: Sequence[str], before: Sequence[MemorySnippet], *, said: Sequence[str]) -> Iterator[Cause]:
    for name in names:
        whole = re.compile(rf"(?<![\w-]){re.escape(name)}(?![\w-])")
        saying = (step for step, text in zip(before, said, strict=False) if name in text and whole.search(text))
        first = next(saying, None)
        if first is not None and kind_of(first) is Kind.RESULT:
            yield Cause(first.step, first.position, "", name)


def _outcome(result: MemorySnippet) -> str:
    return next((event for event in result.intent.event_types if event in FAILURES), "failure")
