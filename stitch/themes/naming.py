"""Names of themes without a model: words and phrases that tell them from the others, and medoids."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from math import log
from typing import TYPE_CHECKING

from stitch.text.languages import content_words, words_in
from stitch.text.words import is_verb, stem

if TYPE_CHECKING:
    from stitch.core.protocols import Vectors

TERMS = 6
"""So many words and phrases are told of a theme."""
NAMED_BY = 2
"""With so many of them it is named."""
_WORDS_AND_SIGNS = re.compile(r"[^\W_]+(?:'[^\W_]+)*|[^\w\s'-]+")
"""Words, and what words of one phrase do not stand on both sides of."""


def words_counted(text: str) -> set[str]:
    """The stems by which it is counted how usual a word is: each once a statement.

    Of all words: to leave out those that carry no matter would take the language of each statement, and of these none
    is asked for.
    """
    return set(map(stem, words_in(text)))


def terms_of(texts: Sequence[str], *, usual: Mapping[str, int], count: int) -> tuple[str, ...]:
    """The words and phrases that are typical of statements, best first; no two of them with the same words.

    A word weighs as often as it is said in different statements, times how unusual it is among all; a phrase as its
    words do on average, and a little more. Of all `count` statements `usual` tells in how many each stem is.
    """
    forms, phrases = defaultdict[str, Counter[str]](Counter), Counter[str]()
    for text in texts:
        found, pairs = _read(text)
        for each, word in found.items():
            forms[each][word] += 1
        phrases.update(pairs)
    named = {each: min(own, key=lambda word: (-own[word], word)) for each, own in forms.items()}
    weights = {
        each: own.total() * log(1 + (count + 1) / (usual.get(each, 0) + 1)) * (0.6 if is_verb(named[each]) else 1.0)
        for each, own in forms.items()
    }
    ranked: list[tuple[float, str, tuple[str, ...]]] = [
        (weight, named[each], (each,)) for each, weight in weights.items()
    ]
    for phrase, times in phrases.items():
        stems = tuple(map(stem, phrase.split()))
        ranked.append((sum(map(weights.__getitem__, stems)) / 2 * (1.05 + 0.1 * min(times, 3)), phrase, stems))
    chosen: dict[str, tuple[str, ...]] = {}
    for _, term, stems in sorted(ranked, key=lambda each: (-each[0], each[1])):
        if len(chosen) < TERMS and not any(each in own for own in chosen.values() for each in stems):
            chosen[term] = stems
    return tuple(chosen)


def _read(text: str) -> tuple[dict[str, str], set[str]]:
    """The words of a text that carry matter by their stems, and its phrases of two of them."""
    found: dict[str, str] = {}
    pairs: set[str] = set()
    matter = frozenset(content_words(text))
    before = ""
    for word in _WORDS_AND_SIGNS.findall(text.lower().replace("’", "'")):
        if word not in matter or len(word) < 3 or word.isdigit():
            before = ""
            continue
        found.setdefault(stem(word), word)
        if before not in ("", word) and not is_verb(word) and not is_verb(before):
            pairs.add(f"{before} {word}")
        before = word
    return found, pairs


def name_of_terms(terms: Sequence[str], *, medoid: str) -> str:
    """The name of a theme: its first terms, or the beginning of its medoid if it has none."""
    return ", ".join(terms[:NAMED_BY]) or " ".join(medoid.split()[:6])


def medoid_of(names: Sequence[str], vectors: Vectors) -> str:
    """The statement that is most like all; of equals the oldest."""
    if len(names) < 3:
        return names[0]
    return names[int((vectors @ vectors.sum(axis=0)).argmax())]
