"""What is read of texts and conditions: words, what ends a part, initials."""

from __future__ import annotations

import re
from collections.abc import Sequence

from stitch.core.text_cache import text_cache
from stitch.text.words import FUNCTION_WORDS

END = "\ufdd0"
"""What ends a text where many are read at once; no character of any text."""
NOTHING = ""
_PART_ENDS = ",.;:()\n/|!?"
_TOKEN = re.compile(END + rf"|[{re.escape(_PART_ENDS)}—]|\s[-–—]+\s|[^\W_]+")
_PLAIN = str.maketrans(
    {
        chr(code): chr(code).lower() if chr(code).isalnum() else "," if chr(code) in _PART_ENDS else " "
        for code in range(128)
    }
    | {"\0": "\0"}
)
"""Of texts in ASCII: words in small letters, blanks, and one mark for all that ends a part."""
_DASHED = re.compile(r"\s-+\s")
_WORD = re.compile(r"[^\W_]+")
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


def words_of(text: str) -> list[str]:
    """All words in lower case."""
    return _WORD.findall(text.lower())


def tokens_of(texts: Sequence[str]) -> list[str]:
    """The words of texts in small letters, with what ends a part of a text between them, and `END` after each text.

    Texts in ASCII without dashes between blanks are split, which takes a third of the time.
    """
    joined = "\0".join([*[text.replace("\0", " ") if "\0" in text else text for text in texts], ""])
    if not joined.isascii() or _DASHED.search(joined):
        return _TOKEN.findall(joined.replace(END, " ").replace("\0", END).lower())
    split = joined.translate(_PLAIN).replace(",", " , ").replace("\0", f" {END} ")
    return split.split()


def tells(word: str) -> bool:
    """Whether a word carries meaning; numbers do not."""
    return word[:1].isalnum() and word not in FUNCTION_WORDS and not any(map(str.isdigit, word))


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
    """What of a condition is enough by itself: "noodles or pasta" are two; none if no words are said."""
    found = [part.strip() for part in re.split(r"\sor\s|[/,]", condition.lower())]
    return [part for part in found if words_of(part)]


@text_cache(maxsize=4_096)
def asked_words(condition: str) -> tuple[str, ...]:
    """The words of a condition that carry its meaning; all of them if none seems to."""
    words = words_of(condition)
    telling = [word for word in words if word not in FUNCTION_WORDS and not word.isdigit()]
    return tuple(word for word in telling if word not in _SAYS_LITTLE) or tuple(telling) or tuple(words)
