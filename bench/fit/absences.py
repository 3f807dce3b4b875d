"""The table of what words rule out and of what comes of animals, read out of WordNet's definitions.

A word rules out a kind of thing if it names persons who "eat no" such thing, as vegetarians, or if it denies the thing
by its form and by its definition: sugarless is "not containing sugar". A food or a substance comes of animals if its
definition says that it is of, from or by one: honey is "produced by bees".
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from stitch.bench.fit.wordnet import SENSES, Concept, read_concepts, read_senses
from stitch.text import kinds
from stitch.text.words import stem

_CONSUMES_NONE = re.compile(r"\b(?:(?:eats?|drinks?|uses?|consumes?) no|abstains? from|refrains? from) ([\w ,]+)")
_HAS_NONE = re.compile(
    r"\b(?:containing no|having no|with no|lacking|without|free (?:of|from)|not containing) ([\w ,]+)"
)
_BETWEEN_THINGS = re.compile(r",? (?:or|and) |, ")
_ARTICLES = frozenset(("a", "an", "the", "any"))
_OF_AN_ANIMAL = re.compile(r"\b(?:of|from|by)((?: [\w-]+){1,4})")
_FOODS, _SUBSTANCES = "13", "27"
_PHYSICAL, _ANIMAL, _PERSON = "physical entity", "animal", "person"
_DENIES_BY_FORM = re.compile(r"non-?(\w+)|(\w+?)-?(?:less|free)")


class _Nouns:
    """WordNet's nouns: concepts by offset, and the offset of the commonest meaning of each word."""

    def __init__(self, folder: Path) -> None:
        self.concepts = dict(read_concepts(folder / "data.noun"))
        self.meanings = dict(read_senses(folder / "index.noun"))
        self.first = {word: offsets[0] for word, offsets in self.meanings.items()}
        self._counts = Counter(part for each in self.concepts.values() for part in _stems(each.words))

    def above(self, offset: str) -> Iterator[Concept]:
        """A concept and all above it."""
        pending, seen = [offset], set[str]()
        while pending:
            if (place := pending.pop()) in self.concepts and place not in seen:
                seen.add(place)
                yield self.concepts[place]
                pending.extend(self.concepts[place].parents)

    def is_a(self, word: str, kind: str) -> bool:
        """Whether the commonest meaning of a noun, singular or plural, is of a kind."""
        for form in (word, word.removesuffix("s"), word.removesuffix("es")):
            if form in self.first:
                return self.is_under(self.first[form], kind)
        return False

    def is_under(self, offset: str, kind: str) -> bool:
        """Whether a concept is of a kind."""
        return any(kind in each.words for each in self.above(offset))

    def rarest_stem(self, word: str) -> str:
        """Of all words for the commonest meaning of a noun the stem that the fewest concepts share."""
        return min(_stems(self.concepts[self.first[word]].words), key=lambda part: (self._counts[part], part))


def make_table(folder: Path) -> list[str]:
    """The lines of the table, sorted: a word and the stems of kinds that it rules out or, behind `=`, comes of."""
    nouns = _Nouns(folder)
    adjectives = dict(read_concepts(folder / "data.adj"))
    commonest = {word: offsets[0] for word, offsets in read_senses(folder / "index.adj")}
    animal = nouns.rarest_stem(_ANIMAL)
    coming = (f"{kinds.COMES_OF}{word}\t{animal}" for word in _of_animals(nouns))
    return sorted({*coming, *_of_persons(nouns), *_of_adjectives(adjectives, commonest, nouns)})


def _of_persons(nouns: _Nouns) -> Iterator[str]:
    """The lines of names for persons who consume no such thing; what a vegetarian eats not, a vegan eats not either."""
    for offset, concept in nouns.concepts.items():
        if any(_denied(concept.definition, _CONSUMES_NONE, nouns)) and nouns.is_under(offset, _PERSON):
            above = [nouns.concepts[parent] for parent in concept.parents]
            denied = {term for each in (concept, *above) for term in _denied(each.definition, _CONSUMES_NONE, nouns)}
            stems = sorted(map(nouns.rarest_stem, denied))
            yield from (f"{word}\t{' '.join(stems)}" for word in concept.words if nouns.first.get(word) == offset)


def _of_adjectives(adjectives: Mapping[str, Concept], commonest: Mapping[str, str], nouns: _Nouns) -> Iterator[str]:
    """The lines of adjectives that deny a thing by their form and by their definition."""
    for offset, concept in adjectives.items():
        denied = set(_denied(concept.definition, _HAS_NONE, nouns))
        for word in concept.words:
            form = _DENIES_BY_FORM.fullmatch(word)
            if form and commonest.get(word) == offset and (form[1] or form[2]) in denied:
                yield f"{word}\t{nouns.rarest_stem(form[1] or form[2])}"


def _of_animals(nouns: _Nouns) -> Iterator[str]:
    for offset, concept in nouns.concepts.items():
        if concept.file in (_FOODS, _SUBSTANCES) and any(
            nouns.is_a(word, _ANIMAL) for told in _OF_AN_ANIMAL.findall(concept.definition) for word in told.split()
        ):
            yield from (word for word in concept.words if offset in nouns.meanings.get(word, ())[:SENSES])


def _denied(definition: str, pattern: re.Pattern[str], nouns: _Nouns) -> Iterator[str]:
    """The nouns for tangible things that a definition denies: "dairy products at all" is "dairy product"."""
    for denial in pattern.findall(definition):
        for thing in _BETWEEN_THINGS.split(denial):
            words = [word for word in thing.split() if word not in _ARTICLES][:2]
            for term in (" ".join(words), " ".join(words).removesuffix("s"), *words[:1]):
                if term in nouns.first and nouns.is_a(term, _PHYSICAL):
                    yield term
                    break


def _stems(words: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(stem(part) for word in words for part in word.split()))
