"""Why a step is not among the hits: its rank, the labels it lacks, and the smallest change that would admit it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import NamedTuple, Protocol, runtime_checkable

from stitch.core import (
    DensityCount,
    Label,
    LabelVocabulary,
    Retriever,
    ScoredSnippet,
    SearchRequest,
    density,
    ranking_key,
)

_MOST_CHANGES = 3
"""Larger changes are not looked for: they no longer say what went wrong."""


class FilterChange(NamedTuple):
    """A change of a filter."""

    drop: tuple[Label, ...] = ()
    add: tuple[Label, ...] = ()


class WhyNot(NamedTuple):
    """Where a step stands in a ranking, and why."""

    hit: ScoredSnippet
    rank: int
    """From 1."""
    k: int
    lacking: tuple[Label, ...]
    """Labels of the filter that the step does not carry."""
    last: ScoredSnippet
    """The hit at rank `k`, or the last of a shorter ranking."""
    lost_by: str
    """`density` or `similarity`, by which it lost to `last`; empty if the step is among the hits."""
    change: FilterChange | None
    """The smallest change of the filter that brings the step to rank `k` or better; None if none up to three does."""

    def __str__(self) -> str:
        """All of it in a few sentences."""
        return " ".join(self._sentences())

    def _sentences(self) -> Iterator[str]:
        step, last = self.hit.snippet.step, self.last
        if not self.lost_by:
            yield f"Step {step} is among the hits: rank {self.rank} of {self.k}, density {self.hit.density:g}."
        elif self.lost_by == "density":
            yield (
                f"Step {step} has rank {self.rank}, below {self.k}: "
                f"density {self.hit.density:g} against {last.density:g}."
            )
        else:
            yield (
                f"Step {step} has rank {self.rank}, below {self.k}: the same density, "
                f"similarity {self.hit.similarity:.3f} against {last.similarity:.3f}."
            )
        if self.lacking:
            yield f"It lacks {_names(self.lacking)}."
        if self.change and self.lost_by:
            parts = [f"without {_names(self.change.drop)}"] if self.change.drop else []
            parts += [f"with {_names(self.change.add)}"] if self.change.add else []
            yield f"A filter {' and '.join(parts)} would admit it."
        elif self.lost_by:
            yield f"No change of up to {_MOST_CHANGES} labels would admit it."


@runtime_checkable
class ExplainsRanks(Retriever, Protocol):
    """A retriever that can say of any step where it stands for a question, and why."""

    def why_not(self, request: SearchRequest, *, step: str, trajectory: str | None = None) -> WhyNot:
        """Say where a step stands for a question, and what kept it from standing higher.

        Args:
            request: The question.
            step: The id of the step.
            trajectory: The step's trajectory; by default that of the request.

        Raises:
            InputError: There is no such step among those that the request searches.
        """
        ...


def explain_rank(
    wanted: str,
    ranking: Sequence[ScoredSnippet],
    labels: frozenset[Label],
    *,
    k: int,
    vocabulary: LabelVocabulary,
    count: DensityCount = DensityCount.VALUES,
    weights: Mapping[Label, float] | None = None,
) -> WhyNot:
    """Explain the rank of one snippet.

    Args:
        wanted: The id of a snippet of the ranking.
        ranking: The whole ranking, best first.
        labels: The filter, in canonical form.
        k: How many count as hits.
        vocabulary: Merges under which labels are compared.
        count: What density counted.
        weights: What each label counts, those that the snippet carries included.
    """
    place = next(i for i, hit in enumerate(ranking) if hit.snippet.id == wanted)
    hit, last = ranking[place], ranking[min(k, len(ranking)) - 1]
    lost_by, change = "", None
    own = frozenset(map(vocabulary.canonical_label, hit.snippet.intent.labels()))
    if place >= k:
        lost_by = "density" if hit.density < last.density else "similarity"
        rivals = _rivals(hit, ranking, labels | own, vocabulary)

        def beaten_by(chosen: frozenset[Label]) -> int:
            mine = density(own & chosen, count=count, weights=weights)
            better = 0
            for carried, (all_of_them, more_alike) in rivals.items():
                theirs = density(carried & chosen, count=count, weights=weights)
                better += all_of_them if theirs > mine else more_alike if theirs == mine else 0
            return better

        change = next((c for c in _changes(labels, own) if beaten_by(labels - {*c.drop} | {*c.add}) < k), None)
    return WhyNot(hit, place + 1, k, tuple(sorted(labels - own)), last, lost_by, change)


def _rivals(
    hit: ScoredSnippet, ranking: Sequence[ScoredSnippet], relevant: frozenset[Label], vocabulary: LabelVocabulary
) -> dict[frozenset[Label], tuple[int, int]]:
    """By the relevant labels they carry: how many other snippets there are, and how many win at equal density."""
    rivals: dict[frozenset[Label], tuple[int, int]] = defaultdict(lambda: (0, 0))
    mine = ranking_key(hit)[1:]
    for other in ranking:
        if other is not hit:
            carried = frozenset(map(vocabulary.canonical_label, other.snippet.intent.labels())) & relevant
            every, winning = rivals[carried]
            rivals[carried] = every + 1, winning + (ranking_key(other)[1:] < mine)
    return dict(rivals)


def _changes(labels: frozenset[Label], own: frozenset[Label]) -> Iterator[FilterChange]:
    """Changes that can help, smallest first; of one size, those that drop before those that add."""
    helpful = [(label, False) for label in sorted(labels - own)] + [(label, True) for label in sorted(own - labels)]
    for size in range(1, _MOST_CHANGES + 1):
        for parts in combinations(helpful, size):
            yield FilterChange(
                drop=tuple(label for label, adds in parts if not adds),
                add=tuple(label for label, adds in parts if adds),
            )


def _names(labels: Sequence[Label]) -> str:
    return ", ".join(f"{label.kind.value} {label.value!r}" for label in labels)
