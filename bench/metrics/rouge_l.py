"""ROUGE-L F1 (Lin 2004, §3.1): with l the longest common subsequence of tokens, P = l / |answer|, R = l / |gold|."""

from __future__ import annotations

from collections.abc import Sequence

from stitch.bench.metrics.content_words import words
from stitch.bench.metrics.scores import harmonic


def rouge_l(answer: str, gold: str) -> float:
    """ROUGE-L F1 over folded words, from 0 to 1; two empty texts agree, one empty text scores 0."""
    given, wanted = words(answer), words(gold)
    if not given or not wanted:
        return float(given == wanted)
    longest = _common_subsequence(given, wanted)
    return harmonic(longest / len(given), longest / len(wanted))


def _common_subsequence(one: Sequence[str], other: Sequence[str]) -> int:
    lengths = [0] * (len(other) + 1)
    for word in one:
        above_left = 0
        for place, candidate in enumerate(other, start=1):
            above = lengths[place]
            lengths[place] = above_left + 1 if word == candidate else max(above, lengths[place - 1])
            above_left = above
    return lengths[-1]
