"""What is read of a passage before it is compared: words, pairs, parts between punctuation, stems, initials."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import NamedTuple

from stitch.core.text_cache import text_cache
from stitch.text.words import FUNCTION_WORDS

_WORD = re.compile(r"[^\W_]+")
_PART_END = re.compile(r"[,.;:()\n/|!?]+|\s[-–—]+\s|—")
_CAPITALIZED = re.compile(r"[^\W\d_]+")
_MOST_INITIALS = 6
_SAYS_LITTLE = frozenset(
    [
        "dish",
        "dishes",
        "food",
        "foods",
        "thing",
        "things",
        "something",
        "anything",
        "item",
        "items",
        "kind",
        "kinds",
        "type",
        "types",
        "stuff",
        "containing",
        "contains",
    ]
)
"""What conditions say beside what they mean: "a dish with lentils"."""


class TextReading(NamedTuple):
    """A text as it is compared."""

    parts: tuple[tuple[str, ...], ...]
    """The words of each part between punctuation."""
    words: frozenset[str]
    """Words that carry meaning, numbers left out."""
    pairs: frozenset[tuple[str, str]]
    initials: frozenset[str]
    """Of runs of capitalized words: "Royal Ontario Museum" is "rom"."""


def words_of(text: str) -> list[str]:
    """All words in lower case."""
    return _WORD.findall(text.lower())


@text_cache(maxsize=65_536)
def read_text(text: str) -> TextReading:
    """Read a text of a passage."""
    parts = tuple(tuple(found) for part in _PART_END.split(text) if (found := words_of(part)))
    words = frozenset(word for part in parts for word in part if _tells(word))
    pairs = frozenset(pair for part in parts for pair in pairwise(part))
    return TextReading(parts, words, pairs, frozenset(_initials(text)))


def _tells(word: str) -> bool:
    return word not in FUNCTION_WORDS and not any(map(str.isdigit, word))


def _initials(text: str) -> set[str]:
    words = _CAPITALIZED.findall(text)
    found: set[str] = set()
    for start, first in enumerate(words):
        if not first[0].isupper():
            continue
        for end in range(start + 2, min(len(words), start + _MOST_INITIALS) + 1):
            run = words[start:end]
            if run[-1][0].isupper():
                found.add("".join(word[0] for word in run).lower())
                found.add("".join(word[0] for word in run if word[0].isupper()).lower())
    return found


def alternatives(condition: str) -> list[str]:
    """What of a condition is enough by itself: "noodles or pasta" are two."""
    found = [part.strip() for part in re.split(r"\sor\s|[/,]", condition.lower())]
    return [part for part in found if part] or [condition.lower()]


@text_cache(maxsize=4_096)
def asked_words(condition: str) -> tuple[str, ...]:
    """The words of a condition that carry its meaning; all of them if none seems to."""
    words = words_of(condition)
    telling = [word for word in words if word not in FUNCTION_WORDS and not word.isdigit()]
    return tuple(word for word in telling if word not in _SAYS_LITTLE) or tuple(telling) or tuple(words)
