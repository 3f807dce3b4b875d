"""Names of scopes: noun phrases that recur in a scope and tell it from the others, "heating bill · price rise".

A candidate scores by its words (c-TF-IDF, where a scope is a document), by the steps that say it, and by how near it is
to what the scope means. A name is looked at again when the scope has grown to twice its steps, and stays unless another
is clearly better.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from math import log1p, sqrt
from typing import TYPE_CHECKING, Any

from stitch.label.local.name_phrases import WORD, any_words, phrases_of, telling_share
from stitch.label.local.reading import INSTRUCTIONS, NOTICE, StepFeatures
from stitch.label.local.weights import vectors_of
from stitch.text.languages import carrying, stem_in

if TYPE_CHECKING:
    from numpy.typing import NDArray

NO_NAME = "conversation"
_BETWEEN = " · "
_MOST_CANDIDATES = 160
"""Candidates that a scope keeps; beyond twice as many the worse half goes."""
_LOOKS_AT = (2, 3, 5, 8, 13, 21, 34, 55)
"""With so many steps a scope's name is looked at again."""
_CLEARLY_BETTER = 1.25
_COMPARED = 12
"""So many candidates are compared by what they mean."""
_OPENING_COUNTS = 2
"""What the step that opens a scope says counts so often beside: it says what the scope is for."""
_GROWN_STEPS, _MOST_CHARS = 8, 90
"""With so many steps a scope is named by three phrases, before by two; all together are no longer."""


@dataclass
class _Candidate:
    """A phrase that may name a scope, with where the scope says it."""

    text: str
    stems: list[str]
    steps: int = 0
    opens: bool = False
    """Whether the step that opened the scope says it."""


@dataclass
class _Named:
    """Candidates and counts for the name of one scope."""

    name: str
    given: bool = False
    """Whether somebody else gave it."""
    steps: int = 0
    counts: dict[str, int] = field(default_factory=dict)
    """Stems with how many steps of the scope say them."""
    candidates: dict[str, _Candidate] = field(default_factory=dict)
    """By their text, folded."""


class ScopeNames:
    """The names of the scopes of one trajectory, by number."""

    def __init__(self) -> None:
        self._scopes: list[_Named] = []
        self._said: dict[str, int] = {}
        """Stems with how many steps say them."""
        self._steps = 0
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
        self.extend(reading, number)
        for each in scope.candidates.values():
            each.opens = True
        if not called:
            scope.name = self._best(number, gist)[0] or self._distinct(any_words(reading) or otherwise)
        if given:
            self._taken[scope.name.lower()] = number
        self._taken.setdefault(scope.name.lower(), number)

    def extend(self, reading: StepFeatures, number: int) -> None:
        """Take in that a step belongs to a scope: its words, and the candidates that stand in it.

        Of a scope whose name was given, or that is longer than any whose name is looked at, candidates are of no use.
        """
        if reading.kind in (NOTICE, INSTRUCTIONS):
            return
        scope = self._scopes[number]
        scope.steps += 1
        self._steps += 1
        for word in dict.fromkeys(reading.stems):
            scope.counts[word] = scope.counts.get(word, 0) + 1
            self._said[word] = self._said.get(word, 0) + 1
        if scope.given or scope.steps > _LOOKS_AT[-1]:
            scope.candidates = {}
            return
        for text in phrases_of(reading):
            if (candidate := scope.candidates.get(text.lower())) is None:
                parts = (each.lower() for each in WORD.findall(text))
                stems = dict.fromkeys(stem_in(each, reading.language) for each in carrying(parts, reading.language))
                candidate = scope.candidates[text.lower()] = _Candidate(text, list(stems) or [text.lower()])
            candidate.steps += 1
        if len(scope.candidates) > 2 * _MOST_CANDIDATES:
            scope.candidates = {each: scope.candidates[each] for each in self._likeliest(scope, most=_MOST_CANDIDATES)}

    def reconsider(self, number: int, gist: NDArray[Any] | None, *, steps: int) -> str | None:
        """The better name of a scope that has grown to so many steps; None if it keeps its own. Changes nothing."""
        scope = self._scopes[number]
        if scope.given or steps not in _LOOKS_AT:
            return None
        better, times = self._best(number, gist)
        return better if better and better != scope.name and times > _CLEARLY_BETTER else None

    def rename(self, number: int, name: str) -> None:
        """Call a scope otherwise from now on."""
        self._scopes[number].name = name
        self._taken[name.lower()] = number

    def join(self, young: int, home: int) -> None:
        """Take in that a scope continues an earlier one, whose name it has from now on."""
        own, theirs = self._scopes[home], self._scopes[young]
        own.steps += theirs.steps
        for word, times in theirs.counts.items():
            own.counts[word] = own.counts.get(word, 0) + times
        for text, each in theirs.candidates.items():
            known = own.candidates.setdefault(text, _Candidate(each.text, each.stems))
            known.steps += each.steps
        theirs.counts, theirs.candidates = {}, {}
        self._taken.update({name: home for name, number in self._taken.items() if number == young})

    def give(self, number: int) -> None:
        """Take in that somebody else uses the name: it stays."""
        self._scopes[number].given = True

    def _best(self, number: int, gist: NDArray[Any] | None) -> tuple[str, float]:
        """The best name that no other scope has or had, and how many times as good it is as the present one."""
        scope = self._scopes[number]
        own = [each for each in scope.name.lower().split(_BETWEEN) if each in scope.candidates]
        compared = list(dict.fromkeys([*own, *self._likeliest(scope, most=_COMPARED)]))
        scores = {each: self._score(scope.candidates[each], scope) for each in compared}
        if gist is not None and compared:
            near = vectors_of(compared) @ gist / (float(gist @ gist) ** 0.5 or 1.0)
            scores = {each: scores[each] * max(0.0, float(by)) for each, by in zip(compared, near, strict=True)}
        order = sorted(scores, key=lambda each: (-round(scores[each], 4), each))
        for first in order:
            parts = self._with_others(first, order, scope)
            name = _BETWEEN.join(scope.candidates[each].text for each in parts)
            if self._taken.get(name.lower(), number) == number:
                return name, sum(scores[each] for each in parts) / (sum(scores[each] for each in own) or 1e-9)
        return "", 0.0

    def _with_others(self, first: str, order: Sequence[str], scope: _Named) -> list[str]:
        """A candidate and the best others that share no word with it or each other."""
        parts, said = [first], set(scope.candidates[first].stems)
        for each in order:
            if len(parts) == (3 if scope.steps >= _GROWN_STEPS else 2):
                break
            if said.isdisjoint(scope.candidates[each].stems) and len(_BETWEEN.join([*parts, each])) <= _MOST_CHARS:
                parts.append(each)
                said.update(scope.candidates[each].stems)
        return parts

    def _likeliest(self, scope: _Named, *, most: int) -> list[str]:
        """The best candidates without regard to their meaning."""
        scores = {text: self._score(each, scope) for text, each in scope.candidates.items()}
        return sorted(scores, key=lambda each: (-scores[each], each))[:most]

    def _score(self, candidate: _Candidate, scope: _Named) -> float:
        """c-TF-IDF of a candidate's words, times the share that says something, by the steps that say the phrase."""
        extra = _OPENING_COUNTS * candidate.opens
        own = [(scope.counts.get(each, 0), self._said.get(each, 0)) for each in candidate.stems]
        telling = sum((here + extra) * log1p(self._steps / (1 + said - here)) for here, said in own) / sqrt(len(own))
        return telling * telling_share(candidate.text) * sqrt(log1p(candidate.steps))

    def _distinct(self, name: str) -> str:
        folded = name.lower()
        if folded not in self._taken:
            return name
        return f"{name} {next(number for number in count(2) if f'{folded} {number}' not in self._taken)}"

    def save(self) -> dict[str, Any]:
        """Everything remembered, as JSON values."""
        return {"scopes": self._scopes, "said": self._said, "steps": self._steps, "taken": self._taken}

    @classmethod
    def load(cls, data: Mapping[str, Any]) -> ScopeNames:
        """Continue from what `save` returned."""
        names = cls()
        for scope in data["scopes"]:
            candidates = {text: _Candidate(**each) for text, each in scope["candidates"].items()}
            names._scopes.append(_Named(**{**scope, "candidates": candidates}))
        names._said, names._steps, names._taken = dict(data["said"]), data["steps"], dict(data["taken"])
        return names
