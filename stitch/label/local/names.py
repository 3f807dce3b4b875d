"""Names of scopes: two noun phrases that recur in a scope and tell it from the others, "heating bill and price rise".

Candidates are noun phrases, two of them joined by a preposition, names as they are written, and files. A candidate
scores by its words: how often the scope says them, and how seldom the other scopes do (c-TF-IDF, where a scope is a
document). A name is looked at again when the scope has grown to twice its steps, and stays unless another is clearly
better.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count, pairwise
from math import log
from typing import TYPE_CHECKING, Any

from stitch.core.intent import clean_label
from stitch.label.local.reading import CALL, INSTRUCTIONS, NOTICE, RESULT, StepFeatures
from stitch.label.local.weights import vectors_of
from stitch.text.dates import MONTHS
from stitch.text.kinds import kinds_of
from stitch.text.languages import carrying, is_foreign, phrases_in, stem_in
from stitch.text.numbers import NUMBER_WORDS
from stitch.text.phrases import ADJECTIVES, noun_phrases
from stitch.text.words import FUNCTION_WORDS, is_verb, singular, word_set

if TYPE_CHECKING:
    from numpy.typing import NDArray

NO_NAME = "conversation"
_BETWEEN = " and "
_MOST_WORDS, _MOST_CHARS = 6, 60
_MOST_CANDIDATES = 160
"""Candidates that a scope keeps; beyond twice as many the rarer half goes."""
_A_STEP = 24
_LOOKS_AT = (2, 3, 5, 8, 13, 21, 34, 55)
"""With so many steps a scope's name is looked at again."""
_CLEARLY_BETTER = 1.25
_LENGTH, _COMPARED = 0.8, 12
_OPENING_COUNTS = 5.0
"""What the step that opens a scope says counts so often: it says what the scope is for."""
_CALL_COUNTS = 0.15
_JOINS = word_set("of for in to from with under on at about against without by")
_DETERMINERS = word_set("the a an our my your his her its their this that these those")
_GENERAL = word_set(
    """time day week month year hour minute morning afternoon evening night today tomorrow yesterday tonight weekend
    meanwhile thing stuff way lot bit kind sort type part place one people person guy man everybody somebody outside
    inside behind question answer problem issue idea option example case point fact reason help thanks hello regards
    course sense moment second while number name word line step end side rest half couple pair total amount value item
    detail information info message email mail call note list news hand head eye face life world home house work job
    money price cost user assistant agent customer tool function result output input error file code text data okay fun
    luck mind matter change plan request level plenty ok btw pm am etc mr mrs ms dr sir madam dear love friend family
    mom dad mum kid euro dollar eur usd percent"""
)  # fmt: skip
"""Nouns, in the singular, that name no scope by themselves."""
_NUMBERS = word_set("twenty thirty forty fifty sixty seventy eighty ninety hundred thousand dozen") | set(NUMBER_WORDS)
_LIGHT = ADJECTIVES | _NUMBERS
_SAYS_NOTHING = FUNCTION_WORDS | _LIGHT | _GENERAL
_CALENDAR = re.compile(
    rf"(?:{'|'.join(MONTHS)})[a-z]*|(?:mon|tues?|wed(?:nes)?|thurs?|fri|sat(?:ur)?|sun)(?:day)?s?|spring|summer|autumn|winter",
)
_COLOR = "chromat"
_CAPITALIZING = "de"
"""A language that tells nouns by a capital."""
_ROMANCE = ("es", "fr", "it", "pt")
_ARTICLES = word_set(
    "el la los las un una al del mi tu su le les une du des mon ma il lo gli dei della o os as um uma do da"
)
"""Articles of Romance languages, and words that stand as they do: a noun follows."""
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
    candidates: dict[str, list[str]] = field(default_factory=dict)
    """Candidates as they are written, with their stems."""


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

    def open(
        self,
        reading: StepFeatures,
        gist: NDArray[Any] | None,
        *,
        called: str = "",
        given: bool = False,
        otherwise: str = NO_NAME,
    ) -> None:
        """Take in that a step opens the next scope, which is named by the step unless it is `called` something.

        A name that is `given` by somebody else stays. `otherwise` names a scope of whose step nothing can be a name.
        """
        number = len(self._scopes)
        self._scopes.append(scope := _Named(called, given))
        self.extend(reading, number, times=_OPENING_COUNTS)
        if not called:
            scope.name = self._best(scope, gist, number=number)[0] or self._distinct(_any_words(reading) or otherwise)
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
        for candidate in _candidates(reading) if steps <= _LOOKS_AT[-1] else ():
            if candidate not in scope.candidates:
                parts = (each.lower() for each in _WORD.findall(candidate))
                carry = dict.fromkeys(stem_in(each, reading.language) for each in carrying(parts, reading.language))
                scope.candidates[candidate] = list(carry) or [candidate.lower()]
        if len(scope.candidates) > 2 * _MOST_CANDIDATES:
            kept = sorted(scope.candidates, key=lambda each: -self._score(each, scope))[:_MOST_CANDIDATES]
            scope.candidates = {each: scope.candidates[each] for each in kept}

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
        own.candidates = theirs.candidates | own.candidates
        self._telling -= bool(theirs.counts) and had
        theirs.counts, theirs.candidates = {}, {}
        self._taken.update({name: home for name, number in self._taken.items() if number == young})

    def give(self, number: int) -> None:
        """Take in that somebody else uses the name: it stays."""
        self._scopes[number].given = True

    def _best(self, scope: _Named, gist: NDArray[Any] | None, *, number: int) -> tuple[str, float]:
        """The best name that no other scope has or had, and how many times as good it is as the present one."""
        own = [each for each in scope.name.split(_BETWEEN) if each in scope.candidates]
        ranked = sorted(scope.candidates, key=lambda each: (-self._score(each, scope), each))
        scores = self._scores(list(dict.fromkeys([*own, *ranked[:_COMPARED]])), scope, gist)
        before = sum(scores[each] for each in own) or 1e-9
        order = sorted(scores, key=lambda each: (-scores[each], each))
        for first in order:
            said = set(scope.candidates[first])
            others = (each for each in order if said.isdisjoint(scope.candidates[each]))
            second = next((each for each in others if len(f"{first}{_BETWEEN}{each}") <= _MOST_CHARS), None)
            parts = [first] if second is None else [first, second]
            if self._taken.get((name := _BETWEEN.join(parts)).lower(), number) == number:
                return name, sum(scores[each] for each in parts) / before
        return "", 0.0

    def _scores(self, candidates: Sequence[str], scope: _Named, gist: NDArray[Any] | None) -> dict[str, float]:
        """Scores of candidates: those near to what the scope means count more."""
        if not candidates or gist is None:
            return {each: self._score(each, scope) for each in candidates}
        near = vectors_of([each.lower() for each in candidates]) @ gist / (float(gist @ gist) ** 0.5 or 1.0)
        return {
            each: round(self._score(each, scope) * max(float(cosine), 0.0), 4)
            for each, cosine in zip(candidates, near, strict=True)
        }

    def _score(self, candidate: str, scope: _Named) -> float:
        """The c-TF-IDF of a candidate's words."""
        average, parts = self._total / max(1, self._telling), scope.candidates[candidate]
        weights = [scope.counts.get(part, 0.0) * log(1 + average / self._said.get(part, 1.0)) for part in parts]
        score: float = sum(weights) / len(weights) ** _LENGTH
        return score

    def _distinct(self, name: str) -> str:
        folded = name.lower()
        if folded not in self._taken:
            return name
        return f"{name} {next(number for number in count(2) if f'{folded} {number}' not in self._taken)}"

    def save(self) -> dict[str, Any]:
        """Everything remembered, as JSON values."""
        return {
            "scopes": [{**vars(scope)} for scope in self._scopes],
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


def _candidates(reading: StepFeatures) -> dict[str, None]:
    """Candidate names of a scope after a step, as they are written."""
    found: list[str] = []
    if reading.said:
        named = (each.value for each in reading.mentions if each.entity_type in _NAMING and _is_name(each.value))
        found += [value for value in named if value.casefold() not in reading.speakers]
        found += _foreign_words(reading) if is_foreign(reading.language) else _english_phrases(reading)
    files = (each.value for each in reading.identifiers if each.kind in _FILE_KINDS and len(each.value) <= _MOST_CHARS)
    found += [value.rstrip("/").rpartition("/")[2] for value in files]
    return dict.fromkeys(filter(None, map(clean_label, list(dict.fromkeys(found))[:_A_STEP])))


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
        whole = text[phrase.start : end]
        written = _trimmed(whole)
        names = bool(written) and _may_name(written)
        follows = bool(before[0]) and names and whole.startswith(written)
        if follows and (between := _joining(text[before[1] : phrase.start])):
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
    """A phrase up to a number within it, without adjectives and numbers in front, and with a noun at its end."""
    parts = phrase.split()
    while parts and (_qualifies(parts[0], *parts[1:2]) or not parts[0][:1].isalpha()):
        del parts[0]
    del parts[next((place for place, part in enumerate(parts[:-1]) if part.isdigit()), len(parts)) :]
    while parts and parts[-1].islower() and parts[-1].isalpha() and not kinds_of(parts[-1]):
        del parts[-1]
    return " ".join(parts[-_MOST_WORDS:])


def _qualifies(word: str, following: str = "") -> bool:
    """Whether a word is a mere adjective or number, and does not begin a name: "great idea", but "New York"."""
    return word.lower() in _LIGHT and (word.islower() or following.islower())


def _may_name(phrase: str) -> bool:
    """Whether a phrase tells something by itself: never one word of grammar, adjective, participle or date alone."""
    parts = [part.lower() for part in _WORD.findall(phrase)]
    telling = [part for part in parts if not {part, singular(part)} & _SAYS_NOTHING and len(part) > 2]
    telling = [part for part in telling if not _CALENDAR.fullmatch(part) and part[:1].isalpha()]
    return bool(telling) and (len(parts) > 1 or not phrase.islower() or _is_noun(parts[0]))


def _is_noun(word: str) -> bool:
    """Whether a word alone names a thing and no quality or deed."""
    kinds = () if is_verb(word) or _PARTICIPLE.match(word) else kinds_of(word)
    return bool(kinds) and _COLOR not in kinds


def _foreign_words(reading: StepFeatures) -> Iterator[str]:
    """Words of another language that carry matter, as they are written; nouns where capitals or articles tell them."""
    said = _WORD.findall(reading.said)
    carry = set(carrying([each.lower() for each in said], reading.language))
    for before, word in pairwise(["", *said]):
        if word.lower() in carry and len(word) > 3 and word.isalpha():
            named = word[0].isupper() or (reading.language in _ROMANCE and before.lower() in _ARTICLES)
            if named or reading.language not in (_CAPITALIZING, *_ROMANCE):
                yield clean_label(word)
