"""The scorer `model`: a language model judges all nodes of a condition in one call."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from stitch.errors import ReplyError
from stitch.label.model.quoting import quote
from stitch.retrieve.path.scorers.pointwise import PointwiseScorer
from stitch.retrieve.path.scorers.protocol import Passage

if TYPE_CHECKING:
    from stitch.lm import LanguageModel

MAX_PASSAGE_CHARS = 600
Rate = Callable[[str, Sequence[str]], Sequence[float]]
"""One call: how likely it is that each text fulfils the condition, in their order."""


class ModelScorer(PointwiseScorer):
    """Scores by a language model, one call a condition; each different text stands in it once.

    Args:
        rate: The call.
        model: Which model it asks.
    """

    def __init__(self, rate: Rate, *, model: str) -> None:
        super().__init__(f"model {model}")
        self._rate = rate

    def text_of(self, passage: Passage) -> str:
        """What the prompt shows of a passage."""
        return "; ".join(passage.texts)[:MAX_PASSAGE_CHARS]

    def scores_of(self, condition: str, texts: Sequence[str]) -> Sequence[float]:
        """What the model says.

        Raises:
            ReplyError: The reply does not have one probability a text.
        """
        scores = self._rate(condition, texts)
        if len(scores) != len(texts) or not all(0 <= score <= 1 for score in scores):
            raise ReplyError(
                f"{len(texts)} nodes were to be judged for {condition!r}, the reply has {list(scores)[:5]!r}"
            )
        return tuple(map(float, scores))


def model_scorer(model: LanguageModel) -> ModelScorer:
    """The scorer that asks a language model by the prompt `ScoreTreeNodes`."""
    from stitch.lm import Purpose
    from stitch.signatures.programs import TreeProgram

    program = TreeProgram()

    def rate(condition: str, texts: Sequence[str]) -> Sequence[float]:
        told = "\n".join(quote({"n": number, "text": text}) for number, text in enumerate(texts, start=1))
        asked = quote({"condition": condition})
        scored = model.run(program.score, purpose=Purpose("score nodes"), condition=asked, texts=told)
        return list(scored.scores)

    return ModelScorer(rate, model=model.name)
