"""The scorers that judge each text by itself: `exact`, `nli` (a cross-encoder) and `model` (a language model).

What a model says of a text is kept, so that a commit has only its changes scored. It is a probability of the model's
own making: calibrated over its log odds if it was fitted (`python -m stitch.bench.fit paths`), else taken as said.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from typing_extensions import Self

from stitch.core.text_cache import text_cache
from stitch.errors import ReplyError, SettingsError, require_extra
from stitch.label.model.quoting import quote
from stitch.retrieve.path.scorers.protocol import Judgement, Passage
from stitch.retrieve.path.scorers.reading import words_of
from stitch.retrieve.path.scorers.similarity import Calibration, calibration_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from stitch.lm import LanguageModel

    Column = NDArray[np.float64]

_MOST_TEXTS = 50_000
_SURE = 1e-4
MAX_PREMISE_CHARS, MAX_PASSAGE_CHARS = 2_000, 600
Classify = Callable[[Sequence[tuple[str, str]]], Sequence[float]]
"""The probability of entailment of each pair of a premise and a hypothesis."""
Rate = Callable[[str, Sequence[str]], Sequence[float]]
"""One call: how likely it is that each text fulfils the condition, in their order."""


class ExactScorer:
    """1 where the words of the condition stand in one of the texts in their order, whatever their case; else 0."""

    name = "exact"
    relative = False

    def judge(self, condition: str, passages: Sequence[Passage]) -> Judgement:
        """Look for the words."""
        asked = _spaced(condition)
        return Judgement(tuple(float(any(asked in _spaced(text) for text in passage.texts)) for passage in passages))


def _spaced(text: str) -> str:
    return f" {' '.join(words_of(text))} "


class PointwiseScorer:
    """A scorer by what a model says of each text, as a probability.

    Args:
        name: The scorer with its model; under the last part of a path it was fitted.
    """

    relative = False

    def __init__(self, name: str) -> None:
        self.name, self._calibration = name, calibration_of(name)
        self._asked = self

    def judge(self, condition: str, passages: Sequence[Passage]) -> Judgement:
        """Score passages; what is not known yet is scored in one batch, each different text once."""
        said = self._said(condition, passages)
        if self._calibration is None:
            return Judgement(said)
        found = self._calibration.probabilities(self.columns(condition, passages)).tolist()
        return Judgement(tuple(score if before > 0 else 0.0 for before, score in zip(said, found, strict=True)))

    def columns(self, condition: str, passages: Sequence[Passage]) -> dict[str, Column]:
        """The log odds of each passage: the one feature on which a calibration is fitted."""
        import numpy as np

        said = np.clip(np.array(self._said(condition, passages)), _SURE, 1 - _SURE)
        return {"said": np.log(said / (1 - said))}

    def with_calibration(self, calibration: Calibration | None) -> Self:
        """The same scorer with another fit, or with none; what is known of texts is known to both."""
        other = copy.copy(self)
        other._calibration = calibration
        return other

    def text_of(self, passage: Passage) -> str:
        """The text that is judged."""
        raise NotImplementedError

    def scores_of(self, condition: str, texts: Sequence[str]) -> Sequence[float]:
        """A score for each of different texts that have words; nothing is remembered."""
        raise NotImplementedError

    def _said(self, condition: str, passages: Sequence[Passage]) -> tuple[float, ...]:
        known, texts = _known(self._asked, condition), list(map(self.text_of, passages))
        if len(known) + len(texts) > _MOST_TEXTS:
            known.clear()
        if new := tuple(dict.fromkeys(text for text in texts if text.strip() and text not in known)):
            known.update(zip(new, self.scores_of(condition, new), strict=True))
        return tuple(known.get(text, 0.0) for text in texts)


@text_cache(maxsize=256)
def _known(scorer: PointwiseScorer, condition: str) -> dict[str, float]:
    return {}


class NliScorer(PointwiseScorer):
    """Scores by a cross-encoder: the probability of entailment among all three classes, for neutral is no half of it.

    Args:
        classify: The cross-encoder.
        model: Its name.
    """

    def __init__(self, classify: Classify, *, model: str) -> None:
        super().__init__(f"nli {model}")
        self._classify = classify

    def text_of(self, passage: Passage) -> str:
        """The premise."""
        return ". ".join(passage.texts)[:MAX_PREMISE_CHARS]

    def scores_of(self, condition: str, texts: Sequence[str]) -> Sequence[float]:
        """The probability that each text entails the condition."""
        hypothesis = f"This has to do with: {condition}."
        said = self._classify([(text, hypothesis) for text in texts])
        return tuple(min(1.0, max(0.0, float(score))) for score in said)


def nli_scorer(model: str | None) -> NliScorer:
    """The scorer with a cross-encoder of the entailment kind.

    Args:
        model: Its folder, or its name on a hub; it is looked up in the local cache, and nothing is fetched.

    Raises:
        SettingsError: None is named, it is of another kind, or the extra is not installed.
    """
    if model is None:
        raise SettingsError(
            "the scorer 'nli' needs a cross-encoder",
            hint="name one behind a colon, nli:MODEL: a folder, or a model in the local cache",
        )
    require_extra("sentence-transformers", package="sentence_transformers", needed_by="the scorer 'nli'")
    from sentence_transformers import CrossEncoder

    try:
        encoder = CrossEncoder(model, local_files_only=True)
    except (OSError, ValueError) as error:
        raise SettingsError(
            f"no cross-encoder can be read from {model!r}", hint="name a folder, or a model in the local cache"
        ) from error
    labels = {str(label).lower(): int(place) for place, label in encoder.config.id2label.items()}
    if "entailment" not in labels:
        raise SettingsError(f"{model!r} is no cross-encoder of the entailment kind: it knows {sorted(labels)}")

    def classify(pairs: Sequence[tuple[str, str]]) -> Sequence[float]:
        found = encoder.predict(list(pairs), apply_softmax=True)
        return [float(row[labels["entailment"]]) for row in found]

    return NliScorer(classify, model=model)


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
        """The text in the prompt."""
        return "; ".join(passage.texts)[:MAX_PASSAGE_CHARS]

    def scores_of(self, condition: str, texts: Sequence[str]) -> Sequence[float]:
        """The probabilities of the reply.

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
