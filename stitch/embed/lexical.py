"""The lexical side of similarity: BM25 weights as sparse vectors; the store adds the idf.

BM25 = Σ idf(w) · tf·(k1+1) / (tf + k1·(1 − b + b·len/avg_len)) (Robertson and Zaragoza 2009, Eq. 3.15). Only the second
factor is made here. The first changes with every snippet: a store counts the tenant's own when it is asked.
"""

from __future__ import annotations

import zlib
from collections import Counter

from stitch.core.text_cache import text_cache
from stitch.text.words import stem, stems, words


@text_cache(maxsize=65_536)
def index_of(term: str) -> int:
    """The 32-bit index of a term in a sparse vector."""
    return zlib.crc32(term.encode())


_LIGHT_WORDS = frozenset(
    words(
        """a about after all also am an and any are as at be been before being between but by can could did do does
        doing down during each for from had has have having he her hers herself him himself his how if in into is
        it its itself just more most no nor not of off on once only or other out over own same shall she should
        so some such than that the their theirs them themselves then there these they this those through to too
        under until up very was were what when where which while who whom whose why will with would you your
        yours yourself"""
    )
)
"""Words a question is built with. "I" and "my" are not among them: they find what the speaker said of himself."""


class LexicalEncoder:
    """Turns texts into sparse vectors of BM25 weights.

    Args:
        k1: Saturation of the term frequency.
        b: How much the length of a text counts.
        average_length: The length, in words, that counts as average. Fixed, so that a vector never has to be made anew.
        context_weight: What an occurrence in the context of a snippet counts beside one in its text.
        light_weight: What a word that questions are built with counts in a question.
    """

    def __init__(
        self,
        *,
        k1: float = 1.2,
        b: float = 0.75,
        average_length: float = 40.0,
        context_weight: float = 0.9,
        light_weight: float = 0.4,
    ) -> None:
        self.k1, self.b = k1, b
        self.average_length = average_length
        self.context_weight = context_weight
        self.light_weight = light_weight

    def document(self, text: str, *, context: str = "") -> dict[int, float]:
        """The weights of a text to be found; `context` counts as if it stood in the text, but makes it no longer."""
        counts: dict[str, float] = dict(Counter(stems(text)))
        length = sum(counts.values())
        for term, count in Counter(stems(context)).items() if context else ():
            counts[term] = counts.get(term, 0.0) + self.context_weight * count
        norm = self.k1 * (1 - self.b + self.b * length / self.average_length)
        return {index_of(term): count * (self.k1 + 1) / (count + norm) for term, count in counts.items()}

    def query(self, text: str) -> dict[int, float]:
        """The weights of a question: how often each word is asked for; function words count less."""
        weights: dict[int, float] = {}
        for word in words(text):
            index = index_of(stem(word))
            weights[index] = weights.get(index, 0.0) + (self.light_weight if word in _LIGHT_WORDS else 1.0)
        return weights
