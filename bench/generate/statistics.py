"""Figures of a generated trajectory, beside those of the authors' published example."""

from __future__ import annotations

from collections import Counter
from typing import Any

from stitch.bench.generate.environment import DebateWorld
from stitch.bench.generate.storyboard import Operation
from stitch.bench.generate.trajectory import GeneratedTrajectory
from stitch.retrieve.context.budget import PieceCounter, TokenCounter

EXAMPLE: dict[str, dict[str, Any]] = {
    "travel": {
        "turns": 186,
        "tokens": 19_248,
        "questions": 42,
        "questions_by_type": {"type_1": 15, "type_2": 15, "type_3": 10, "type_4": 2},
        "operations": 53,
        "turns_per_day": 93.0,
        "visits": 6,
        "tokens_per_turn": 103.5,
        "longest_turn_tokens": 206,
        "implicit_reference_share": 0.905,
    },
    "debate": {
        "turns": 53,
        "tokens": 21_648,
        "questions": 6,
        "questions_by_type": {"type_1": 0, "type_2": 0, "type_3": 6, "type_4": 0},
        "operations": 53,
        "turns_per_day": None,
        "visits": None,
        "tokens_per_turn": 408.5,
        "longest_turn_tokens": 691,
        "implicit_reference_share": 0.434,
    },
}
"""The authors' published example, measured on its files; tokens by `pieces-1`, time stamps included.

The share of implicit references is that of turns with objects that do not name all of them: the name of a place, the
sentence of a contention, the citation of a piece of evidence.
"""


def statistics(trajectory: GeneratedTrajectory, *, counter: TokenCounter | None = None) -> dict[str, Any]:
    """Turns, tokens, questions and how things are referred to, under the keys of `EXAMPLE`."""
    counter = counter or PieceCounter()
    tokens = [counter.count(turn.content) for turn in trajectory.turns]
    days = trajectory.storyboard.days()
    operations = trajectory.storyboard.operations
    types = Counter(question.type for question in trajectory.questions)
    return {
        "turns": len(trajectory.turns),
        "tokens": sum(tokens),
        "questions": len(trajectory.questions),
        "questions_by_type": {f"type_{number}": types[f"type_{number}"] for number in range(1, 5)},
        "operations": len({op.moment for op in operations}),
        "turns_per_day": round(len(trajectory.turns) / days, 1) if days else None,
        "visits": sum(op.action == "SET_DAY" and op.role == "user" for op in operations) if days else None,
        "tokens_per_turn": round(sum(tokens) / len(tokens), 1),
        "longest_turn_tokens": max(tokens),
        "implicit_reference_share": implicit_reference_share(trajectory),
    }


def implicit_reference_share(trajectory: GeneratedTrajectory) -> float:
    """The share of turns about some object that do not name all of their objects; 0 if there are none."""
    about = [
        (trajectory.storyboard.operations[turn.operation], turn.text)
        for turn in trajectory.turns
        if trajectory.storyboard.operations[turn.operation].objects
    ]
    implicit = sum(not all(name in text for name in _names(trajectory, op)) for op, text in about)
    return round(implicit / len(about), 3) if about else 0.0


def _names(trajectory: GeneratedTrajectory, op: Operation) -> list[str]:
    world = trajectory.world
    if not isinstance(world, DebateWorld):
        return list(op.objects)
    return [
        world.contentions[name].statement if name in world.contentions else world.evidence[name].citation
        for name in op.objects
    ]
