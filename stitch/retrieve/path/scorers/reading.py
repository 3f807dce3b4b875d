"""Words, parts and initials of texts; the alternatives and the telling words of a condition."""

from __future__ import annotations

import re
from collections.abc import Sequence

from stitch.core.text_cache import text_cache
from stitch.text.words import FUNCTION_WORDS

_PART_ENDS = re.compile(r"[,.;:()\n/|!?—]|\s[-–—]+\s")
_WORD = re.compile(r"[^\W_]+")
_CAPITALIZED = re.compile(r"[^\W\d_]+")
_MOST_INITIALS = 6
_SAYS_LITTLE = frozenset(
    ("dish", "dishes", "food", "foods", "thing", "things", "something", "anything", "item", "items", "kind", "kinds",
     "type", "types", "stuff", "containing", "contains")
)  # fmt: skip
"""Words of conditions beside what they mean: "a dish with lentils"."""


def words_of(text: str) -> list[str]:
    """All words in lower case."""
    return _WORD.findall(text.lower())


@text_cache(maxsize=65_536)
def parts_of(text: str) -> Sequence[Sequence[str]]:
    """The words of each part of a text, between commas, points, dashes and the like."""
    return [words for part in _PART_ENDS.split(text) if (words := words_of(part))]


def tells(word: str) -> bool:
    """Whether a word carries meaning; numbers do not."""
    return word not in FUNCTION_WORDS and not any(map(str.isdigit, word))


@text_cache(maxsize=65_536)
def initials_of(text: str) -> frozenset[str]:
    """The initials of runs of capitalized words: "Royal Ontario Museum" is "rom"."""
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
    return frozenset(found)


def alternatives(condition: str) -> list[str]:
    """The parts of a condition each of which is enough: "noodles or pasta" are two; none if no words are said."""
    found = [part.strip() for part in re.split(r"\sor\s|[/,]", condition.lower())]
    return [part for part in found if words_of(part)]


@text_cache(maxsize=4_096)
def asked_words(condition: str) -> tuple[str, ...]:
    """The words of a condition that carry its meaning; all of them if none seems to."""
    words = words_of(condition)
    telling = [word for word in words if word not in FUNCTION_WORDS and not word.isdigit()]
    return tuple(word for word in telling if word not in _SAYS_LITTLE) or tuple(telling) or tuple(words)
