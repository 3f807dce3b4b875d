"""Steps of runs as calls and their results, each result with the call that it answers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

from stitch.core import MemorySnippet
from stitch.retrieve.kinds import Kind, kind_of
from stitch.retrieve.links.facts import CallWritten, calls_in


class Answered(NamedTuple):
    """A result with its call."""

    result: MemorySnippet
    call_step: MemorySnippet
    call: CallWritten | None
    """None where the call is written in no form that is read."""


def in_order(snippets: Sequence[MemorySnippet]) -> list[list[MemorySnippet]]:
    """The steps of each trajectory in the order in which they happened."""
    ordered = sorted(snippets, key=lambda one: (one.trajectory, one.position, one.step))
    return [list(own) for _, own in groupby(ordered, key=lambda one: one.trajectory)]


def answered(steps: Sequence[MemorySnippet]) -> Iterator[Answered]:
    """The results of a trajectory whose calls are known: no step between the two is missing."""
    calling: MemorySnippet | None = None
    open_calls: list[CallWritten] = []
    before = -2
    for step in steps:
        if step.position != before + 1:
            calling, open_calls = None, []
        before = step.position
        kind = kind_of(step)
        if kind is Kind.CALL:
            calling, open_calls = step, list(calls_in(step.text))
        elif kind is Kind.RESULT:
            if calling is not None:
                yield Answered(step, calling, _taken(open_calls, step.tools))
        else:
            calling, open_calls = None, []


def _taken(open_calls: list[CallWritten], tools: Sequence[str]) -> CallWritten | None:
    """The call that a result answers, of those that wait: the first of its tool, or the only one."""
    place = next((at for at, call in enumerate(open_calls) if call.name in tools), None)
    if place is None and len(open_calls) == 1 and not tools:
        place = 0
    return None if place is None else open_calls.pop(place)
