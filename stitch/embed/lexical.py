"""The lexical side of similarity: BM25 weights as sparse vectors; the store adds the idf.

BM25 = Σ idf(w) · tf·(k1+1) / (tf + k1·(1 − b + b·len/avg_len)) (Robertson and Zaragoza 2009, Eq. 3.15). Only the second
factor is made here. The first changes with every snippet: a store counts the tenant's own when it is asked, and lets
rare words tell more than BM25 does.
"""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Iterable, Iterator

from stitch.core.text_cache import text_cache
from stitch.text.languages import function_words, is_foreign, language_of, stem_in, words_in
from stitch.text.words import stem, words


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

_PIECE, _WHOLE_SHARE, _PIECES_SHARE = 5, 0.5, 0.5


def _foreign_terms(said: Iterable[str], language: str) -> Iterator[tuple[str, float]]:
    """The terms of words that are not English, with what each counts.

    A word counts by its stem in its language; by its English stem as well, so that a question in English finds names;
    and by its pieces of five letters, which inflected and compound words share (McNamee and Mayfield 2004).
    """
    light = function_words(language)
    for word in said:
        if word in light:
            yield stem(word), _WHOLE_SHARE
            continue
        own, english = stem_in(word, language), stem(word)
        yield own, 1.0
        if english != own:
            yield english, _WHOLE_SHARE
        if len(word) >= _PIECE and word.isalpha():
            padded = f"_{word}_"
            for place in range(len(padded) - _PIECE + 1):
                yield f"#{padded[place : place + _PIECE]}", _PIECES_SHARE


class LexicalEncoder:
    """Turns texts into sparse vectors of BM25 weights."""

    k1, b = 1.2, 0.75
    average_length = 40.0
    """In words; fixed, so that a vector never has to be made anew."""
    context_weight = 0.9
    """Of an occurrence in the context of a snippet, beside 1 in its text."""
    light_weight = 0.2
    """Of a word that questions are built with, in a question."""

    def document(self, text: str, *, context: str = "") -> dict[int, float]:
        """The weights of a text to be found; `context` counts as if it stood in the text, but makes it no longer."""
        language = language_of(text)
        foreign = language if language is not None and is_foreign(language) else None
        own, counts = words_in(text), dict[str, float]()
        for said, share in ((own, 1.0), (words_in(context), self.context_weight)) if context else ((own, 1.0),):
            terms = _foreign_terms(said, foreign) if foreign else Counter(map(stem, said)).items()
            for term, count in terms:
                counts[term] = counts.get(term, 0.0) + share * count
        norm = self.k1 * (1 - self.b + self.b * len(own) / self.average_length)
        return {index_of(term): count * (self.k1 + 1) / (count + norm) for term, count in counts.items()}

    def query(self, text: str) -> dict[int, float]:
        """The weights of a question: how often each word is asked for; function words count less."""
        weights: dict[int, float] = {}
        language = language_of(text)
        foreign = language if language is not None and is_foreign(language) else None
        light = function_words(foreign) if foreign else _LIGHT_WORDS
        for word in words_in(text):
            terms = list(_foreign_terms(words_in(word), foreign)) if foreign else [(stem(word), 1.0)]
            pieces = sum(term.startswith("#") for term, _ in terms) or 1
            for term, count in terms:
                weight = self.light_weight if word in light else count / pieces if term.startswith("#") else 1.0
                weights[index_of(term)] = weights.get(index_of(term), 0.0) + weight
        return weights
