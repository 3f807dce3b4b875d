"""Labels as evidence beside similarity, for questions that describe or hint at where to look and do not name it.

"In the order where the city is Oslo, what was the price?" names no scope: values tell which one it may be, and the one
asked for may be cut in pieces. There a label is a witness among others, and so is standing near to the steps that say
what the question says: the answer comes a few steps after "Oslo" was said, in words that repeat none of it. "What was
the price for Oslo?" says the same less clearly, and all of it counts less.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from stitch.core import LabelKind, LabelVocabulary, ScoredSnippet
from stitch.core.ranking import ranking_key
from stitch.retrieve.question.reading import Question
from stitch.text.moments import find_moments
from stitch.text.words import stem, words


class _Strength(NamedTuple):
    """What counts how much beside a similarity between 0 and 1."""

    labels: Mapping[LabelKind, float]
    """A matched label of a kind; two of a kind count once."""
    nearness: float
    """To stand at all the clues at once."""


_DESCRIBED = _Strength({LabelKind.SCOPE: 0.2, LabelKind.ENTITY_TYPE: 0.45, LabelKind.EVENT_TYPE: 0.1}, 1.0)
"""For a question with a clause that says where to look."""
_HINTED = _Strength({LabelKind.SCOPE: 0.05, LabelKind.ENTITY_TYPE: 0.05, LabelKind.EVENT_TYPE: 0.05}, 0.4)
"""For any other question: its words are those of the answer as well."""
_SHORT_CHARS = 180
"""Steps of up to so many characters say little of what they are about. Longer ones say it themselves."""
_LEAST_SHARE = 0.1
"""Less than this of the strength moves nothing, and is not worth the reading."""
_FADING_STEPS = 24.0
"""At so many steps from a clue, a third of its weight is left."""
_OTHER_SCOPE_STEPS = 4
"""So many steps further away is what stands in another scope."""
_OWN_STEP = 2
"""As so many steps counts one of the same scope; steps of other scopes in between do not count."""
_NAME, _PARTLY_SAID, _TERM = 5.0, 1.5, 1.0
"""What a name, date or time, a date that is not fully said, and any other word count as clues."""

_ENOUGH = 20.0
"""Clues that weigh less than this together (about one name in sixty steps) do not count in full."""
_NO_SCOPE = "\0"
"""Stands for the scope of a hit that has none."""


class _Place(NamedTuple):
    """Where a hit stands."""

    trajectory: str
    scope: str
    position: int
    of_all: int
    """How many hits of the trajectory stand before it."""
    of_scope: int
    """How many of these are of its scope."""


def weigh(question: Question, hits: Sequence[ScoredSnippet], vocabulary: LabelVocabulary) -> list[ScoredSnippet]:
    """The hits ranked by similarity with what their labels and their nearness to the clues add; no density is left."""
    strength, share = (_DESCRIBED, 1.0) if question.context else (_HINTED, _share(hits))
    if share < _LEAST_SHARE:
        return sorted((hit._replace(density=0.0) for hit in hits), key=ranking_key)
    scopes = [vocabulary.canonical(LabelKind.SCOPE, hit.snippet.intent.scope or "") for hit in hits]
    said = [words(hit.snippet.text) for hit in hits]
    near = _nearness(list(_clues(question, hits, said)), hits, scopes)
    weighed = [
        hit._replace(
            density=0.0,
            similarity=hit.similarity
            + share * strength.nearness * beside
            + share * sum(strength.labels[kind] for kind in {label.kind for label in hit.matched}),
        )
        for hit, beside in zip(hits, near, strict=True)
    ]
    return sorted(weighed, key=ranking_key)


def _share(hits: Sequence[ScoredSnippet]) -> float:
    """How much of what a step is about stands around it and not in it, by the length of most steps."""
    lengths = sorted(len(hit.snippet.text) for hit in hits)
    return min(1.0, _SHORT_CHARS / max(1, lengths[len(lengths) // 2])) ** 2 if lengths else 0.0


def _clues(
    question: Question, hits: Sequence[ScoredSnippet], said: Sequence[Sequence[str]]
) -> Iterator[tuple[float, list[int]]]:
    """What the question says of where to look, each with its weight and the numbers of the hits that say it."""
    texts = [f" {' '.join(own)} " for own in said]
    left = f" {' '.join(words(question.clues))} "
    named: set[str] = set()
    for name in sorted(question.names, key=lambda name: (-len(name), name)):
        if f" {name} " in left:
            left = left.replace(f" {name} ", " | ")
            named.update(map(stem, name.split()))
            yield from _told(_NAME, (f" {name} " in text for text in texts))
    if question.moments:
        moments = [find_moments(hit.snippet.text) for hit in hits]
        for moment, fully in question.moments.items():
            yield from _told(_NAME if fully else _PARTLY_SAID, (moment in own for own in moments))
    stems = [frozenset(map(stem, own)) for own in said]
    for term in sorted(question.clue_stems - named):
        yield from _told(_TERM, (term in own for own in stems))


def _told(weight: float, says: Iterable[bool]) -> Iterator[tuple[float, list[int]]]:
    """The clue, if a hit says it, worth the more the fewer do."""
    told = list(says)
    if any(told):
        yield weight * math.log((len(told) + 1) / sum(told)), [number for number, own in enumerate(told) if own]


def _nearness(
    clues: Sequence[tuple[float, list[int]]], hits: Sequence[ScoredSnippet], scopes: Sequence[str]
) -> list[float]:
    """How near each hit stands to the clues, from 0 to 1."""
    near, total = [0.0] * len(hits), max(_ENOUGH, sum(weight for weight, _ in clues))
    in_order = sorted(range(len(hits)), key=lambda number: hits[number].snippet.position)
    places = _places(hits, scopes, in_order)
    for weight, numbers in clues:
        for number, steps in enumerate(_steps_to(frozenset(numbers), places, in_order)):
            near[number] += weight / total * math.exp(-steps / _FADING_STEPS)
    return near


def _places(hits: Sequence[ScoredSnippet], scopes: Sequence[str], in_order: Sequence[int]) -> list[_Place]:
    before: Counter[tuple[str, str]] = Counter()
    places: dict[int, _Place] = {}
    for number in in_order:
        of, scope = hits[number].snippet.trajectory, scopes[number] or _NO_SCOPE
        places[number] = _Place(of, scope, hits[number].snippet.position, before[of, ""], before[of, scope])
        before[of, ""] += 1
        before[of, scope] += 1
    return [places[number] for number in range(len(hits))]


def _steps_to(clue: frozenset[int], places: Sequence[_Place], in_order: Sequence[int]) -> list[float]:
    """How many steps away from the nearest of the clue each hit is; infinitely many in a trajectory without it."""
    away = [math.inf] * len(places)
    for numbers in (in_order, in_order[::-1]):
        said: dict[tuple[str, str], _Place] = {}
        for number in numbers:
            place = places[number]
            if number in clue:
                said[place.trajectory, ""] = said[place.trajectory, place.scope] = place
            if (nearest := said.get((place.trajectory, ""))) is not None:
                away[number] = min(away[number], abs(place.position - nearest.position) + _OTHER_SCOPE_STEPS)
            if (nearest := said.get((place.trajectory, place.scope))) is not None and place.scope != _NO_SCOPE:
                away[number] = min(away[number], _steps_within(nearest, place))
    return away


def _steps_within(one: _Place, other: _Place) -> float:
    """The steps between two of a scope, those of other scopes left out, by their share among the hits in between."""
    share = abs(one.of_scope - other.of_scope) / max(1, abs(one.of_all - other.of_all))
    return _OWN_STEP * share * abs(one.position - other.position)
