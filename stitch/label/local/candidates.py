"""What a step may belong to, with the numbers that speak for it, and the weights of these."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from importlib.resources import files
from typing import NamedTuple

import orjson

from stitch.label.local.evidence import SCOPE_FEATURES, STEP_FEATURES, Scope

FEATURES = (
    *(f"return: {name}" for name in STEP_FEATURES),
    *(f"new: {name}" for name in STEP_FEATURES),
    *(f"continue: {name}" for name in SCOPE_FEATURES),
    *(f"return: {name}" for name in SCOPE_FEATURES),
)
"""The names of the numbers of a candidate, in their order."""

_NO_STEP = [0.0] * len(STEP_FEATURES)
_NO_SCOPE = [0.0] * len(SCOPE_FEATURES)


class Candidate(NamedTuple):
    """A scope that a step may belong to."""

    scope: Scope | None
    """None: a new one."""
    of_step: list[float]
    """See `STEP_FEATURES`; empty for the current scope."""
    of_scope: list[float]
    """See `SCOPE_FEATURES`; empty for a new scope."""
    cues: tuple[str, ...]
    """Names of further weights that count in full: function words."""
    score: float

    @property
    def features(self) -> list[float]:
        """The values of `FEATURES`."""
        step, scope = self.of_step or _NO_STEP, self.of_scope or _NO_SCOPE
        if not self.of_scope:
            return [*_NO_STEP, *step, *_NO_SCOPE, *_NO_SCOPE]
        if not self.of_step:
            return [*_NO_STEP, *_NO_STEP, *scope, *_NO_SCOPE]
        return [*step, *_NO_STEP, *_NO_SCOPE, *scope]


class Decision(NamedTuple):
    """The scope of a step where no weighing is needed."""

    scope: Scope | None
    """None: a new one."""


class Weighing(NamedTuple):
    """What the numbers of a candidate count."""

    by_name: Mapping[str, float]
    when_returning: list[float]
    """Of `STEP_FEATURES`."""
    when_opening: list[float]
    of_current: list[float]
    """Of `SCOPE_FEATURES`."""
    of_earlier: list[float]

    @classmethod
    def of(cls, weights: Mapping[str, float]) -> Weighing:
        """In the order of the numbers, by what their weights are called in `FEATURES`; 0 where there is none."""

        def listed(kind: str, names: Sequence[str]) -> list[float]:
            return [weights.get(f"{kind}: {name}", 0.0) for name in names]

        returning, opening = listed("return", STEP_FEATURES), listed("new", STEP_FEATURES)
        return cls(weights, returning, opening, listed("continue", SCOPE_FEATURES), listed("return", SCOPE_FEATURES))


@lru_cache(maxsize=2)
def shipped_weights(*, of_chats: bool = False) -> Mapping[str, float]:
    """The weights made by `stitch.bench.fit.scopes`: of all talk, or of chats with who answers at length."""
    data = files("stitch.label.local").joinpath("scope_weights.json").read_bytes()
    return {str(name): float(pair[of_chats]) for name, pair in orjson.loads(data)["weights"].items()}
