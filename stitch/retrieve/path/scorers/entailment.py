"""The scorer `nli`: a cross-encoder says whether a node's text entails that the condition holds.

The probability is that of entailment among all three classes. A neutral pair is no half of an entailment: to leave
neutral out would make "likely" of whatever is not contradicted.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from stitch.errors import SettingsError, require_extra
from stitch.retrieve.path.scorers.pointwise import PointwiseScorer
from stitch.retrieve.path.scorers.protocol import Passage

MAX_PREMISE_CHARS = 2_000
Classify = Callable[[Sequence[tuple[str, str]]], Sequence[float]]
"""The probability of entailment of each pair of a premise and a hypothesis."""


class NliScorer(PointwiseScorer):
    """Scores each passage by itself.

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
        return tuple(
            min(1.0, max(0.0, float(score))) for score in self._classify([(text, hypothesis) for text in texts])
        )


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
