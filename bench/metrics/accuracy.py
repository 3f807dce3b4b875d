"""Accuracy of single answers: accepted / judged (LongMemEval; CAME-Bench Listing 11)."""

from __future__ import annotations

from collections.abc import Iterable

from stitch.bench.metrics.scores import Mean, Unscored, mean


def accuracy(verdicts: Iterable[int | Unscored]) -> Mean:
    """The share of accepted answers (1) among those judged; failed judgements are counted beside it."""
    return mean(verdict if isinstance(verdict, Unscored) else float(verdict > 0) for verdict in verdicts)
