"""From features to a probability: a logistic model, fitted by `python -m stitch.bench.fit paths`."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from stitch.core.text_cache import text_cache

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Column = NDArray[np.float64]

WEIGHTS = Path(__file__).parent / "weights.json"
_MOST = 3.0
"""No feature is taken for further from its mean, in standard deviations: other trees have other ranges."""


class Term(NamedTuple):
    """A feature with how it is scaled and weighed."""

    name: str
    mean: float
    deviation: float
    weight: float


class Calibration(NamedTuple):
    """A logistic model over features."""

    bias: float
    terms: tuple[Term, ...]

    def probabilities(self, columns: Mapping[str, Column]) -> Column:
        """How likely it is that each passage fulfils the condition."""
        import numpy as np

        said: Column | float = self.bias
        for term in self.terms:
            scaled = (columns[term.name] - term.mean) / term.deviation
            said = said + term.weight * np.clip(scaled, -_MOST, _MOST)
        return np.asarray(1 / (1 + np.exp(-np.asarray(said))))


@text_cache(maxsize=16)
def calibration_of(scorer: str) -> Calibration:
    """The fitted model of a scorer."""
    return from_json(json.loads(WEIGHTS.read_text(encoding="utf-8"))["scorers"][scorer])


def fitted_calibration(scorer: str) -> Calibration | None:
    """The fitted model of a scorer that need not have one; of a model at a path, the last part of it is its name."""
    made = json.loads(WEIGHTS.read_text(encoding="utf-8"))["scorers"].get(fitted_name(scorer))
    return None if made is None else from_json(made)


def fitted_name(scorer: str) -> str:
    """Under which name a scorer is fitted: `nli /models/deberta` is `nli deberta`, wherever the model lies."""
    kind, _, model = scorer.partition(" ")
    return f"{kind} {model.replace(chr(92), '/').rstrip('/').rpartition('/')[2]}".strip()


def from_json(made: Mapping[str, Any]) -> Calibration:
    """A model as it is written."""
    return Calibration(made["bias"], tuple(Term(*term) for term in made["terms"]))


def as_json(bias: float, terms: Sequence[Term]) -> dict[str, object]:
    """A model as it is written."""
    return {"bias": round(bias, 4), "terms": [[term.name, *(round(value, 4) for value in term[1:])] for term in terms]}
