"""Candidates of a question, by trajectory, and what a store is asked for to find them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import compress
from typing import TYPE_CHECKING, Protocol

import numpy as np

from stitch.core import (
    ContextualIntent,
    DensityCount,
    DensityQuery,
    Embedder,
    FilterMaker,
    Label,
    LabelInventory,
    LabelKind,
    LabelVocabulary,
    MemorySnippet,
    RankingRule,
    RetrievalResult,
    ScoredSnippet,
    SearchRequest,
    Selection,
    SnippetReader,
    StoreHit,
    goal_of,
)
from stitch.core.protocols import SummingEmbedder
from stitch.core.ranking import density, matcher
from stitch.retrieve.kinds import Kind, kind_of, runs
from stitch.retrieve.question import Question
from stitch.retrieve.rarity import rare_words_first
from stitch.retrieve.run_question import RunQuestion, read_run_question

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from stitch.core.protocols import Vectors
    from stitch.embed.lexical import LexicalEncoder

    Column = NDArray[np.float64]

Inventories = Callable[[str, str | None], LabelInventory]
"""The label space of a tenant's trajectory, or of all of them."""

SHORT_CHARS = 180
"""Steps up to this length say little of what they are about."""


class StepRanker(Protocol):
    """A lens that ranks steps, from which others read."""

    def ranked(self, request: SearchRequest, *, k: int) -> RetrievalResult:
        """Rank `k` steps, or as many as the request needs, without a context of them."""

    def over(self, store: SnippetReader, *, inventories: Inventories) -> StepRanker:
        """The same lens over another store and label space."""


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
class QueryPlan:
    """A question as it is read, with the labels that were chosen for it."""

    request: SearchRequest
    """Its query is what is asked: of turns of a conversation, the last."""
    question: Question
    selection: Selection
    """The labels that were chosen for it, and by whom."""
    labels: frozenset[Label]
    """The same labels in canonical form."""
    vocabulary: LabelVocabulary
    """Merges under which labels are compared."""
    rule: RankingRule
    """What makes an order of the candidates."""
    count: DensityCount = DensityCount.VALUES

    @cached_property
    def of_runs(self) -> RunQuestion:
        """The question as one about a run."""
        return read_run_question(self.request.query)

    @property
    def chosen(self) -> bool:
        """Whether a model or a person chose labels."""
        return bool(self.labels) and self.selection.made_by is not FilterMaker.WORDS


@dataclass(frozen=True, kw_only=True)
class Pool(QueryPlan):
    """A question with all that may become hits: what every feature sees.

    Candidates stand by trajectory, position and step; arrays and lists have one entry a candidate. What a feature asks
    of its surroundings it asks inside a trajectory, so that no other one of a memory changes the answer; what a user
    says anew alone is sought in all talks.
    """

    candidates: Sequence[StoreHit]
    """As the store found them, in whatever order they come."""

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
        if self.rule.is_strict:
            return np.array([one.similarity for one in self.candidates])
        return np.array([(one.cosine + one.lexical) / 2 for one in self.candidates])

    @cached_property
    def densities(self) -> Column:
        """Their label densities."""
        if self.rule.is_strict:
            return np.array([one.density for one in self.candidates], dtype=float)
        return np.array([density(self.matched(one), count=self.count) for one in self.snippets], dtype=float)

    def matched(self, one: MemorySnippet) -> frozenset[Label]:
        """The labels of the filter that a candidate carries, in canonical form: of few of them it is asked."""
        return self._matches(one.intent, one.trajectory)

    @cached_property
    def _matches(self) -> Callable[[ContextualIntent, str], frozenset[Label]]:
        return matcher(self.labels, self.vocabulary)

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
        shares: Column = np.minimum(1.0, SHORT_CHARS / np.maximum(1, middle))
        return shares

    @cached_property
    def kinds(self) -> list[Kind]:
        """The kind of each snippet; what a user says right after a call that no tool answered is its result."""
        kinds = [kind_of(one) for one in self.snippets]
        for place, kind in enumerate(kinds):
            if kind is Kind.USER and self.follows[place] and kinds[place - 1] is Kind.CALL:
                kinds[place] = Kind.USER if self.snippets[place - 1].tools else Kind.RESULT
        return kinds

    @cached_property
    def follows(self) -> list[bool]:
        """Whether the step right before each is the candidate before it."""
        owners, positions = self.owners, self.positions
        return [False, *((owners[1:] == owners[:-1]) & (positions[1:] == positions[:-1] + 1)).tolist()]

    @cached_property
    def running(self) -> NDArray[np.bool_]:
        """Whether each trajectory is the run of an agent."""
        return np.array(runs(self.kinds, self.owners.tolist()), dtype=bool)

    @cached_property
    def runs(self) -> frozenset[str]:
        """The trajectories that are runs."""
        return frozenset(compress((self.snippets[own.start].trajectory for own in self.trajectories), self.running))

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


def _place(one: StoreHit) -> tuple[str, int, str]:
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
    rarity_in: SnippetReader | None = None

    def query(self, request: SearchRequest, texts: Mapping[str, float]) -> DensityQuery:
        """Build the store query of a request, in which similarity alone decides.

        Args:
            request: The question.
            texts: What stands for it, each text with its share; together they are 1.
        """
        vector: Vectors | None = None
        words: dict[int, float] | None = None
        if self.embedder is not None:
            vectors = self._vectors(request, list(texts))
            vector = _unit(vectors.T @ list(texts.values())) if len(texts) > 1 else vectors[0]
        if self.lexical is not None:
            words = {}
            for text, share in texts.items():
                for index, weight in self.lexical.query(text).items():
                    words[index] = words.get(index, 0.0) + share * weight
        return DensityQuery(
            tenant=request.tenant,
            trajectory=request.trajectory,
            vector=vector,
            words=words,
            k=request.depth,
            min_trust=request.min_trust,
            as_of=request.as_of,
        )

    def _vectors(self, request: SearchRequest, texts: Sequence[str]) -> Vectors:
        embedder = self.embedder
        assert embedder is not None
        if self.rarity_in is None or not isinstance(embedder, SummingEmbedder):
            return embedder.embed(texts)
        count = partial(self.rarity_in.word_counts, request.tenant, trajectory=request.trajectory)
        return np.stack([rare_words_first(text, embedder=embedder, count=count) for text in texts])


def _unit(vector: Vectors) -> Vectors:
    """A vector of length one; of zeros, zeros."""
    length = float(vector @ vector) ** 0.5
    unit: Vectors = (vector / length if length else vector).astype(np.float32)
    return unit
