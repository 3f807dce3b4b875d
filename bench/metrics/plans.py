"""Score of a travel plan part by part (the released code's judge of type 4 questions).

A plan is "Stay at X; Breakfast at X; Lunch at X; Dinner at X; Visit X, Y and Z": parts are split at `;`, their prefix
removed, the list of visits split at commas and "and". P, R and F1 as for an answer set, over parts: a part is correct
if the same slot of the gold plan holds it.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from stitch.bench.metrics.answer_set import AnswerSetScore
from stitch.bench.metrics.containment import contains_normalized, normalize
from stitch.bench.metrics.scores import Unscored, harmonic

_PREFIX = re.compile(r"^(stay|breakfast|lunch|dinner|visit)\s*(?:at\b|:)?\s*", re.IGNORECASE)
_VISITS = re.compile(r",|\band\b")


class PlanPart(NamedTuple):
    """One filled slot of a plan."""

    slot: str
    """`stay`, `breakfast`, `lunch`, `dinner`, `visit`; empty if the part names none."""
    name: str
    """Normalized."""


def plan_parts(text: str) -> tuple[PlanPart, ...]:
    """The parts of a plan, in order; every place to visit is a part of its own."""
    parts: list[PlanPart] = []
    for piece in filter(None, map(str.strip, text.split(";"))):
        found = _PREFIX.match(piece)
        slot = found.group(1).lower() if found else ""
        rest = piece[found.end() :] if found else piece
        names = _VISITS.split(rest) if slot == "visit" else [rest]
        parts.extend(PlanPart(slot, name) for name in map(normalize, names) if name)
    return tuple(parts)


def score_plan(gold: str, generated: str) -> AnswerSetScore | Unscored:
    """Score a plan against the gold plan; a place under the wrong slot is not correct.

    Returns:
        The score; `Unscored` if the gold plan has no part.
    """
    wanted, given = plan_parts(gold), plan_parts(generated)
    if not wanted:
        return Unscored("gold plan has no part")
    open_parts = list(wanted)
    correct = 0
    for part in given:
        for candidate in open_parts:
            if candidate.slot == part.slot and _same(candidate.name, part.name):
                open_parts.remove(candidate)
                correct += 1
                break
    precision = correct / len(given) if given else 0.0
    recall = correct / len(wanted)
    return AnswerSetScore(precision, recall, harmonic(precision, recall))


def _same(one: str, other: str) -> bool:
    return contains_normalized(one, other) or contains_normalized(other, one)
