"""BLEU (Papineni et al. 2002), by sacrebleu: BLEU-1 of one answer."""

from __future__ import annotations

from typing import Any

from stitch.errors import require_extra


def bleu_1(answer: str, gold: str) -> float:
    """Unigram BLEU of one answer, from 0 to 1: clipped unigram precision times the brevity penalty; unsmoothed."""
    metric = _bleu(max_ngram_order=1, lowercase=True, smooth_method="none", effective_order=True)
    return float(metric.sentence_score(answer, [gold]).score) / 100


def _bleu(**options: Any) -> Any:
    require_extra("bench", package="sacrebleu", needed_by="BLEU")
    from sacrebleu.metrics.bleu import BLEU

    return BLEU(**options)
