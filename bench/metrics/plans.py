"""Score of a travel plan part by part (the released code's judge of type 4 questions).

A plan is "Stay at X; Breakfast at X; Lunch at X; Dinner at X; Visit X, Y and Z": parts are split at `;`, their prefix
removed, the list of visits split at commas and "and". P, R and F1 as for an answer set, over parts: a part is correct
if the same slot of the gold plan holds it.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from stitch.bench.metrics.answer_set import AnswerSetScore
from stitch.bench.metrics.candidates import candidates
from stitch.bench.metrics.containment import contains_normalized, normalize
from stitch.bench.metrics.scores import Unscored, harmonic

_PREFIX = re.compile(r"^(stay|breakfast|lunch|dinner|visit)\s*(?:(?:at\b|:)\s*)?", re.IGNORECASE)
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


def is_plan(type_: str, gold: str | None) -> bool:
    """Whether the gold answer of a question of this type is a plan, and not a set: a debate's has no slots."""
    return type_ == "type_4" and any(part.slot for part in plan_parts(gold or ""))


def items_of(type_: str, gold: str | None) -> list[str]:
    """The items of a gold answer, normalized: the places of a plan, else its candidates."""
    if is_plan(type_, gold):
        return [part.name for part in plan_parts(gold or "")]
    return [normalize(item) for item in candidates(gold or "")]


def count_slots(gold: str, generated: str) -> int:
    """How many places of a generated plan stand in the same slot of the gold plan, by normalized containment."""
    open_parts = list(plan_parts(gold))
    correct = 0
    for part in plan_parts(generated):
        for candidate in open_parts:
            if candidate.slot == part.slot and _same(candidate.name, part.name):
                open_parts.remove(candidate)
                correct += 1
                break
    return correct


def score_plan(gold: str, generated: str, *, count: int, given: int | None = None) -> AnswerSetScore | Unscored:
    """Score a plan by the number of its slots that a judge found correct.

    Args:
        gold: The gold plan.
        generated: The plan that was answered.
        count: The judge's count; what is more than there are slots on either side is cut.
        given: How many slots the judge saw filled; the parts of the text are counted if it did not say.

    Returns:
        The score; `Unscored` if the gold plan has no part.
    """
    wanted = len(plan_parts(gold))
    if not wanted:
        return Unscored("gold plan has no part")
    filled = given if given is not None and given > 0 else len(plan_parts(generated))
    correct = max(0, min(count, wanted, filled))
    precision = correct / filled if filled else 0.0
    recall = correct / wanted
    return AnswerSetScore(precision, recall, harmonic(precision, recall))


def _same(one: str, other: str) -> bool:
    return contains_normalized(one, other) or contains_normalized(other, one)
