"""Names of themes without a model: words and phrases that tell them from the others, and medoids."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from heapq import nlargest
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
_LOOKED_AT = 4 * TERMS
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
    said, forms, phrases = Counter[str](), dict[str, dict[str, int]](), Counter[str]()
    for text in texts:
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
        said.update(found.keys())
        for each, word in found.items():
            own = forms.setdefault(each, {})
            own[word] = own.get(word, 0) + 1
        phrases.update(pairs)
    weights = {each: _weight(each, said, forms, usual=usual, count=count) for each in said}
    ranked: list[tuple[float, str, tuple[str, ...]]] = [
        (weight, _form(forms[each]), (each,)) for each, weight in nlargest(_LOOKED_AT, weights.items(), key=_second)
    ]
    for phrase, times in phrases.items():
        one, other = (stem(word) for word in phrase.split())
        mean = (weights[one] + weights[other]) / 2
        ranked.append((mean * (1.05 + 0.1 * min(times, 3)), phrase, (one, other)))
    return tuple(_distinct(ranked))


def _second(item: tuple[str, float]) -> tuple[float, str]:
    return item[1], item[0]


def _weight(
    word: str, said: Mapping[str, int], forms: Mapping[str, Mapping[str, int]], *, usual: Mapping[str, int], count: int
) -> float:
    unusual = log(1 + (count + 1) / (usual.get(word, 0) + 1))
    return said[word] * unusual * (0.6 if is_verb(_form(forms[word])) else 1.0)


def _form(forms: Mapping[str, int]) -> str:
    """The form in which a word is said most, of equals the first in the alphabet."""
    if len(forms) == 1:
        return next(iter(forms))
    return min(forms, key=lambda each: (-forms[each], each))


def _distinct(ranked: Iterable[tuple[float, str, tuple[str, ...]]]) -> list[str]:
    chosen: list[str] = []
    taken: set[str] = set()
    for _, term, stems in sorted(ranked, key=lambda each: (-each[0], each[1])):
        if len(chosen) == TERMS:
            break
        if not taken.intersection(stems):
            chosen.append(term)
            taken.update(stems)
    return chosen


def name_of_terms(terms: Sequence[str], *, medoid: str) -> str:
    """The name of a theme: its first terms, or the beginning of its medoid if it has none."""
    return ", ".join(terms[:NAMED_BY]) or " ".join(medoid.split()[:6])


def medoid_of(names: Sequence[str], vectors: Vectors) -> str:
    """The statement that is most like all; of equals the oldest."""
    if len(names) < 3:
        return names[0]
    return names[int((vectors @ vectors.sum(axis=0)).argmax())]
