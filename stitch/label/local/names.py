"""Names of scopes: noun phrases that recur in a scope and tell it from the others.

Candidates are noun phrases, two of them joined by a preposition, names as they are written, and files. A candidate
scores by its words: how often the scope says them, and how seldom the other scopes do (c-TF-IDF, where a scope is a
document). A name is looked at again when the scope has grown to twice its steps, and stays unless another is clearly
better.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import count, pairwise
from math import log, log1p
from typing import TYPE_CHECKING, Any

from stitch.core.intent import clean_label
from stitch.label.local.reading import CALL, INSTRUCTIONS, NOTICE, RESULT, StepFeatures
from stitch.label.local.weights import vectors_of
from stitch.text.dates import MONTHS
from stitch.text.kinds import kinds_of
from stitch.text.languages import carrying, is_foreign, phrases_in, stem_in
from stitch.text.numbers import NUMBER_WORDS
from stitch.text.phrases import ADJECTIVES, noun_phrases
from stitch.text.words import FUNCTION_WORDS, is_verb, stem, word_set, words

if TYPE_CHECKING:
    from numpy.typing import NDArray

NO_NAME = "conversation"
_MOST_WORDS, _MOST_CHARS = 6, 60
_MOST_CANDIDATES = 160
"""Candidates that a scope keeps; beyond twice as many the rarer half goes."""
_A_STEP = 24
_LOOKS_AT = (2, 3, 5, 8, 13, 21, 34, 55)
"""With so many steps a scope's name is looked at again."""
_CLEARLY_BETTER = 1.25
_LENGTH, _RECURS, _MEANS, _COMPARED = 0.8, 0.5, 1.0, 12
_OPENING_COUNTS = 5.0
"""What the step that opens a scope says counts so often: it says what the scope is for."""
_NAME_COUNTS, _FILE_COUNTS, _CALL_COUNTS = 1.15, 1.1, 0.15
_JOINS = word_set("of for in to from with under on at about against without by")
_DETERMINERS = word_set("the a an our my your his her its their this that these those")
_GENERAL = word_set(
    """time times day days week weeks month months year years hour hours minute minutes morning afternoon evening night
    today tomorrow yesterday tonight weekend thing things stuff way ways lot bit kind sort type part parts place one
    ones people person guy guys man everybody somebody question questions answer answers problem problems issue issues
    idea ideas option options example case point fact reason help thanks hello course sense moment second while number
    numbers name names word words line lines step steps end side rest half couple pair total amount value item items
    detail details information info message messages email mail call note notes list lists news hand head eye eyes face
    life world home house work job money price prices cost costs user assistant agent customer tool function result
    results output input error file files code text data okay fun luck mind matter change changes plan request
    level lots plenty kinds sorts ok pm am etc mr mrs ms dr sir madam dear love friend friends family mom dad
    mum kid kids euro euros dollar dollars eur usd percent minutes"""
)  # fmt: skip
"""Nouns that name no scope by themselves."""
_NUMBERS = word_set("twenty thirty forty fifty sixty seventy eighty ninety hundred thousand dozen") | set(NUMBER_WORDS)
_SAYS_NOTHING = FUNCTION_WORDS | ADJECTIVES | _GENERAL | _NUMBERS
_CALENDAR = re.compile(
    rf"(?:{'|'.join(MONTHS)})[a-z]*|(?:mon|tues?|wed(?:nes)?|thurs?|fri|sat(?:ur)?|sun)(?:day)?s?|spring|summer|autumn|winter",
)
_COLOR = "chromat"
_CAPITALIZING = "de"
"""A language that tells nouns by a capital."""
_PARTICIPLE = re.compile(r"\w{2,}(?:ing|ed|ly)$")
_WORD = re.compile(r"[^\W_]+(?:[-.'’/&][^\W_]+)*")
_FILE_KINDS = ("file", "path")
_NAMING = ("name", "place", "organization", "day")
"""Classes of values that may name a scope; a day is "day 2"."""


@dataclass
class _Named:
    """Candidates and counts for the name of one scope."""

    name: str
    given: bool = False
    """Whether somebody else gave it."""
    counts: dict[str, float] = field(default_factory=dict)
    """Stems with how often the scope says them."""
    candidates: dict[str, list[Any]] = field(default_factory=dict)
    """Candidates as they are written, with how often they were said and their stems."""


class ScopeNames:
    """The names of the scopes of one trajectory, by number."""

    def __init__(self) -> None:
        self._scopes: list[_Named] = []
        self._said: dict[str, float] = {}
        """Stems with how often all scopes say them."""
        self._total = 0.0
        self._telling = 0
        """How many scopes have counts: those that were joined to another have none."""
        self._taken: dict[str, int] = {}
        """Names, folded, also former ones, with their scopes."""

    def of(self, number: int) -> str:
        """The name of a scope."""
        return self._scopes[number].name

    def scope_called(self, name: str) -> int | None:
        """The number of the scope that has or had a name."""
        return self._taken.get(name.lower())

    def is_given(self, number: int) -> bool:
        """Whether somebody else gave the name."""
        return self._scopes[number].given

    def open(self, reading: StepFeatures, gist: NDArray[Any] | None, *, called: str = "", given: bool = False) -> None:
        """Take in that a step opens the next scope, which is named by the step unless it is `called` something.

        A name that is `given` by somebody else stays.
        """
        number = len(self._scopes)
        self._scopes.append(scope := _Named(called, given))
        self.extend(reading, number, times=_OPENING_COUNTS)
        if not called:
            scope.name = self._best(scope, gist, number=number)[0] or self._distinct(_any_words(reading) or NO_NAME)
        if given:
            self._taken[scope.name.lower()] = number
        self._taken.setdefault(scope.name.lower(), number)

    def extend(self, reading: StepFeatures, number: int, *, steps: int = 1, times: float = 1.0) -> None:
        """Take in that a step belongs to a scope: its words, and the candidates that stand in it.

        Of a scope with more `steps` than any at which its name is looked at, candidates are of no use any more.
        """
        if reading.kind in (NOTICE, INSTRUCTIONS):
            return
        scope, said = self._scopes[number], self._said
        times *= _CALL_COUNTS if reading.kind in (CALL, RESULT) else 1.0
        self._telling += bool(reading.stems) and not scope.counts
        for word in dict.fromkeys(reading.stems):
            scope.counts[word] = scope.counts.get(word, 0.0) + times
            said[word] = said.get(word, 0.0) + times
            self._total += times
        for candidate, counts in _candidates(reading).items() if steps <= _LOOKS_AT[-1] else ():
            if candidate not in scope.candidates:
                parts = (each.lower() for each in _WORD.findall(candidate))
                carry = dict.fromkeys(stem_in(each, reading.language) for each in carrying(parts, reading.language))
                scope.candidates[candidate] = [0.0, *carry]
            scope.candidates[candidate][0] += times * counts
        if len(scope.candidates) > 2 * _MOST_CANDIDATES:
            kept = sorted(scope.candidates.items(), key=lambda item: -item[1][0])[:_MOST_CANDIDATES]
            scope.candidates = dict(kept)

    def reconsider(self, number: int, gist: NDArray[Any] | None, *, steps: int) -> str | None:
        """The better name of a scope that has grown to so many steps; None if it keeps its own. Changes nothing."""
        scope = self._scopes[number]
        if scope.given or steps not in _LOOKS_AT:
            return None
        better, times = self._best(scope, gist, number=number)
        return better if better and better != scope.name and times > _CLEARLY_BETTER else None

    def rename(self, number: int, name: str) -> None:
        """Call a scope otherwise from now on."""
        self._scopes[number].name = name
        self._taken[name.lower()] = number

    def join(self, young: int, home: int) -> None:
        """Take in that a scope continues an earlier one, whose name it has from now on."""
        own, theirs = self._scopes[home], self._scopes[young]
        had = bool(own.counts)
        for word, times in theirs.counts.items():
            own.counts[word] = own.counts.get(word, 0.0) + times
        for candidate, (times, *parts) in theirs.candidates.items():
            own.candidates.setdefault(candidate, [0.0, *parts])[0] += times
        self._telling -= bool(theirs.counts) and had
        theirs.counts, theirs.candidates = {}, {}
        self._taken.update({name: home for name, number in self._taken.items() if number == young})

    def give(self, number: int) -> None:
        """Take in that somebody else uses the name: it stays."""
        self._scopes[number].given = True

    def _best(self, scope: _Named, gist: NDArray[Any] | None, *, number: int) -> tuple[str, float]:
        """The best candidate that no other scope has or had as its name, with its score; an empty one if none is."""
        own = [scope.name] if scope.name in scope.candidates else []
        free = [each for each in scope.candidates if self._taken.get(each.lower(), number) == number]
        ranked = sorted(free, key=lambda each: (-self._score(each, scope), each))
        scores = self._scores(list(dict.fromkeys([*own, *ranked[:_COMPARED]])), scope, gist)
        best = max(scores, key=lambda each: (scores[each], each), default="")
        return best, scores.get(best, 0.0) / (scores.get(scope.name, 0.0) or 1e-9)

    def _scores(self, candidates: Sequence[str], scope: _Named, gist: NDArray[Any] | None) -> dict[str, float]:
        """Scores of candidates: those near to what the scope means count more."""
        if not candidates or gist is None:
            return {each: self._score(each, scope) for each in candidates}
        near = vectors_of([each.lower() for each in candidates]) @ gist / (float(gist @ gist) ** 0.5 or 1.0)
        return {
            each: round(self._score(each, scope) * max(float(cosine), 0.0) ** _MEANS, 4)
            for each, cosine in zip(candidates, near, strict=True)
        }

    def _score(self, candidate: str, scope: _Named) -> float:
        """The c-TF-IDF of a candidate's words, more if all of it recurs."""
        times, *parts = scope.candidates.get(candidate) or [1.0, *map(stem, words(candidate))]
        average = self._total / max(1, self._telling)
        weights = [
            scope.counts.get(part, 0.0) * log(1 + average / self._said.get(part, 1.0))
            for part in parts or [candidate.lower()]
        ]
        score: float = sum(weights) / len(weights) ** _LENGTH * (1 + log1p(times)) ** _RECURS
        return score

    def _distinct(self, name: str) -> str:
        folded = name.lower()
        if folded not in self._taken:
            return name
        return f"{name} {next(number for number in count(2) if f'{folded} {number}' not in self._taken)}"

    def save(self) -> dict[str, Any]:
        """Everything remembered, as JSON values."""
        return {
            "scopes": [asdict(scope) for scope in self._scopes],
            "said": self._said,
            "total": self._total,
            "taken": self._taken,
        }

    @classmethod
    def load(cls, data: Mapping[str, Any]) -> ScopeNames:
        """Continue from what `save` returned."""
        names = cls()
        names._scopes = [_Named(**scope) for scope in data["scopes"]]
        names._said, names._total, names._taken = dict(data["said"]), data["total"], dict(data["taken"])
        names._telling = sum(bool(each.counts) for each in names._scopes)
        return names


def _candidates(reading: StepFeatures) -> dict[str, float]:
    """Candidate names of a scope after a step, as they are written, with the count of each."""
    found: dict[str, float] = {}
    if reading.said:
        for mention in reading.mentions:
            is_name = mention.entity_type in _NAMING and _is_name(mention.value)
            if is_name and mention.value.casefold() not in reading.speakers:
                found[mention.value] = _NAME_COUNTS
        phrases = _foreign_words(reading) if is_foreign(reading.language) else _english_phrases(reading)
        for phrase in phrases:
            found.setdefault(phrase, 1.0)
    for each in reading.identifiers:
        if each.kind in _FILE_KINDS and len(each.value) <= _MOST_CHARS:
            found.setdefault(each.value.rstrip("/").rpartition("/")[2], _FILE_COUNTS)
    cleaned = {clean_label(each): counts for each, counts in list(found.items())[:_A_STEP]}
    return {each: counts for each, counts in cleaned.items() if each}


def _any_words(reading: StepFeatures) -> str:
    """The first two words in a row that carry matter, where nothing better names a scope; empty if there are none."""
    said = phrases_in(reading.said, reading.language)
    carry = set(carrying([each.lower() for each in said], reading.language)) - _GENERAL
    carry = {each for each in carry if not _CALENDAR.fullmatch(each)}
    pairs = (f"{one} {other}" for one, other in pairwise(said) if {one.lower(), other.lower()} <= carry)
    return next((clean_label(pair) for pair in pairs if pair.replace(" ", "").isalpha()), "")


def _is_name(value: str) -> bool:
    """Whether a value is more than a word of everyday or a date; "day 2" is."""
    parts = [part.lower() for part in _WORD.findall(value)]
    dated = any(_CALENDAR.fullmatch(part) or not part.isalnum() for part in parts)
    telling = [part for part in parts if part not in _SAYS_NOTHING and not _CALENDAR.fullmatch(part)]
    return len(value) > 2 and any(part[0].isalpha() or not dated for part in telling)


def _english_phrases(reading: StepFeatures) -> Iterator[str]:
    """Noun phrases of a text, and pairs of them that a preposition joins."""
    text, before = reading.said, ("", 0)
    for phrase in noun_phrases(text):
        end = phrase.start + len(phrase.text)
        written = _trimmed(text[phrase.start : end])
        names = bool(written) and _may_name(written)
        if before[0] and names and (between := _joining(text[before[1] : phrase.start])):
            whole = f"{before[0]} {between} {written}"
            if len(whole.split()) <= _MOST_WORDS and len(whole) <= _MOST_CHARS:
                yield whole
        if names and written.casefold() not in reading.speakers:
            yield written
        before = (written, end) if names else ("", end)


def _joining(between: str) -> str:
    """A preposition, with a determiner, that stands alone between two phrases; empty if anything else does."""
    parts = between.split()
    folded = [part.lower() for part in parts]
    joins = folded[:1] and folded[0] in _JOINS and "\n" not in between
    return " ".join(parts) if joins and all(part in _DETERMINERS for part in folded[1:]) else ""


def _trimmed(phrase: str) -> str:
    """A phrase without what says nothing at its front: adjectives of degree, numbers, participles."""
    parts = phrase.split()
    while parts and (parts[0].lower() in ADJECTIVES or parts[0].lower() in NUMBER_WORDS or not parts[0][:1].isalpha()):
        del parts[0]
    return " ".join(parts[-_MOST_WORDS:])


def _may_name(phrase: str) -> bool:
    """Whether a phrase tells something by itself: never one word of grammar, adjective, participle or date alone."""
    parts = [part.lower() for part in _WORD.findall(phrase)]
    telling = [part for part in parts if part not in _SAYS_NOTHING and len(part) > 2]
    telling = [part for part in telling if not _CALENDAR.fullmatch(part) and part[:1].isalpha()]
    return bool(telling) and (len(parts) > 1 or not phrase.islower() or _is_noun(parts[0]))


def _is_noun(word: str) -> bool:
    """Whether a word alone names a thing and no quality or deed."""
    kinds = () if is_verb(word) or _PARTICIPLE.match(word) else kinds_of(word)
    return bool(kinds) and _COLOR not in kinds


def _foreign_words(reading: StepFeatures) -> Iterator[str]:
    """Words of another language that carry matter, as they are written."""
    said = _WORD.findall(reading.said)
    carry = set(carrying([each.lower() for each in said], reading.language))
    told = (each for each in said if each.lower() in carry and len(each) > 3 and each.isalpha())
    return (clean_label(each) for each in told if reading.language != _CAPITALIZING or each[0].isupper())
