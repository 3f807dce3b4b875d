"""Candidates of a question, by trajectory, and what a store is asked for to find them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from stitch.core import (
    DensityCount,
    DensityQuery,
    Embedder,
    Label,
    LabelInventory,
    LabelKind,
    LabelVocabulary,
    MemorySnippet,
    ScoredSnippet,
    SearchRequest,
    Selection,
    SnippetStore,
    goal_of,
)
from stitch.core.protocols import SparseVector, SummingEmbedder
from stitch.retrieve.kinds import Kind, kind_of, runs
from stitch.retrieve.question import Question
from stitch.retrieve.rarity import rare_words_first
from stitch.retrieve.run_question import RunQuestion

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from stitch.core.protocols import Vectors
    from stitch.embed.lexical import LexicalEncoder

    Column = NDArray[np.float64]

Inventories = Callable[[str, str | None], LabelInventory]
"""The label space of a tenant's trajectory, or of all of them."""

ASKED_SHARE = 0.4
"""What the part of a question behind its clause counts once more, beside the whole."""
_SHORT_CHARS = 180
"""Steps up to this length say little of what they are about."""


class Candidate(NamedTuple):
    """A snippet that may become a hit, as the store found it."""

    snippet: MemorySnippet
    matched: frozenset[Label]
    """The labels of the filter that it carries, in canonical form."""
    density: float
    similarity: float
    cosine: float = 0.0
    lexical: float = 0.0


def as_read(hits: Sequence[ScoredSnippet], vocabulary: LabelVocabulary) -> list[ScoredSnippet]:
    """Hits with their labels as merges read them: what matched stands among them."""
    if not vocabulary.has_merges:
        return list(hits)
    read = []
    for hit in hits:
        intent = vocabulary.canonical_intent(own := hit.snippet.intent, trajectory=hit.snippet.trajectory)
        read.append(hit if intent is own else hit._replace(snippet=hit.snippet.model_copy(update={"intent": intent})))
    return read


@dataclass(frozen=True, kw_only=True)
class Pool:
    """A question with all that may become hits: what every feature sees.

    Candidates stand by trajectory, position and step; arrays and lists have one entry a candidate. What a feature asks
    of its surroundings it asks inside a trajectory, so that no other one of a memory changes the answer.

    Attributes:
        request: The question as it was asked.
        question: As it is read.
        of_runs: What it asks where a trajectory is a run.
        selection: The labels that were chosen for it, and by whom.
        labels: The same labels in canonical form.
        vocabulary: Merges under which labels are compared.
        candidates: In whatever order they come.
    """

    request: SearchRequest
    question: Question
    of_runs: RunQuestion
    selection: Selection
    labels: frozenset[Label]
    vocabulary: LabelVocabulary
    candidates: Sequence[Candidate]

    def __post_init__(self) -> None:
        object.__setattr__(self, "candidates", sorted(self.candidates, key=_place))

    @cached_property
    def snippets(self) -> list[MemorySnippet]:
        """The steps."""
        return [one.snippet for one in self.candidates]

    @cached_property
    def positions(self) -> NDArray[np.int64]:
        """Their positions."""
        return np.array([one.position for one in self.snippets], dtype=np.int64)

    @cached_property
    def similarities(self) -> Column:
        """Their similarities."""
        return np.array([one.similarity for one in self.candidates])

    @cached_property
    def densities(self) -> Column:
        """Their label densities."""
        return np.array([one.density for one in self.candidates], dtype=float)

    @cached_property
    def owners(self) -> NDArray[np.int64]:
        """The number of the trajectory of each."""
        names = [one.trajectory for one in self.snippets]
        begins = [before != name for before, name in zip([None, *names], names, strict=False)]
        return np.cumsum(begins, dtype=np.int64) - 1

    @cached_property
    def trajectories(self) -> list[slice]:
        """The places of each trajectory."""
        starts = np.flatnonzero(np.diff(self.owners, prepend=-1)).tolist()
        return list(map(slice, starts, [*starts, len(self.owners)][1:]))

    @cached_property
    def roles(self) -> list[frozenset[str]]:
        """The roles that speak in each trajectory."""
        roles = [one.role for one in self.snippets]
        return [frozenset(roles[own]) for own in self.trajectories]

    @cached_property
    def strengths(self) -> Column:
        """Strength of context hints for each trajectory, from 0 to 1: how far its steps lean on their neighbors.

        It is told by the length of most: hints count less where steps are long.
        """
        lengths = [len(one.text) for one in self.snippets]
        middle = np.array([sorted(lengths[own])[(own.stop - own.start) // 2] for own in self.trajectories])
        shares: Column = np.minimum(1.0, _SHORT_CHARS / np.maximum(1, middle))
        return shares

    @cached_property
    def kinds(self) -> list[Kind]:
        """The kind of each snippet; what a user says right after a call that no tool answered is its result."""
        kinds = [kind_of(one) for one in self.snippets]
        for place, kind in enumerate(kinds):
            if kind is Kind.USER and self.follows(place) and kinds[place - 1] is Kind.CALL:
                kinds[place] = Kind.USER if self.snippets[place - 1].tools else Kind.RESULT
        return kinds

    def follows(self, place: int) -> bool:
        """Whether the step right before one is the candidate before it."""
        before, one = self.snippets[place - 1], self.snippets[place]
        return place > 0 and before.trajectory == one.trajectory and before.position + 1 == one.position

    @cached_property
    def running(self) -> NDArray[np.bool_]:
        """Whether each trajectory is the run of an agent."""
        return runs(self.snippets, self.kinds, self.owners)

    @cached_property
    def in_runs(self) -> NDArray[np.bool_]:
        """Whether each stands in a run."""
        return self.running[self.owners]

    @cached_property
    def scopes(self) -> list[str]:
        """The scope of each, without its phase; empty for none and for instructions."""
        named = {(one.trajectory, one.intent.scope or "") for one in self.snippets}
        read = {
            (trajectory, name): goal_of(self.vocabulary.canonical(LabelKind.SCOPE, name, trajectory=trajectory))
            for trajectory, name in named
        }
        return [
            "" if kind is Kind.SETUP else read[one.trajectory, one.intent.scope or ""]
            for one, kind in zip(self.snippets, self.kinds, strict=True)
        ]

    @cached_property
    def members(self) -> dict[tuple[int, str], list[int]]:
        """The places of the candidates of each scope, by the number of its trajectory and its name."""
        found: dict[tuple[int, str], list[int]] = {}
        for place, own in enumerate(zip(self.owners.tolist(), self.scopes, strict=True)):
            if own[1]:
                found.setdefault(own, []).append(place)
        return found


def _place(one: Candidate) -> tuple[str, int, str]:
    snippet = one.snippet
    return snippet.trajectory, snippet.position, snippet.step


@dataclass(frozen=True, kw_only=True)
class Similarity:
    """The similarity of question and snippet, as a store is asked for it: by vectors, by words, or by both.

    Attributes:
        embedder: Makes the vector of a question; without one, words alone count.
        lexical: Makes the words of a question; without it, vectors alone count.
        rarity_in: Where words are counted, so that in the vector of a question rare ones count more; without it, or
            with an embedder whose vectors are no sums, all count alike.
    """

    embedder: Embedder | None = None
    lexical: LexicalEncoder | None = None
    rarity_in: SnippetStore | None = None

    def query(
        self,
        request: SearchRequest,
        *,
        text: str | None = None,
        asked: str = "",
        asked_share: float = ASKED_SHARE,
        labels: Mapping[Label, frozenset[str]] | None = None,
        count: DensityCount = DensityCount.VALUES,
        k: int | None = None,
    ) -> DensityQuery:
        """Build the store query of a request; without labels, similarity alone decides.

        Args:
            request: The question.
            text: Stands in for the question.
            asked: That part of the text which says what is asked for and not where to look; it counts more.
            asked_share: How much more.
            labels: See `DensityQuery`, as for the others.
            count: What density counts.
            k: How many to return.
        """
        text = request.query if text is None else text
        texts, shares = ((text, asked), (1.0 - asked_share, asked_share)) if asked else ((text,), (1.0,))
        return DensityQuery(
            tenant=request.tenant,
            trajectory=request.trajectory,
            labels=labels or {},
            vector=self._vector(request, texts, shares),
            words=_sum(map(self.lexical.query, texts), shares) if self.lexical else None,
            count=count,
            k=request.k if k is None else k,
            min_trust=request.min_trust,
            as_of=request.as_of,
        )

    def _vector(self, request: SearchRequest, texts: Sequence[str], shares: Sequence[float]) -> Vectors | None:
        if self.embedder is None:
            return None
        if self.rarity_in is None or not isinstance(self.embedder, SummingEmbedder):
            return _mean(self.embedder.embed(texts), shares)
        embedder, store = self.embedder, self.rarity_in

        def weighed(text: str) -> Vectors:
            return rare_words_first(
                text,
                embedder=embedder,
                count=lambda words: store.word_counts(request.tenant, words, trajectory=request.trajectory),
            )

        return _mean(np.stack([weighed(text) for text in texts]), shares)


def _mean(vectors: Vectors, shares: Sequence[float]) -> Vectors:
    """Their weighted mean, of length one unless it is zero."""
    mixed: Vectors = vectors.T @ shares
    length = float(mixed @ mixed) ** 0.5
    unit: Vectors = (mixed / length if length else mixed).astype(vectors.dtype)
    return unit if len(shares) > 1 else vectors[0].copy()


def _sum(words: Iterable[SparseVector], shares: Sequence[float]) -> SparseVector:
    weights: dict[int, float] = {}
    for share, own in zip(shares, words, strict=True):
        for index, weight in own.items():
            weights[index] = weights.get(index, 0.0) + share * weight
    return weights
