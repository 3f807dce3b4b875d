"""Kinds of steps of an agent's run: calls, results, words; whether one changed something, and whether it failed.

Labels tell it where they are there: event types of calls and of results. Fields and words stand in for them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from enum import Enum
from itertools import compress

import numpy as np

from stitch.core import Label, LabelKind, MemorySnippet, Origin, ScoredSnippet
from stitch.text.words import word_set

SETUP = "setup"
"""The scope of what runs begin with whatever they are for."""
GOAL_OPENED = Label(LabelKind.EVENT_TYPE, "state task")
"""What a step carries that opens a goal."""
ACTS = word_set(
    "read search write edit run install navigate click submit book cancel return pay send delegate calculate"
)
"""Event types of calls, by what a call does to the world."""
CHANGES = word_set("write edit install submit book cancel return pay send delegate")
"""Those of them that leave the world another than it was."""
OUTCOMES = word_set("success failure refusal empty timeout partial")
"""Event types of results."""
FAILURES = word_set("failure refusal timeout partial empty")
_RUN_SHARE = 0.1
"""From this share of calls and results on, steps are those of a run."""
_WITHOUT_MODEL = "local"
"""How the name of a labeler begins that asks no model."""
_CALL_TOOL = "call tool"
_READ_CHARS = 12_000
"""How much of a step is read for that."""
_END_CHARS = 40
_CALL_LINE = re.compile(r"^(?:Act(?:ion)?|ACTION) ?\d*:", re.MULTILINE)
"""How an agent without fields for calls begins one; others end with a block of code."""
_READS = re.compile(
    r"(?:get|search|find|list|check|look|view|read|show|fetch|describe|calculat|think|query|retriev|validat|compar|estimat"
    r"|open|cat|grep|ls|head|tail)"
)
"""How tools are called that change nothing."""
_FAILED = re.compile(
    r"\b(?:error|exception|traceback|fail(?:ed|ure|s)?|not found|no such|denied|invalid|cannot|can't|unable"
    r"|timed? ?out|refused|unfortunately|not (?:possible|allowed|available|enough|eligible|supported)|wrong|rejected)\b"
    r"|\w(?:Error|Exception)\b",
    re.IGNORECASE,
)


class Kind(Enum):
    """The kind of a step of a run."""

    SETUP = "setup"
    """What the run is given before its task: a system prompt."""
    USER = "user"
    CALL = "call"
    RESULT = "result"
    AGENT = "agent"
    """Words of an agent."""


_ACTING = (Kind.CALL, Kind.RESULT)


def kind_of(snippet: MemorySnippet) -> Kind:
    """Classify a step of a run by itself, without its neighbors."""
    events = snippet.intent.event_types
    if snippet.origin is Origin.TOOL:
        return Kind.RESULT
    if snippet.role.casefold() in ("system", "developer") or snippet.intent.scope == SETUP:
        return Kind.SETUP
    if snippet.origin is Origin.USER and not snippet.tools:
        return Kind.RESULT if OUTCOMES.intersection(events) else Kind.USER
    return Kind.CALL if snippet.tools or _CALL_TOOL in events or _calls(snippet.text) else Kind.AGENT


def runs(kinds: Iterable[Kind], owners: Sequence[int]) -> list[bool]:
    """Whether each trajectory is the run of an agent: many steps are calls or results.

    Args:
        kinds: The kind of each step of all of them.
        owners: The number of the trajectory of each.
    """
    acting = np.bincount(owners, [kind in _ACTING for kind in kinds])
    found: list[bool] = (acting >= _RUN_SHARE * np.bincount(owners)).tolist()
    return found


def running(hits: Iterable[ScoredSnippet]) -> frozenset[str]:
    """The trajectories whose hits are steps of a run."""
    snippets = [hit.snippet for hit in hits]
    numbers: dict[str, int] = {}
    owners = [numbers.setdefault(one.trajectory, len(numbers)) for one in snippets]
    return frozenset(compress(numbers, runs(map(kind_of, snippets), owners)))


def is_local(labeled_by: str | None) -> bool:
    """Whether a labeler that asks no model made the labels of a step."""
    return labeled_by is not None and labeled_by.startswith(_WITHOUT_MODEL)


def changes(snippet: MemorySnippet) -> bool:
    """Whether a call leaves the world another than it was: by its event types, or by how its tools are called."""
    known = ACTS.intersection(snippet.intent.event_types)
    if known:
        return not known.isdisjoint(CHANGES)
    return bool(snippet.tools) and not all(_READS.match(tool.rpartition(".")[2].lower()) for tool in snippet.tools)


def failed(snippet: MemorySnippet) -> bool:
    """Whether something did not go as it should: by its event types, or by its words."""
    outcomes = OUTCOMES.intersection(snippet.intent.event_types)
    if outcomes:
        return not outcomes.isdisjoint(FAILURES)
    if ACTS.intersection(snippet.intent.event_types):
        return False  # what is done says nothing of how it comes out: "fix the login timeout"
    return _FAILED.search(snippet.text[:_READ_CHARS]) is not None


def _calls(text: str) -> bool:
    """Whether an agent calls something in the text itself."""
    if text[-_END_CHARS:].rstrip().endswith("```"):
        return True
    # To look for lines that begin so takes far longer than to see that there is none.
    begun = "Act:" in text or "Action" in text or "ACTION" in text
    return begun and _CALL_LINE.search(text) is not None
