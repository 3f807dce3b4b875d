"""Language detection by script and function words, and the rules that a language needs.

The lists of function words are those of the package `stopwordsiso` (stopwords-iso), the stemmers those of Snowball.
English keeps the lists in `text/words.py`: all that reads sentences was made on it. Of other languages words,
values and marks of a return are read (`foreign`), and nothing of grammar.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from itertools import filterfalse, pairwise
from pathlib import Path
from typing import Any

from stitch.core.text_cache import text_cache
from stitch.text.words import FUNCTION_WORDS, snowball, stem, words

ENGLISH = "en"

_LANGUAGES: Mapping[str, Mapping[str, Any]] = json.loads(
    (Path(__file__).parent / "table" / "languages.json").read_text(encoding="utf-8")
)


def _told_of(what: str) -> dict[str, Any]:
    """A column of the table, by language (ISO 639-1); without those of which it says nothing."""
    return {language: own[what] for language, own in _LANGUAGES.items() if what in own}


_BY_WORDS = tuple(_told_of("words"))
"""Languages told by their function words."""
_BY_SCRIPT = {language: re.compile(f"[{script}]") for language, script in _told_of("script").items()}
"""Languages told by their script, in the order in which it is looked for: Japanese has Chinese signs too."""
_LETTERS = {language: frozenset(letters) for language, letters in _told_of("letters").items()}
"""The letters of a language's alphabet that are not in ASCII (CLDR's main exemplar characters)."""
_FIRST = {language: -place for place, language in enumerate(("ru", "es", "fr", "de", "pt", "it", "da"))}
"""Of languages that are told alike, those that more people write: the higher, the more."""
_READ_CHARS = 1_000
_LEAST = 1.4
"""So much is needed to tell a language: a function word counts 1 if no other language has it, else less."""
_FEW, _LEAST_OF_FEW, _SHARE_OF_FEW = 4, 1.0, 0.2
"""In a short sentence without English words less is needed, but a larger share."""
_LEAST_SHARE = 0.12
"""So much of a text's words are function words of its language, at the least."""
_ABOVE_OTHERS = 1.5
"""So much more must tell another language than English, or than that of what was said before."""
_PLAIN = re.compile(r"[^\W\d_]+")
_UNSPACED = re.compile(r"([\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff]+)")
_STEMMERS: Mapping[str, str] = _told_of("stemmer")
_INFLECTED = frozenset(_told_of("cut"))
_TRUNCATED = 5
"""So many letters stand for a stem where there is no stemmer (McNamee and Mayfield 2004, n = 5)."""
_ELIDING = frozenset(_told_of("elides"))
"""Languages in which an article or a small word may stand before a word with an apostrophe: "l'eau", "dell'acqua"."""
_KOREAN_PARTICLES = re.compile(_LANGUAGES["ko"]["endings"])
"""Particles at the end of Korean nouns, which say what part these have in their sentence."""
_GRAMMAR_SIGNS = {language: re.compile(signs) for language, signs in _told_of("grammar").items()}
"""Signs between the words that carry the subject, where words are written without spaces."""
_CHINESE_CUTS = re.compile(_LANGUAGES["zh"]["phrases"])
"""Common words of Chinese that name no subject by themselves, numbers with their counters among them."""


@lru_cache(maxsize=1)
def _weights() -> Mapping[str, tuple[tuple[str, float], ...]]:
    """By function word, the languages that have it, and what it counts for each."""
    import stopwordsiso

    found: dict[str, tuple[str, ...]] = {}
    for language in sorted((ENGLISH, *_BY_WORDS)):
        said = stopwordsiso.stopwords(language)
        for word in {word.lower() for word in said if len(word) > 1 and _PLAIN.fullmatch(word)}:
            found[word] = (*found.get(word, ()), language)
    # Most words are of one language: what is said of these is said once.
    told = {own: tuple((language, len(own) ** -0.5) for language in own) for own in set(found.values())}
    return {word: told[own] for word, own in found.items()}


def _written_in(word: str) -> list[str]:
    """The languages whose alphabets have all letters of a word that are not in ASCII."""
    abroad = {letter for letter in word if not letter.isascii()}
    return [language for language, letters in _LETTERS.items() if letters >= abroad]


def language_of(text: str, before: str | None = None) -> str | None:
    """The language of a text (ISO 639-1); None if too little tells it, as of "OK" or of a table.

    It is that of what was said before again, unless another is told clearly.
    """
    script, different, scores, best = _signs_of(text[:_READ_CHARS])
    if script is not None:
        return script
    if before in scores and _ABOVE_OTHERS * scores[before] > scores[best]:
        best = before
    elif best != ENGLISH and scores[best] < _ABOVE_OTHERS * scores[ENGLISH]:
        best = ENGLISH
    least = max(_LEAST, _LEAST_SHARE * different)
    if ENGLISH not in (best, before) and different >= _FEW and scores[best] >= 2 * scores[ENGLISH]:
        least = min(least, max(_LEAST_OF_FEW, _SHARE_OF_FEW * different))
    return best if scores[best] >= least else before


@text_cache(maxsize=16_384)
def _signs_of(text: str) -> tuple[str | None, int, dict[str, float], str]:
    """The language of a text's script, else None; how many words it has, what these tell, and which they tell most."""
    text = text.lower()
    said = _PLAIN.findall(text)
    different = frozenset(said)
    if not text.isascii():
        letters = sum(map(len, said))
        for language, script in _BY_SCRIPT.items():
            if 3 * len(script.findall(text)) > letters:
                return language, len(different), {}, language
    scores = _told_by(different, is_ascii=text.isascii())
    best = max(scores, key=lambda language: (scores[language], _FIRST.get(language, -9)))
    return None, len(different), scores, best


def _told_by(said: frozenset[str], *, is_ascii: bool) -> dict[str, float]:
    """Weights of words for each language, by being its function words and by their letters."""
    known, scores = _weights(), defaultdict(float, {ENGLISH: 0.0})
    telling = said & known.keys()
    if not is_ascii:
        telling |= set(filterfalse(str.isascii, said))
    for word in sorted(telling):  # so that the sums are the same in each process
        for language, weight in known.get(word, ()):
            scores[language] += weight
        if not is_ascii and not word.isascii() and (written := _written_in(word)):
            for language in written:
                scores[language] += len(written) ** -0.5
    return dict(scores)


def is_foreign(language: str | None) -> bool:
    """Whether it is known to be another language than English."""
    return language is not None and language != ENGLISH


@text_cache(maxsize=64)
def function_words(language: str | None) -> frozenset[str]:
    """The words of a language that carry no subject matter by themselves; those of English if none is known."""
    if language is None or language == ENGLISH:
        return FUNCTION_WORDS
    import stopwordsiso

    return frozenset(map(str.lower, stopwordsiso.stopwords(language)))


@text_cache(maxsize=65_536)
def stem_in(word: str, language: str | None) -> str:
    """The Snowball stem of a lower-case word; without a stemmer its first letters, or in some languages all of it.

    A Korean word loses its particles.
    """
    if language is None or language == ENGLISH:
        return stem(word)
    if language == "ko":
        return _KOREAN_PARTICLES.sub("", word)
    name = _STEMMERS.get(language)
    if name is None:
        return word[:_TRUNCATED] if language in _INFLECTED else word
    return snowball(word, name)


def words_in(text: str) -> list[str]:
    """The words of a text; where words are written without spaces (Chinese, Japanese, Thai), pairs of signs."""
    found = words(text)
    if text.isascii():
        return found
    cut: list[str] = []
    for word in found:
        for place, part in enumerate(_UNSPACED.split(word)):  # every second part is what stands without spaces
            cut += [part[sign : sign + 2] for sign in range(max(1, len(part) - 1))] if place % 2 else [part]
    return list(filter(None, cut))


def signs_in(text: str) -> Iterator[str]:
    """The signs of what is written without spaces, alone and in pairs; nothing of other texts.

    Every word that labels take from such a text is made of these.
    """
    for signs in _UNSPACED.findall(text.lower()):
        yield from signs
        yield from map("".join, pairwise(signs))


def phrases_in(text: str, language: str | None) -> list[str]:
    """The words of a text; of Chinese and Japanese, the signs between two words of grammar."""
    grammar, said = _GRAMMAR_SIGNS.get(language or ""), words(text)
    if grammar is None:
        return said
    if language == "zh":
        said = [part for word in said for part in _CHINESE_CUTS.split(word) if len(part) > 1]
    return [part for word in said for part in grammar.split(word) if part]


def carrying(said: Iterable[str], language: str | None) -> Iterator[str]:
    """The words that can carry subject matter in this language: no function words, no single letters.

    What is elided before a word is left out. Of the pairs of signs of Chinese those of two words are left out, of
    Japanese those of grammar alone.
    """
    light, grammar = function_words(language), _GRAMMAR_SIGNS.get(language or "")
    for each in said:
        word = each.rpartition("'")[2] if language in _ELIDING else each
        if word in light or (len(word) == 1 and word.isascii() and not word.isdigit()):
            continue
        if grammar is None or not (grammar.search(word) if language == "zh" else grammar.fullmatch(word)):
            yield word


def content_words(text: str) -> list[str]:
    """The words of a text that can carry subject matter in the language it tells, in order."""
    language = language_of(text)
    return list(carrying(words_in(text), language))


def content_stems(text: str) -> list[str]:
    """As `content_words`, stemmed."""
    language = language_of(text)
    return [stem_in(word, language) for word in content_words(text)]
