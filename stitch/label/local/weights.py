"""Weights that are fitted and shipped: `weights.json`, made by `stitch.bench.fit` (`scopes`, `acts`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from operator import mul
from typing import TYPE_CHECKING, Any

import orjson

from stitch.embed import StaticEmbedder

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

NAME = "local-34"
"""Name of the labels that these weights give; changes whenever the same steps would get others."""
FILE = "weights.json"
MAX_CHARS = 1_000
"""How much of a step its vector is made of."""


@dataclass(frozen=True)
class ScopeWeights:
    """Weights of the candidate scopes of a step."""

    features: Sequence[float]
    """Of `scopes.FEATURES`."""
    turn_cues: Sequence[float]
    """Of `ScopeTracker.turn_cues`, the constant last."""
    turn_words: NDArray[np.float32]
    """Of the vectors of a step and of the one before, shape `(2, dimension)`."""

    def turns(self, cues: Sequence[float], vector: NDArray[np.float32], before: NDArray[np.int32] | None) -> float:
        """The log odds, within bounds, that a step turns to something else."""
        odds: float = sum(map(mul, self.turn_cues, (*cues, 1.0)))
        odds += float(self.turn_words[0] @ vector)
        if before is not None:
            odds += float(self.turn_words[1] @ before) / 127
        return round(max(-4.0, min(4.0, odds)), 4)


@dataclass(frozen=True)
class ActWeights:
    """Weights of the acts of a step in words."""

    acts: tuple[str, ...]
    cues: NDArray[np.float32]
    """Of `acts.cues_of`, the constant last, shape `(acts, cues + 1)`."""
    words: NDArray[np.float32]
    """Of the vector of the step, shape `(acts, dimension)`."""

    def chances(self, cues: Sequence[float], vector: NDArray[np.float32]) -> list[float]:
        """The probability of each act."""
        import numpy as np

        odds = self.cues @ np.array([*cues, 1.0], np.float32) + self.words @ vector
        powers = np.exp(odds - np.maximum.reduce(odds))
        chances: list[float] = (powers / np.add.reduce(powers)).round(4).tolist()
        return chances


@lru_cache(maxsize=1)
def _shipped() -> Mapping[str, Any]:
    read: Mapping[str, Any] = orjson.loads(files("stitch.label.local").joinpath(FILE).read_bytes())
    return read


@lru_cache(maxsize=1)
def shipped_scope_weights() -> ScopeWeights:
    """The weights of scopes in use."""
    return scope_weights_from(_shipped()["scopes"])


@lru_cache(maxsize=1)
def shipped_act_weights() -> ActWeights:
    """The weights of acts in use."""
    return act_weights_from(_shipped()["acts"])


def scope_weights_from(data: Mapping[str, Any]) -> ScopeWeights:
    """The weights of scopes in a file."""
    return ScopeWeights(tuple(data["features"].values()), data["turn_cues"], _matrix(data["turn_words"], data["unit"]))


def act_weights_from(data: Mapping[str, Any]) -> ActWeights:
    """The weights of acts in a file."""
    return ActWeights(tuple(data["acts"]), _matrix(data["cues"], data["unit"]), _matrix(data["words"], data["unit"]))


def _matrix(rows: Sequence[Sequence[int]], unit: float) -> NDArray[np.float32]:
    import numpy as np

    scaled: NDArray[np.float32] = np.array(rows, np.float32) * np.float32(unit)
    return scaled


def vectors_of(texts: Sequence[str]) -> NDArray[np.float32]:
    """A unit vector of each text's beginning, from the table of the default embedder."""
    rows: NDArray[np.float32] = _embedder().embed([text[:MAX_CHARS] for text in texts])
    return rows


@lru_cache(maxsize=1)
def _embedder() -> StaticEmbedder:
    return StaticEmbedder()
