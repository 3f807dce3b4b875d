"""Lexical relevance to a question: BM25 over what is looked at, by the beginnings of words.

A search looks at hundreds of sentences once: to look for the beginnings of a dozen words in each takes less than to cut
them into words, and finds the same forms that a stemmer joins.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from stitch.text.words import FUNCTION_WORDS, stem, words

if TYPE_CHECKING:
    from numpy.typing import NDArray

Number = TypeVar("Number", float, "NDArray[np.float64]")

_APART = {ord(sign): " " for sign in "\"'’“”‘(){}[]<>-–—/_.,;:!?*#\n\t"}
_APART_IN_ASCII = bytes(ord(_APART.get(letter, chr(letter).lower())) for letter in range(128)) + bytes(128)
"""The same of ASCII, with capitals made small: one pass over the bytes, where most texts need no other."""
_LIGHT = 0.4
"""What a word counts that questions are built with."""
_K1, _B, _AVERAGE_CHARS = 1.2, 0.75, 220.0
_MOST_WORDS = 64


def folded(text: str) -> str:
    """A text in which the beginnings of words can be looked for."""
    if text.isascii():
        return f" {text.encode().translate(_APART_IN_ASCII).decode()}"
    return f" {text.lower().translate(_APART)}"


class Wording:
    """The words of a question, weighed by how rare they are among texts."""

    def __init__(self, question: str, texts: Sequence[str]) -> None:
        weights: dict[str, float] = {}
        for word in words(question)[:_MOST_WORDS]:
            begins = beginning(stem(word))
            weights[begins] = max(weights.get(begins, 0.0), _LIGHT if word in FUNCTION_WORDS else 1.0)
        count = len(texts)
        found = np.zeros(count)
        self._weights: dict[str, float] = {}
        for begins, weight in weights.items():
            says = [begins in text for text in texts]
            if having := sum(says):
                self._weights[begins] = weight * math.log(1 + (count - having + 0.5) / (having + 0.5))
                found[says] += self._weights[begins]
        lengths = np.fromiter(map(len, texts), np.float64, count)
        self.of_texts: list[float] = _worth(found, lengths).tolist()
        """`said` of each of the texts; they are looked through once."""

    def said(self, text: str) -> float:
        """The weight of the words that a text says, as `folded` gives it; longer texts say more by chance."""
        found = sum(weight for begins, weight in self._weights.items() if begins in text)
        return _worth(found, len(text))

    def each(self, texts: Iterable[str]) -> list[float]:
        """`said` of each text."""
        return list(map(self.said, texts))


def _worth(found: Number, chars: Any) -> Number:
    worth: Number = found * (_K1 + 1) / (1 + _K1 * (1 - _B + _B * chars / _AVERAGE_CHARS))
    return worth


def beginning(stemmed: str) -> str:
    """The prefix of all words of a stem, in a text that is `folded`."""
    if not stemmed.isascii():
        return stemmed  # it may stand in the middle of what looks like a word
    return f" {stemmed[:-1] if len(stemmed) > 3 and stemmed.endswith('i') else stemmed}"
