"""Token F1 of an answer (Rajpurkar et al. 2016, SQuAD).

After folding case and dropping marks and articles, with c the number of shared tokens, repeated as they occur:
P = c / |answer|, R = c / |gold|, F1 harmonic. Two empty texts agree; one empty text scores 0.
"""

from __future__ import annotations

from collections import Counter

from stitch.bench.metrics.containment import normalize
from stitch.bench.metrics.scores import harmonic


def token_f1(answer: str, gold: str) -> float:
    """Token F1, from 0 to 1."""
    given, wanted = normalize(answer).split(), normalize(gold).split()
    if not given or not wanted:
        return float(given == wanted)
    shared = (Counter(given) & Counter(wanted)).total()
    return harmonic(shared / len(given), shared / len(wanted))
