"""Precision, recall and F1 of an answer that is a set (CAME-Bench §3.2, Listing 12).

With c = min(judge's count, |gold|, |generated|): P = c / |generated|, R = c / |gold|, F1 their harmonic mean. The
benchmark's figure is the mean of each over the questions (macro average).
"""

from __future__ import annotations

from typing import NamedTuple

from stitch.bench.metrics.candidates import candidates
from stitch.bench.metrics.scores import Unscored, harmonic


class AnswerSetScore(NamedTuple):
    """How well a generated set meets the gold set."""

    precision: float
    recall: float
    f1: float

    @property
    def correct(self) -> bool:
        """Every gold item was given (the released code's `is_correct_frq`)."""
        return self.recall == 1.0


def score_answer_set(gold: str, generated: str, *, count: int | Unscored) -> AnswerSetScore | Unscored:
    """Score a generated answer by the number of its candidates that a judge found correct.

    Args:
        gold: The gold answer, as the data set writes it.
        generated: What was answered; an empty answer scores 0.
        count: The judge's count; what is more than there are candidates on either side is cut.

    Returns:
        The score; `Unscored` if the judge gave no count or the gold answer has no candidate.
    """
    if isinstance(count, Unscored):
        return count
    wanted, given = len(candidates(gold)), len(candidates(generated))
    if not wanted:
        return Unscored("gold answer has no candidate")
    correct = max(0, min(count, wanted, given))
    precision = correct / given if given else 0.0
    recall = correct / wanted
    return AnswerSetScore(precision, recall, harmonic(precision, recall))
