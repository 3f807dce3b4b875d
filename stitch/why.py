"""Explanation of a step's coming back for a question, or of its not doing so."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from stitch.core import (
    IntentFilter,
    Origin,
    Ranking,
    RetrievalResult,
    SearchRequest,
    StepState,
    Trust,
    is_setup,
)
from stitch.core.intent import labels_in_words
from stitch.errors import InputError

if TYPE_CHECKING:
    from stitch.journal import Entry, Journal
    from stitch.retrieve import ExplainsRanks, WhyNot


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


def explain(journal: Journal, retriever: ExplainsRanks, request: SearchRequest, *, step: str, trajectory: str) -> Why:
    """Answer a question, and say why a step is among the hits or not.

    Args:
        journal: Knows what became of the step.
        retriever: Answers the question.
        request: The question.
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
    place = None if absence else retriever.why_not(request, step=step, trajectory=trajectory)
    snippet = entry.snippet()
    found = any(hit.snippet.id == snippet.id for hit in result.hits)
    shown = snippet.id in result.context_hits
    sentences = [*_of_filter(result), *(absence if place is None else _of_place(place))]
    if entry.state is StepState.LABELED:
        sentences.append(f"Step {step} has no vector yet: words and labels alone speak for it.")
    if shown:
        sentences.append("It stands in the context.")
    elif found:
        sentences.append(f"It is not in the context: {request.budget_tokens} tokens were spent on hits before it.")
    return Why(found, shown, entry.state, snippet.trust, result.intent_filter, result.reasons, place, tuple(sentences))


def _of_filter(result: RetrievalResult) -> Iterator[str]:
    labels = result.intent_filter.labels()
    if not labels:
        yield "The question licenses no label: similarity alone ranks."
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
