"""Words: as everything that compares texts cuts and stems them, and closed lists of English words.

Nothing here knows a domain: the lists are of the language itself.
"""

from __future__ import annotations

import re
import threading
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

from stitch.core.text_cache import text_cache

MAX_READ_CHARS = 4_000
"""The part of a step that is read word by word: what it is about shows in its beginning."""

_WORD = re.compile(r"[^\W_]+(?:[.'’][^\W_]+)*")
_INDIC = "".join(
    "".join(f"{chr(block + first)}-{chr(block + last)}" for first, last in ((0, 3), (0x3A, 0x4F), (0x62, 0x63)))
    for block in range(0x0900, 0x0E00, 0x80)  # all blocks are laid out alike
)
_MARKS = f"\u0300-\u036f\u0591-\u05bd\u064b-\u065f\u0670\u0e31\u0e34-\u0e3a\u0e47-\u0e4e{_INDIC}"
"""Accents, points and vowels that stand above, below and beside letters: `re` takes them for no part of a word."""
_MARKED_WORD = re.compile(rf"[^\W_](?:[^\W_]|[{_MARKS}])*(?:[.'’][^\W_]+)*")
_DOTTED = "\u0130"
"""The capital of the Turkish i: in lower case it would be two characters, and its word two words."""
_local = threading.local()


_ZEROS = (
    0x660, 0x6F0, 0x7C0, 0x966, 0x9E6, 0xA66, 0xAE6, 0xB66, 0xBE6, 0xC66, 0xCE6, 0xD66,
    0xDE6, 0xE50, 0xED0, 0xF20, 0x1040, 0x1090, 0x17E0, 0x1810, 0x1946, 0x19D0, 0x1A80, 0x1A90,
    0x1B50, 0x1BB0, 0x1C40, 0x1C50, 0xA620, 0xA8D0, 0xA900, 0xA9D0, 0xAA50, 0xABF0,
)  # fmt: skip
"""The zeros of the scripts of the world whose digits Unicode does not take for compatible with ours."""
_DIGITS = {zero + digit: str(digit) for zero in _ZEROS for digit in range(10)}


def plain_signs(text: str) -> str:
    """A text in the compatible form of Unicode (NFKC) and with our digits: full width, half width and native ones."""
    return text if text.isascii() else unicodedata.normalize("NFKC", text).translate(_DIGITS)


def words(text: str) -> list[str]:
    """The words and numbers of a text, folded to lower case; "3.14" and "don't" stay whole."""
    text = plain_signs(text)
    if _DOTTED in text:
        text = text.replace(_DOTTED, "I")
    found: list[str] = (_WORD if text.isascii() else _MARKED_WORD).findall(text.lower())
    return [word.replace("’", "'") for word in found] if "’" in text else found


def stems(text: str) -> list[str]:
    """The Snowball (English) stems of the words of a text, in order, repeated as they occur."""
    return [stem(word) for word in words(text)]


@text_cache(maxsize=65_536)
def stem(word: str) -> str:
    """The Snowball (English) stem of one lower-case word."""
    return snowball(word.removesuffix("'s"), "english")


def snowball(word: str, algorithm: str) -> str:
    """The stem of a lower-case word by one of Snowball's algorithms."""
    stemmers = vars(_local)
    if algorithm not in stemmers:  # a Stemmer keeps a buffer of its own: one for each thread
        import Stemmer

        stemmers[algorithm] = Stemmer.Stemmer(algorithm, 0)  # without a cache: an erasure could not clear it
    return str(stemmers[algorithm].stemWord(word))


def places_of_stem(folded: str, stemmed: str) -> list[int]:
    """The places of the words of a stem in a text in lower case with plain apostrophes, which is not cut into words."""
    # A stem is the beginning of its words but for its last letter ("happi"), and of "lying" it is "lie".
    begins = stemmed[:1] if len(stemmed) == 3 and stemmed.endswith("ie") else stemmed[:-1] or stemmed
    # What stands before is looked at last: a pattern that begins with letters is found far quicker.
    said = re.escape(begins)
    word = re.compile(rf"{said}(?<![^\W_]{said})(?<![^\W_][.']{said})[^\W_]*(?:[.'][^\W_]+)*")
    return [found.start() for found in word.finditer(folded) if stem(found[0]) == stemmed] if begins in folded else []


def word_set(text: str) -> frozenset[str]:
    """The words of a closed list that is written as running text."""
    return frozenset(text.split())


def table_lines(file: str) -> Iterator[str]:
    """The lines of a table of this room but those that comment it."""
    for line in (Path(__file__).parent / "table" / file).read_text(encoding="utf-8").splitlines():
        if not line.startswith("#"):
            yield line


@lru_cache(maxsize=1)
def _lists() -> dict[str, str]:
    parts = re.split(
        r"^\[(.+)\]$", (Path(__file__).parent / "table" / "words.txt").read_text("ascii"), flags=re.MULTILINE
    )
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def word_list(name: str) -> frozenset[str]:
    """A closed list of English words, of the table `words.txt`."""
    return word_set(_lists()[name])


def whole_words(pattern: str) -> re.Pattern[str]:
    """A pattern of whole words, for texts that `fold_case` made; line breaks and indentation in it do not count."""
    joined = "".join(line.strip() for line in pattern.split("\n"))
    return re.compile(rf"(?<!\w)(?:{joined})(?!\w)")


def fold_case(text: str) -> str:
    """The text in lower case with plain apostrophes, every character at its place."""
    lowered = text.replace(_DOTTED, "I").lower()
    if len(lowered) != len(text):  # a few letters of other scripts grow when they are folded
        lowered = "".join(low if len(low := letter.lower()) == 1 else letter for letter in text.replace(_DOTTED, "I"))
    return lowered.replace("’", "'")


FUNCTION_WORDS = word_list("function")
"""Closed-class words, interjections and fillers: they carry no subject matter by themselves."""

_VERBS = word_list("verbs")
_IRREGULAR = word_list("irregular")


NUMBER_WORDS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
_NUMBERS = {**{word: place for place, word in enumerate(NUMBER_WORDS, start=1)},
            "a": 1, "an": 1, "couple of": 2, "few": 3, "several": 5}  # fmt: skip


def number(said: str) -> int | None:
    """The number of "three", "3" or "a"; of "a couple" 2, of "a few" 3, of "several" 5. None if it says none."""
    said = said.lower()
    return int(said) if said.isdecimal() else _NUMBERS.get(said)


@lru_cache(maxsize=1)
def _verb_stems() -> frozenset[str]:
    return frozenset(map(stem, _VERBS))  # not when the module is loaded: the stemmer loads on first use


@text_cache(maxsize=16_384)
def is_verb(word: str, *, base: bool = False) -> bool:
    """Whether a lower-case word is a frequent verb; `base` asks for its plain form ("find", not "found")."""
    if base:
        return word in _VERBS
    return word in _IRREGULAR or stem(word) in _verb_stems()


_PLURALS_OF_IE = word_list("plurals of ie")
_PLURALS_OF_US = word_list("plurals of us")


@text_cache(maxsize=16_384)
def singular(noun: str) -> str:
    """The singular of an English noun by its ending; unchanged where the ending says nothing."""
    if len(noun) < 4 or noun.endswith(("ss", "us", "is", "news", "series")):
        return noun
    if noun.endswith("ies"):
        return noun[:-3] + "y" if len(noun) > 4 and noun not in _PLURALS_OF_IE else noun[:-1]
    if noun.endswith(("ches", "shes", "xes", "sses", "zes")) or noun in _PLURALS_OF_US:
        return noun[:-2]
    return noun[:-1] if noun.endswith("s") else noun


_PIECE = re.compile(r"[^\W\d_]+|\d{1,3}|[^\w\s]+|_+|\n+")
_ASCII_TOKEN = re.compile(r"[A-Za-z]{1,9} ?|[0-9]{1,3}|[!-/:-@\[-^`{-~\x00-\x08\x0e-\x1b\x7f]{1,2}|_{1,2}|\n{1,2}")
"""A token of a text of ASCII: the same pieces cut up, which are quicker counted than looked at one by one. What mostly
stands behind a word is taken with it, where no other token could begin."""


def count_tokens(text: str) -> int:
    """The tokens of byte-pair encoders as they are in use, estimated.

    A run of letters counts one token for every nine begun, digits one for three, signs one for two, other scripts
    one a character. On English chats, meetings and Markdown it is within 6 % of `cl100k_base`, mostly above.
    """
    if text.isascii():
        return len(_ASCII_TOKEN.findall(text))
    return sum(map(_tokens_of_piece, _PIECE.findall(text)))


@text_cache(maxsize=65_536)
def _tokens_of_piece(piece: str) -> int:
    if not piece.isascii():
        return len(piece)
    if piece.isalpha():
        return (len(piece) + 8) // 9
    return 1 if piece.isdigit() else (len(piece) + 1) // 2
