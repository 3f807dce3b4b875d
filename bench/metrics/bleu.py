"""BLEU (Papineni et al. 2002), by sacrebleu: BLEU-1 of one answer, and corpus BLEU-4 of rewrites."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from stitch.errors import require_extra


def bleu_1(answer: str, gold: str) -> float:
    """Unigram BLEU of one answer, from 0 to 1: clipped unigram precision times the brevity penalty; unsmoothed."""
    metric = _bleu(max_ngram_order=1, lowercase=True, smooth_method="none", effective_order=True)
    return float(metric.sentence_score(answer, [gold]).score) / 100


def corpus_bleu(answers: Sequence[str], gold: Sequence[str]) -> float:
    """Corpus BLEU-4, from 0 to 100, with sacrebleu's defaults (13a words, case kept).

    Raises:
        ValueError: The two differ in length, or there is nothing to score.
    """
    if len(answers) != len(gold) or not gold:
        raise ValueError(f"{len(answers)} answers for {len(gold)} references")
    return float(_bleu().corpus_score(list(answers), [list(gold)]).score)


def _bleu(**options: Any) -> Any:
    require_extra("bench", package="sacrebleu", needed_by="BLEU")
    from sacrebleu.metrics.bleu import BLEU

    return BLEU(**options)
