"""Hits with their links: which of their values no longer hold, and which results made the agent do them."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Sequence

from stitch.core import MemorySnippet, ScoredSnippet, goal_of
from stitch.retrieve.links.causes import cause_of
from stitch.retrieve.links.superseded import superseded

MOST_LINKED = 20
"""So many of the first hits get links."""


def with_links(ranked: Sequence[ScoredSnippet], view: Sequence[MemorySnippet]) -> list[ScoredSnippet]:
    """Hits with what ties them to other steps.

    Links are looked for among the steps of the view, these hits included.
    """
    first = ranked[:MOST_LINKED]
    ids = {hit.snippet.id for hit in first}
    no_longer = superseded(view, of=ids)
    goals: dict[tuple[str, str], list[MemorySnippet]] = defaultdict(list)
    asked = {_goal(hit.snippet) for hit in first}
    for snippet in view:
        if (goal := _goal(snippet)) in asked:
            goals[goal].append(snippet)
    for own in goals.values():
        own.sort(key=lambda one: (one.position, one.step))
    said = {goal: [one.text.lower() for one in own] for goal, own in goals.items()}
    linked = []
    for hit in first:
        goal = _goal(hit.snippet)
        at = bisect_left(goals[goal], hit.snippet.position, key=lambda one: one.position)
        cause = cause_of(hit.snippet, goals[goal][:at], said=said[goal])
        linked.append(hit._replace(superseded=no_longer.get(hit.snippet.id, ()), because_of=cause))
    return [*linked, *ranked[MOST_LINKED:]]


def _goal(snippet: MemorySnippet) -> tuple[str, str]:
    """The key that the steps of one goal share."""
    return snippet.trajectory, goal_of(snippet.intent.scope or "")
