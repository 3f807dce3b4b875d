"""Reciprocal rank of the first gold step: 1 / rank, 0 if none is ranked (Voorhees 1999). Its mean is MRR."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from stitch.bench.metrics.recall import NO_EVIDENCE
from stitch.bench.metrics.scores import Score


def reciprocal_rank(ranking: Sequence[str], gold: Collection[str]) -> Score:
    """One over the rank, from 1, of the first gold step in the ranking."""
    wanted = set(gold)
    if not wanted:
        return NO_EVIDENCE
    return next((1.0 / rank for rank, step in enumerate(ranking, start=1) if step in wanted), 0.0)
