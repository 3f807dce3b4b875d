"""Explanation of the place of a step: its rank, labels that it lacks, what would admit it, why it was not ranked."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple, Protocol, runtime_checkable

import numpy as np

from stitch.core import (
    DENSITY,
    DensityCount,
    IntentFilter,
    Label,
    LabelVocabulary,
    MemorySnippet,
    Origin,
    Ranking,
    RankingRule,
    RetrievalResult,
    Retriever,
    ScoredSnippet,
    SearchRequest,
    StepState,
    Trust,
    density,
    is_setup,
)
from stitch.core.intent import labels_in_words
from stitch.core.ranking import DECIMALS
from stitch.core.results import WITHHELD
from stitch.errors import InputError

if TYPE_CHECKING:
    from stitch.journal import Entry, Journal

_PHRASES = {
    "density": "matched labels",
    "similarity": "similarity",
    "meaning": "likeness of meaning",
    "words": "words of the question",
    "beside": "a step beside it that is more alike",
    "near": "nearness to what the question says",
    "goal": "the goal that is asked about",
    "kind": "the kind of step or value asked for",
    "late": "late or early in its scope, as asked for",
    "speaker": "the speaker asked for",
    "time": "the time asked for",
    "asking": "asks, or says nothing new",
    "standing": "an instruction or preference that stands",
    "clock": "early or late among equals, as asked for",
    "neighbors": "one of the first hits, or beside one",
}


def phrase(part: str) -> str:
    """Phrase for a part of a score; its name with blanks if it is no part of ours."""
    return _PHRASES.get(part, part.replace("_", " "))


def in_words(parts: Mapping[str, float]) -> str:
    """All parts that count, each with its number: "matched labels 2, similarity 0.41"."""
    said = [f"{phrase(name)} {number:.3g}" for name, number in parts.items() if number]
    return ", ".join(said) or "nothing"


_MOST_CHANGES = 3
"""Larger changes are not looked for: they no longer say what went wrong."""


class FilterChange(NamedTuple):
    """A change of a filter."""

    drop: tuple[Label, ...] = ()
    add: tuple[Label, ...] = ()


class WhyNot(NamedTuple):
    """The rank of a step and the reason for it."""

    hit: ScoredSnippet
    rank: int
    """From 1."""
    ranked: int
    """Number of ranked steps."""
    k: int
    """How many of them count as hits at most."""
    lacking: tuple[Label, ...]
    """Labels of the filter that the step does not carry."""
    last: ScoredSnippet
    """The hit at rank `k`, or the last of a shorter ranking."""
    lost_by: str
    """The part of the score by which it lost most to `last`; empty if the step is among the hits."""
    change: FilterChange | None
    """The smallest change of the filter that brings the step to rank `k` or better; None if none up to three does."""

    def __str__(self) -> str:
        """All of it in a few sentences."""
        return " ".join(self._sentences())

    def _sentences(self) -> Iterator[str]:
        step, last = self.hit.snippet.step, self.last
        if self.lost_by:
            own, theirs = (hit.parts.get(self.lost_by, 0.0) for hit in (self.hit, last))
            yield (
                f"Step {step} has rank {self.rank} of {self.ranked}, below {self.k}: "
                f"{phrase(self.lost_by)} {own:.3g} against {theirs:.3g}."
            )
        else:
            yield f"Step {step} is among the first {self.k}: rank {self.rank} of {self.ranked}."
        yield f"Its score: {in_words(self.hit.parts)}."
        if self.lacking:
            yield f"It lacks {labels_in_words(self.lacking)}."
        if self.change and self.lost_by:
            parts = [f"without {labels_in_words(self.change.drop)}"] if self.change.drop else []
            parts += [f"with {labels_in_words(self.change.add)}"] if self.change.add else []
            yield f"A filter {' and '.join(parts)} would admit it."
        elif self.lost_by:
            yield f"No change of up to {_MOST_CHANGES} labels would admit it."


@runtime_checkable
class ExplainsRanks(Retriever, Protocol):
    """A retriever that can say of any step where it stands for a question, and why."""

    def why_not(self, request: SearchRequest, *, step: str, trajectory: str | None = None) -> WhyNot:
        """Say where a step stands for a question, and what kept it from standing higher.

        The trajectory of the step is that of the request by default.

        Raises:
            InputError: There is no such step among those that the request searches.
        """


def explain_rank(
    wanted: str,
    ranking: Sequence[ScoredSnippet],
    labels: frozenset[Label],
    *,
    rule: RankingRule,
    k: int,
    vocabulary: LabelVocabulary,
    count: DensityCount = DensityCount.VALUES,
) -> WhyNot:
    """Explain the rank of one snippet."""
    place = next(i for i, hit in enumerate(ranking) if hit.snippet.id == wanted)
    hit, last = ranking[place], ranking[min(k, len(ranking)) - 1]
    own = _labels_of(hit.snippet, vocabulary)
    lacking = tuple(sorted(labels - own))
    if place < k:
        return WhyNot(hit, place + 1, len(ranking), k, lacking, last, "", None)
    carried = [_labels_of(other.snippet, vocabulary) & (labels | own) for other in ranking]
    beaten_by = _rivals(ranking, carried, place=place, rule=rule, count=count)
    change = next((c for c in _changes(labels, own) if beaten_by(labels - {*c.drop} | {*c.add}) < k), None)
    return WhyNot(hit, place + 1, len(ranking), k, lacking, last, rule.lead(last, hit) or "order", change)


def _rivals(
    ranking: Sequence[ScoredSnippet],
    carried: Sequence[frozenset[Label]],
    *,
    place: int,
    rule: RankingRule,
    count: DensityCount,
) -> Callable[[frozenset[Label]], int]:
    """A function that counts how many of a ranking stand above one of them under another filter."""
    tiers = (*rule.tiers, rule.summed)
    tier = next(number for number, names in enumerate(tiers) if DENSITY in names)
    others = np.array([rule.totals({**hit.parts, DENSITY: 0.0}) for hit in ranking])
    keys = [rule.key(hit)[1:] for hit in ranking]
    before = np.array([key < keys[place] for key in keys])
    groups = {own: number for number, own in enumerate(dict.fromkeys(carried))}
    group = np.array([groups[own] for own in carried])

    def beaten_by(chosen: frozenset[Label]) -> int:
        totals = others.copy()
        totals[:, tier] += np.array([density(own & chosen, count=count) for own in groups])[group]
        better, equal = np.zeros(len(totals), bool), np.ones(len(totals), bool)
        for column in np.round(totals, DECIMALS).T:
            better |= equal & (column > column[place])
            equal &= column == column[place]
        return int((better | equal & before).sum())

    return beaten_by


def _labels_of(snippet: MemorySnippet, vocabulary: LabelVocabulary) -> frozenset[Label]:
    return vocabulary.canonical_intent(snippet.intent, trajectory=snippet.trajectory).labels()


def _changes(labels: frozenset[Label], own: frozenset[Label]) -> Iterator[FilterChange]:
    """Changes that can help, smallest first; of one size, those that drop before those that add."""
    helpful = [(label, False) for label in sorted(labels - own)] + [(label, True) for label in sorted(own - labels)]
    for size in range(1, _MOST_CHANGES + 1):
        for parts in combinations(helpful, size):
            yield FilterChange(
                drop=tuple(label for label, adds in parts if not adds),
                add=tuple(label for label, adds in parts if adds),
            )


class Why(NamedTuple):
    """The fate of one step when a question was answered."""

    found: bool
    """Whether it is among the hits."""
    in_context: bool
    """Whether at least a part of it stands in the context."""
    state: StepState
    trust: Trust
    intent_filter: IntentFilter
    """The labels that were chosen for the question."""
    reasons: tuple[str, ...]
    """Reasons of this choice."""
    place: WhyNot | None
    """Its place in the ranking; None if it was not ranked at all."""
    sentences: tuple[str, ...]

    def __str__(self) -> str:
        """All of it, a sentence a line."""
        return "\n".join(self.sentences)


def explain(
    journal: Journal,
    retriever: Retriever,
    request: SearchRequest,
    *,
    ranker: ExplainsRanks,
    step: str,
    trajectory: str,
) -> Why:
    """Answer a question, and say why a step is among the hits or not.

    Args:
        journal: Knows what became of the step.
        retriever: Answers the question.
        request: The question.
        ranker: Makes the order of the answer.
        step: The id of the step.
        trajectory: Where it is.

    Raises:
        InputError: There is no such step.
    """
    entry = journal.entry(request.tenant, trajectory, step)
    if entry is None:
        raise InputError(
            f"there is no step {step!r} in trajectory {trajectory!r}: it was never accepted, or it was erased",
            hint="`stitch show --memory DIR --json` lists trajectories and steps",
        )
    absence = tuple(_of_absence(entry, request))
    result = retriever.search(request)
    place = None if absence else ranker.why_not(request, step=step, trajectory=trajectory)
    snippet = entry.snippet()
    found = any(hit.snippet.id == snippet.id for hit in result.hits[: request.k])
    shown = snippet.id in result.context_hits
    sentences = [*_of_filter(result), *(absence if place is None else _of_place(place))]
    if entry.state is StepState.LABELED:
        sentences.append(f"Step {step} has no vector yet: words and labels alone speak for it.")
    if shown:
        sentences.append("It stands in the context" + ("." if found else ", which shows more than the hits."))
    elif found:
        sentences.append(f"It is not in the context: {request.budget_tokens} tokens were spent on hits before it.")
    elif place is not None and (place.rank <= request.k or not result):
        sentences += (f"It was left out: {each.reason}." for each in result.trace if each.what == WITHHELD)
    return Why(found, shown, entry.state, snippet.trust, result.intent_filter, result.reasons, place, tuple(sentences))


def _of_filter(result: RetrievalResult) -> Iterator[str]:
    labels = result.intent_filter.labels()
    if not labels:
        yield "The question licenses no label: similarity ranks, with what else is named here."
        return
    how = "weighed beside similarity" if result.ranking is Ranking.WEIGHED else "label density decides"
    yield f"The question asks for {labels_in_words(labels)}: {how}."
    yield from result.reasons


def _of_place(place: WhyNot) -> Iterator[str]:
    hit, step = place.hit, place.hit.snippet.step
    if hit.matched:
        yield f"Step {step} carries {labels_in_words(hit.matched)}."
    yield str(place)
    for one in hit.superseded:
        yield f"No longer so: {one.field} of {one.thing or 'it'} was {one.value!r}; step {one.step} says {one.now!r}."
    if (cause := hit.because_of) is not None:
        how = f"came out as {cause.outcome}" if cause.outcome else "told it first"
        yield f"What made the agent do it: step {cause.step}, which {how}{f' ({cause.value})' if cause.value else ''}."


def _of_absence(entry: Entry, request: SearchRequest) -> Iterator[str]:
    """Reasons why a step was not ranked; none if it was."""
    snippet = entry.snippet()
    if entry.was_retired(math.inf if request.as_of is None else request.as_of.recorded):
        yield f"Step {entry.id} is out of retrieval: {entry.receipt().reason}."
    if request.trajectory not in (None, entry.trajectory):
        yield f"Step {entry.id} is in trajectory {entry.trajectory!r}, and {request.trajectory!r} was searched."
    if request.min_trust is not None and snippet.trust < request.min_trust:
        origin = entry.step.whence()
        own = f"it comes from {'an agent' if origin is Origin.AGENT else f'a {origin.value}'}"
        why = own if snippet.trust is origin.trust else "it took in words of a less trusted step"
        yield f"Step {entry.id} has trust {snippet.trust.value!r}, below {request.min_trust.value!r}: {why}."
    if is_setup(snippet.intent) and not request.include_setup:
        yield f"Step {entry.id} holds instructions from before a run: hits leave these out, but with include_setup."
    if request.as_of is not None and not request.as_of.knows(snippet):
        yield f"Step {entry.id} was not there yet at the moment that was asked for."
