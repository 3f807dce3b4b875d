"""Questions in other words, made by the shipped table: what holds only while words agree shows there.

A content word gives way to the nearest word of the texts that does not begin as it does; most names stay. That is
cruder than a person's paraphrase, and nearer to it in meaning than a person stays.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Iterable
from functools import lru_cache

import numpy as np

from stitch.embed import StaticEmbedder
from stitch.text.dates import MONTH, WEEKDAY
from stitch.text.languages import words_in
from stitch.text.words import FUNCTION_WORDS

_SHARE, _NAMES = 0.8, 0.4
"""Of words, and of names, as many are replaced."""
_LEAST_TEXTS, _LEAST_LETTERS, _BEGINNING = 4, 3, 4
_LEAST_COSINE, _LOOKED_AT = 0.35, 12
_WORD = re.compile(r"[^\W\d_]+")
_DATE = re.compile(rf"{MONTH}|{WEEKDAY}|days?|weeks?|months?|years?|ago", re.IGNORECASE)
"""What says when stays: a person says it alike."""


class Rewording:
    """Replaces words of questions by words of texts that are near in meaning."""

    def __init__(self, texts: Iterable[str]) -> None:
        counts = Counter(word for text in texts for word in set(words_in(text)))
        self._words = [
            word
            for word, count in counts.items()
            if count >= _LEAST_TEXTS and word.isalpha() and len(word) >= _LEAST_LETTERS
        ]
        self._embedder = StaticEmbedder()
        self._vectors = self._embedder.embed(self._words)
        self._nearest = lru_cache(maxsize=None)(self._find)

    def reword(self, question: str) -> str:
        """The question in other words; the same each time."""
        draw = random.Random(question)

        def other(match: re.Match[str]) -> str:
            word = match.group()
            plain = word.lower() not in FUNCTION_WORDS and len(word) >= _LEAST_LETTERS and not _DATE.fullmatch(word)
            share = _NAMES if word[0].isupper() and match.start() else _SHARE
            return self._nearest(word.lower()) or word if plain and draw.random() < share else word

        return _WORD.sub(other, question)

    def _find(self, word: str) -> str:
        alike = self._vectors @ self._embedder.embed([word])[0]
        for place in np.argsort(-alike)[:_LOOKED_AT].tolist():
            near = self._words[place]
            if near[:_BEGINNING] != word[:_BEGINNING]:
                return near if alike[place] >= _LEAST_COSINE else ""
        return ""
