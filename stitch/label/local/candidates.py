"""What a step may belong to, with the numbers that speak for it, and the weights of these."""

from __future__ import annotations

from collections.abc import Mapping
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
    """Names of further weights that count in full: function words, adjacency pairs."""
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


@lru_cache(maxsize=1)
def shipped_weights() -> Mapping[str, float]:
    """The weights made by `stitch.pipelines.fit_local`."""
    data = files("stitch.label.local").joinpath("scope_weights.json").read_bytes()
    return {str(name): float(weight) for name, weight in orjson.loads(data)["weights"].items()}
