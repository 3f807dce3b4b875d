"""Traces of queries, step by step, so that an empty result explains itself."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

TAKEN_AWAY = "taken away"
"""The stage in which nodes are looked for that versions took away."""
SHORT_KEPT = 5
"""Nodes that fell short, kept of each condition, the nearest first."""


class Short(NamedTuple):
    """A node that fell short of a condition."""

    id: str
    path: str
    score: float


@dataclass
class Stage:
    """A step, a condition or a cut: how many nodes there were, and how many were left."""

    what: str
    given: int
    left: int
    short: tuple[Short, ...] = ()
    notes: Counter[str] = field(default_factory=Counter)
    scored: Counter[str] = field(default_factory=Counter)
    """The number of nodes scored for each semantic condition."""

    def as_json(self) -> dict[str, Any]:
        """As printed by `--json`."""
        return {
            "what": self.what,
            "given": self.given,
            "left": self.left,
            "short": [each._asdict() | {"score": round(each.score, 4)} for each in self.short],
            "notes": [_counted(note, count) for note, count in self.notes.items()],
            "scored": dict(self.scored),
        }

    @classmethod
    def of_json(cls, said: Mapping[str, Any]) -> Stage:
        """The stage of which `as_json` told."""
        short = tuple(Short(**each) for each in said["short"])
        return cls(said["what"], said["given"], said["left"], short, Counter(said["notes"]), Counter(said["scored"]))


def _counted(note: str, count: int) -> str:
    return f"{note} ({count} nodes)" if count > 1 else note


class Trace:
    """The stages of a query, in their order. Conditions inside others are told in the stage that asked for them."""

    def __init__(self) -> None:
        self.stages: list[Stage] = []
        self._pending = Stage("", 0, 0)

    def note(self, note: str, *, nodes: int = 1) -> None:
        """Say something of the stage that is under way."""
        self._pending.notes[note] += nodes

    def scored(self, condition: str, *, nodes: int) -> None:
        """Say that nodes were scored for a condition in the stage that is under way."""
        self._pending.scored[condition] += nodes

    def stage(self, what: str, *, given: int, left: int, short: tuple[Short, ...] = ()) -> None:
        """End the stage that is under way."""
        done, self._pending = self._pending, Stage("", 0, 0)
        done.what, done.given, done.left, done.short = what, given, left, short
        self.stages.append(done)


def explained(stages: Sequence[Stage], *, found: int) -> str:
    """The trace as a person reads it; of a query that found nothing, with the reason."""
    lines: list[str] = []
    for stage in stages:
        lines.append(f"{stage.what:<48} {stage.given:>6} -> {stage.left}")
        lines += [f"    {_counted(note, count)}" for note, count in stage.notes.items()]
        lines += [f"    fell short: {short.score:.2f}  {short.path}  ({short.id})" for short in stage.short]
    if not found:
        empty = next((stage for stage in stages if not stage.left), None)
        nearest = f"; the nearest has {empty.short[0].score:.2f}" if empty is not None and empty.short else ""
        lines.append("nothing is found" + ("" if empty is None else f": no node passes {empty.what}{nearest}"))
    return "\n".join(lines)
