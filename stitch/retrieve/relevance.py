"""The chance that a memory has anything to say on a question, and that each hit is what was asked for.

A ranking puts something first even where nothing bears on the question. What tells the two apart is how alike the best
hit is, and how much of the question's words, the rare ones above all, the hits say at all. Two logistic models read
these numbers: one says whether anything bears on the question, one says of each hit, if anything does, whether it is
what was asked for. The chance of a hit is the product of both.

The weights are fitted by `python -m stitch.bench.fit_relevance` on public sets, each left out once; how far they carry
stands in `bench/results/relevance.md`.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import Literal, NamedTuple, Protocol, runtime_checkable

from stitch.core import RetrievalResult, Retriever, ScoredSnippet, SearchRequest, Selection
from stitch.core.protocols import SnippetStore, WordCounts
from stitch.embed.lexical import index_of
from stitch.retrieve.context.answer import answer
from stitch.retrieve.context.budget import TokenCounter
from stitch.text.languages import content_stems

FIRST = 10
"""What the best hits say together is looked for among so many."""

DECIMALS = 4
"""Of a chance, so many count."""

Weights = Mapping[str, float]

ANSWERED: Weights = {
    "bias": -0.441, "similarity": 4.287, "lead": -2.507, "covered": -1.598, "both": 12.005, "absent": -1.148,
    "words": -0.595,
}  # fmt: skip
"""Of `question_features`, for: anything bears on the question."""
MEANT: Weights = {
    "bias": -0.421, "similarity": -1.49, "below": -0.474, "covered": -1.601, "both": 5.442, "place": -0.856,
    "words": 0.112,
}  # fmt: skip
"""Of `hit_features`, for: this hit is what was asked for, if anything is."""


class Relevance(NamedTuple):
    """How likely it is that hits bear on a question."""

    result: float
    """That anything in the memory does, from 0 to 1."""
    hits: tuple[float, ...]
    """That each hit does, in their order; no more than `result`."""


@dataclass(frozen=True)
class Evidence:
    """What tells whether hits bear on a question.

    Attributes:
        similarities: Of each hit, in their order.
        covered: Of each hit, the share of the question's words that it says, each counted by its rarity.
        absent: The share of the question's words that no step of the memory says, not counted by rarity.
        words: How many words the question has.
    """

    similarities: tuple[float, ...]
    covered: tuple[float, ...]
    absent: float
    words: int

    @property
    def question_features(self) -> dict[str, float]:
        """The numbers that tell whether anything bears on the question, by name."""
        return {
            "bias": 1.0,
            "similarity": max(self.similarities, default=0.0),
            "lead": max(self.similarities, default=0.0) - median(self.similarities or (0.0,)),
            "covered": max(self.covered[:FIRST], default=0.0),
            "both": max((a * b for a, b in zip(self.similarities, self.covered, strict=True)), default=0.0),
            "absent": self.absent,
            "words": math.sqrt(self.words),
        }

    def hit_features(self) -> list[dict[str, float]]:
        """The numbers that tell of each hit whether it is what was asked for, by name."""
        best = max(self.similarities, default=0.0)
        return [
            {
                "bias": 1.0,
                "similarity": similarity,
                "below": best - similarity,
                "covered": covered,
                "both": similarity * covered,
                "place": math.log1p(place),
                "words": math.sqrt(self.words),
            }
            for place, (similarity, covered) in enumerate(zip(self.similarities, self.covered, strict=True))
        ]


def evidence_of(hits: Sequence[ScoredSnippet], words: Collection[int], counts: WordCounts) -> Evidence:
    """What tells whether hits bear on a question.

    Args:
        hits: Best first.
        words: Of the question, without those that only build it.
        counts: Of these words, for the snippets of the hits.
    """
    rarity = {word: _rarity(counts.carrying.get(word, 0), counts.snippets) for word in words}
    said = [counts.carried.get(hit.snippet.id, frozenset()) for hit in hits]
    absent = sum(not counts.carrying.get(word) for word in words)
    return Evidence(
        similarities=tuple(hit.similarity for hit in hits),
        covered=tuple(_share(own, rarity) for own in said),
        absent=absent / (len(words) or 1),
        words=len(words),
    )


def _rarity(carrying: int, snippets: int) -> float:
    """The inverse document frequency of BM25."""
    return math.log1p((snippets - carrying + 0.5) / (carrying + 0.5))


def _share(words: Iterable[int], rarity: Mapping[int, float]) -> float:
    whole = math.fsum(rarity.values())
    return math.fsum(rarity[word] for word in words) / whole if whole else 0.0


def relevance(evidence: Evidence, *, answered: Weights = ANSWERED, meant: Weights = MEANT) -> Relevance:
    """How likely it is that hits bear on a question."""
    if not evidence.similarities:
        return Relevance(0.0, ())
    anything = chance(evidence.question_features, answered)
    hits = (anything * chance(each, meant) for each in evidence.hit_features())
    return Relevance(round(anything, DECIMALS), tuple(round(each, DECIMALS) for each in hits))


def chance(features: Mapping[str, float], weights: Weights) -> float:
    """What a logistic model says of some numbers, from 0 to 1."""
    return 1.0 / (1.0 + math.exp(-math.fsum(weights.get(name, 0.0) * value for name, value in features.items())))


@runtime_checkable
class Calibrated(Protocol):
    """A retriever the similarity of whose hits is that of vectors and words together: chances are fitted to it."""

    calibrated: Literal[True]


class RelevanceEstimator:
    """Tells of hits how likely it is that they bear on the question.

    Args:
        store: Counts words.
    """

    def __init__(self, store: SnippetStore) -> None:
        self._store = store

    def evidence(self, request: SearchRequest, hits: Sequence[ScoredSnippet]) -> Evidence:
        """What tells whether hits, best first, bear on a question."""
        words = {index_of(stem) for stem in content_stems(request.query)}
        ids = [hit.snippet.id for hit in hits]
        return evidence_of(hits, words, self._store.word_counts(request.tenant, words, ids=ids))


class RelevanceRetriever:
    """Adds to the answers of another retriever how likely it is that each hit bears on the question.

    What is below `SearchRequest.min_relevance` is left out, of the hits and of the context.

    Args:
        retriever: Whose similarity is that of vectors and words together.
        estimator: Tells the chances.
        counter: Counts the tokens of the context.
    """

    def __init__(self, retriever: Retriever, *, estimator: RelevanceEstimator, counter: TokenCounter) -> None:
        self.mode = retriever.mode
        self._retriever, self._estimator, self._counter = retriever, estimator, counter

    def search(self, request: SearchRequest) -> RetrievalResult:
        """Answer a question. Where a context is made of less than steps, it stands or goes as a whole."""
        found = self._retriever.search(request)
        chances = relevance(self._estimator.evidence(request, found.hits))
        hits = tuple(hit._replace(relevance=own) for hit, own in zip(found.hits, chances.hits, strict=True))
        judged = replace(found, hits=hits, relevance=chances.result)
        least = request.min_relevance
        if least is None or all(hit.relevance is not None and hit.relevance >= least for hit in hits):
            return judged
        return self._without(judged, least)

    def _without(self, found: RetrievalResult, least: float) -> RetrievalResult:
        """The result with those hits alone that are likely enough."""
        kept = tuple(hit for hit in found.hits if (hit.relevance or 0.0) >= least)
        if not kept:
            return replace(found, hits=(), context_text="", context_tokens=0, context_hits=(), pieces=())
        if found.pieces:
            return replace(found, hits=kept)
        made = answer(
            found.request,
            Selection(found.intent_filter, found.reasons),
            kept,
            rule=found.rule,
            counter=self._counter,
            mode=found.mode,
            started=0.0,
        )
        return replace(
            found,
            hits=kept,
            context_text=made.context_text,
            context_tokens=made.context_tokens,
            context_hits=made.context_hits,
        )
