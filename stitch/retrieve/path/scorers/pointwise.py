"""Scorers that judge each text by itself. What they say is kept: a commit has only its changes scored."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import TYPE_CHECKING

from typing_extensions import Self

from stitch.core.text_cache import text_cache
from stitch.retrieve.path.scorers.calibration import Calibration, fitted_calibration
from stitch.retrieve.path.scorers.protocol import Judgement, Passage

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Column = NDArray[np.float64]

_MOST_TEXTS = 50_000
_SURE = 1e-4


class PointwiseScorer:
    """What a model says of each text, as a probability.

    What it says is a probability of its own making, and is calibrated if it was fitted (`stitch.bench.trees.fit`): a
    logistic model over its log odds. Of a model that was not fitted it is taken as it is said, which is the same model
    with slope 1 and bias 0: whoever says "more likely than not" of itself is believed until it is measured.

    Args:
        name: The scorer with its model; under the last part of a path it was fitted.
        calibration: The fit; by default the one that comes with the package, if there is one.
    """

    relative = False

    def __init__(self, name: str, *, calibration: Calibration | None = None) -> None:
        self._name, self._calibration = name, calibration or fitted_calibration(name)
        self._asked = self

    @property
    def name(self) -> str:
        """The scorer with its model."""
        return self._name

    def judge(self, condition: str, passages: Sequence[Passage]) -> Judgement:
        """Score passages; what is not known yet is scored in one batch, each different text once."""
        said = self._said(condition, passages)
        if self._calibration is None:
            return Judgement(said)
        found = self._calibration.probabilities(self.columns(condition, passages)).tolist()
        return Judgement(tuple(score if before > 0 else 0.0 for before, score in zip(said, found, strict=True)))

    def columns(self, condition: str, passages: Sequence[Passage]) -> dict[str, Column]:
        """What is said of each passage as log odds: the one feature on which a calibration is fitted."""
        import numpy as np

        said = np.clip(np.array(self._said(condition, passages)), _SURE, 1 - _SURE)
        return {"said": np.log(said / (1 - said))}

    def with_calibration(self, calibration: Calibration | None) -> Self:
        """The same scorer with another fit, or with none; what is known of texts is known to both."""
        other = copy.copy(self)
        other._calibration = calibration
        return other

    def text_of(self, passage: Passage) -> str:
        """What of a passage is judged."""
        raise NotImplementedError

    def scores_of(self, condition: str, texts: Sequence[str]) -> Sequence[float]:
        """What is said of different texts that have words, in their order; nothing is remembered."""
        raise NotImplementedError

    def _said(self, condition: str, passages: Sequence[Passage]) -> tuple[float, ...]:
        known, texts = _known(self._asked, condition), list(map(self.text_of, passages))
        new = tuple(dict.fromkeys(text for text in texts if text.strip() and text not in known))
        if len(known) + len(new) > _MOST_TEXTS:
            known.clear()
            new = tuple(dict.fromkeys(text for text in texts if text.strip()))
        if new:
            known.update(zip(new, self.scores_of(condition, new), strict=True))
        return tuple(known.get(text, 0.0) for text in texts)


@text_cache(maxsize=256)
def _known(scorer: PointwiseScorer, condition: str) -> dict[str, float]:
    return {}
