"""Names of scopes: two noun phrases that recur in a scope and tell it from the others, "heating bill and price rise".

`FEATURES` tell which candidate is a good name; their weights are fitted to scopes whose candidates a person has read.
A name is looked at again when the scope has grown to twice its steps, and stays unless another is clearly better.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from math import exp, log, log1p
from typing import TYPE_CHECKING, Any

from stitch.label.local.name_phrases import MOST_CHARS, WORD, any_words, phrases_of, shape
from stitch.label.local.reading import INSTRUCTIONS, NOTICE, StepFeatures
from stitch.label.local.weights import shipped_name_weights, sums_of
from stitch.text.languages import carrying, stem_in

if TYPE_CHECKING:
    from numpy.typing import NDArray

FEATURES = ("rarity", "steps", "opening", "asked", "words", "matter", "nearness", "weight")
"""Of a candidate, none of which speaks against it: how much its words tell the scope from the rest of the trajectory
(c-TF-IDF, beside the best candidate), in how many of the scope's steps it stands, whether in the one that opened it,
whether in a question or request, whether it has more than one word, which share of them says something, how near it is
to what the scope means, and how rare it is in the language, which the table of the default embedder knows."""
NO_NAME = "conversation"
_BETWEEN = " and "
_MOST_CANDIDATES = 160
"""Candidates that a scope keeps; beyond twice as many the worse half goes."""
_LOOKS_AT = (2, 3, 5, 8, 13, 21, 34, 55)
"""With so many steps a scope's name is looked at again."""
_CLEARLY_BETTER = 1.25
_COMPARED = 12
"""So many candidates are compared by what they mean."""


@dataclass
class _Candidate:
    """A phrase that may name a scope, with where the scope says it."""

    text: str
    stems: list[str]
    steps: int = 0
    opens: bool = False
    """Whether the step that opened the scope says it: that says what the scope is for."""
    asked: bool = False


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

    def __init__(self, weights: Sequence[float] | None = None) -> None:
        self._weights = weights or shipped_name_weights()
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
        for text, asked in phrases_of(reading).items():
            if (candidate := scope.candidates.get(text.lower())) is None:
                parts = (each.lower() for each in WORD.findall(text))
                stems = dict.fromkeys(stem_in(each, reading.language) for each in carrying(parts, reading.language))
                candidate = scope.candidates[text.lower()] = _Candidate(text, list(stems) or [text.lower()])
            candidate.steps += 1
            candidate.asked = candidate.asked or asked
        if len(scope.candidates) > 2 * _MOST_CANDIDATES:
            likeliest = self._likeliest(self._told(scope), most=_MOST_CANDIDATES)
            scope.candidates = {each: scope.candidates[each] for each in likeliest}

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
            known.asked = known.asked or each.asked
        theirs.counts, theirs.candidates = {}, {}
        self._taken.update({name: home for name, number in self._taken.items() if number == young})

    def give(self, number: int) -> None:
        """Take in that somebody else uses the name: it stays."""
        self._scopes[number].given = True

    def features(
        self, number: int, gist: NDArray[Any] | None, *, most: int = _COMPARED, own: Sequence[str] = ()
    ) -> dict[str, list[float]]:
        """`FEATURES` of the likeliest candidates of a scope and of its `own`, by their text, folded."""
        import numpy as np

        told = self._told(self._scopes[number])
        chosen = list(dict.fromkeys([*own, *self._likeliest(told, most=most)]))
        sums = sums_of(chosen)
        lengths = np.maximum(1.0, np.sqrt(np.add.reduce(sums * sums, axis=1)))
        near = np.zeros(len(chosen)) if gist is None else sums @ gist / lengths / (float(gist @ gist) ** 0.5 or 1.0)
        return {
            each: [*told[each], max(0.0, cosine), log(length) - log(len(WORD.findall(each)) or 1) / 2]
            for each, cosine, length in zip(chosen, near.tolist(), lengths.tolist(), strict=True)
        }

    def _likeliest(self, told: Mapping[str, Sequence[float]], *, most: int) -> list[str]:
        """The best candidates by what is told of them without their meaning."""
        return sorted(told, key=lambda each: (-_weighed(told[each], self._weights), each))[:most]

    def _told(self, scope: _Named) -> dict[str, list[float]]:
        """All features of all candidates but those of their meaning."""
        rarities = [self._rarity(each, scope) for each in scope.candidates.values()]
        top, steps = max(rarities, default=0.0) or 1.0, log1p(scope.steps)
        return {
            text: [(rarity / top) ** 0.5, log1p(each.steps) / steps, each.opens, each.asked, *shape(each.text)]
            for (text, each), rarity in zip(scope.candidates.items(), rarities, strict=True)
        }

    def _rarity(self, candidate: _Candidate, scope: _Named) -> float:
        """Weight of the words of a candidate in its scope beside the rest of the trajectory: c-TF-IDF."""
        own = [(scope.counts.get(each, 0), self._said.get(each, 0)) for each in candidate.stems]
        return sum(log1p(here) * log1p(self._steps / (1 + said - here)) for here, said in own) / len(own)

    def _best(self, number: int, gist: NDArray[Any] | None) -> tuple[str, float]:
        """The best name that no other scope has or had, and how many times as likely it is as the present one."""
        scope = self._scopes[number]
        own = [each for each in scope.name.lower().split(_BETWEEN) if each in scope.candidates]
        features = self.features(number, gist, own=own)
        chances = {each: exp(_weighed(row, self._weights)) for each, row in features.items()}
        before = sum(chances[each] for each in own) or 1e-9
        order = sorted(chances, key=lambda each: (-round(chances[each], 4), each))
        for first in order:
            said = set(scope.candidates[first].stems)
            others = (each for each in order if said.isdisjoint(scope.candidates[each].stems))
            second = next((each for each in others if len(f"{first}{_BETWEEN}{each}") <= MOST_CHARS), None)
            parts = [first] if second is None else [first, second]
            name = _BETWEEN.join(scope.candidates[each].text for each in parts)
            if self._taken.get(name.lower(), number) == number:
                return name, sum(chances[each] for each in parts) / before
        return "", 0.0

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


def _weighed(features: Sequence[float], weights: Sequence[float]) -> float:
    return sum(weight * each for weight, each in zip(weights, features, strict=False))
