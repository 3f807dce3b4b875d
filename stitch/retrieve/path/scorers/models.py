"""The scorers that judge each text by itself: `exact`, `nli` (a cross-encoder) and `model` (a language model).

What a model says of a text is kept, so that a commit has only its changes scored.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from stitch.core.text_cache import text_cache
from stitch.errors import ReplyError, SettingsError, require_extra
from stitch.label.model.quoting import quote
from stitch.retrieve.path.scorers.protocol import Judgement, Passage
from stitch.retrieve.path.scorers.reading import words_of

if TYPE_CHECKING:
    from stitch.lm import LanguageModel

_MOST_TEXTS = 50_000
_MOST_PREMISE_CHARS, _MOST_PASSAGE_CHARS = 2_000, 600
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
        name: The scorer with its model.
        rate: Asks the model, of different texts that have words.
        joint: What stands between the texts of a node.
        chars: The most that is shown of a node.
    """

    relative = False

    def __init__(self, name: str, rate: Rate, *, joint: str, chars: int) -> None:
        self.name, self._rate, self._joint, self._chars = name, rate, joint, chars

    def judge(self, condition: str, passages: Sequence[Passage]) -> Judgement:
        """Score passages; what is not known yet is scored in one batch, each different text once.

        Raises:
            ReplyError: The reply does not have one probability a text.
        """
        known, texts = _known(self._rate, condition), [self._joint.join(each.texts)[: self._chars] for each in passages]
        if len(known) + len(texts) > _MOST_TEXTS:
            known.clear()
        if new := tuple(dict.fromkeys(text for text in texts if text.strip() and text not in known)):
            scores = self._rate(condition, new)
            if len(scores) != len(new) or not all(0 <= score <= 1 for score in scores):
                raise ReplyError(
                    f"{len(new)} nodes were to be judged for {condition!r}, the reply has {list(scores)[:5]!r}"
                )
            known.update(zip(new, map(float, scores), strict=True))
        return Judgement(tuple(known.get(text, 0.0) for text in texts))


@text_cache(maxsize=256)
def _known(rate: Rate, condition: str) -> dict[str, float]:
    return {}


def nli_scorer(model: str | None) -> PointwiseScorer:
    """Scores by a cross-encoder: the probability of entailment among all three classes, for neutral is no half of it.

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

    def rate(condition: str, texts: Sequence[str]) -> Sequence[float]:
        hypothesis = f"This has to do with: {condition}."
        found = encoder.predict([(text, hypothesis) for text in texts], apply_softmax=True)
        return [min(1.0, max(0.0, float(row[labels["entailment"]]))) for row in found]

    return PointwiseScorer(f"nli {model}", rate, joint=". ", chars=_MOST_PREMISE_CHARS)


def model_scorer(model: LanguageModel) -> PointwiseScorer:
    """Scores by a language model and the prompt `ScoreTreeNodes`, one call a condition."""
    from stitch.lm import Purpose
    from stitch.signatures.programs import TreeProgram

    program = TreeProgram()

    def rate(condition: str, texts: Sequence[str]) -> Sequence[float]:
        told = "\n".join(quote({"n": number, "text": text}) for number, text in enumerate(texts, start=1))
        asked = quote({"condition": condition})
        scored = model.run(program.score, purpose=Purpose("score nodes"), condition=asked, texts=told)
        return list(scored.scores)

    return rated_scorer(rate, model=model.name)


def rated_scorer(rate: Rate, *, model: str) -> PointwiseScorer:
    """The scorer `model` by any call."""
    return PointwiseScorer(f"model {model}", rate, joint="; ", chars=_MOST_PASSAGE_CHARS)
