"""The scorer `exact`: a text says the condition, word for word in a row, or it does not."""

from __future__ import annotations

from collections.abc import Sequence

from stitch.retrieve.path.scorers.protocol import Judgement, Passage
from stitch.retrieve.path.scorers.reading import words_of


class ExactScorer:
    """1 where the words of the condition stand in one of the texts in their order, whatever their case; else 0."""

    name = "exact"
    relative = False

    def judge(self, condition: str, passages: Sequence[Passage]) -> Judgement:
        """Look for the words."""
        asked = f" {' '.join(words_of(condition))} "
        return Judgement(tuple(float(any(asked in _spaced(text) for text in passage.texts)) for passage in passages))


def _spaced(text: str) -> str:
    return f" {' '.join(words_of(text))} "
