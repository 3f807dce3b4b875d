"""Candidates of a question, by trajectory, and what a store is asked for to find them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np

from stitch.core import (
    DensityCount,
    DensityQuery,
    Embedder,
    Label,
    LabelKind,
    LabelVocabulary,
    MemorySnippet,
    SearchRequest,
    Selection,
    SnippetStore,
    goal_of,
)
from stitch.core.protocols import SparseVector, SummingEmbedder
from stitch.retrieve.kinds import GOAL_OPENED, Kind, is_run, kind_of
from stitch.retrieve.question import Question
from stitch.retrieve.rarity import rare_words_first
from stitch.retrieve.run_question import RunQuestion

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from stitch.core.protocols import Vectors
    from stitch.embed.lexical import LexicalEncoder

    Column = NDArray[np.float64]

T = TypeVar("T")

ASKED_SHARE = 0.4
"""What the part of a question behind its clause counts once more, beside the whole."""


class Candidate(NamedTuple):
    """A snippet that may become a hit, as the store found it."""

    snippet: MemorySnippet
    matched: frozenset[Label]
    """The labels of the filter that it carries, in canonical form."""
    density: float
    similarity: float
    cosine: float = 0.0
    lexical: float = 0.0


class Trajectory:
    """The candidates of one trajectory in their order; arrays have one number a candidate of it.

    What a feature asks of its surroundings it asks here, so that no other trajectory of a memory changes the answer.
    """

    def __init__(self, numbers: Sequence[int], candidates: Sequence[Candidate], *, vocabulary: LabelVocabulary) -> None:
        self.numbers = np.array(numbers)
        """Their places among all candidates."""
        self.candidates = [candidates[number] for number in numbers]
        self.snippets = [one.snippet for one in self.candidates]
        self._vocabulary = vocabulary

    @cached_property
    def positions(self) -> NDArray[np.int64]:
        """Their positions."""
        return np.array([one.position for one in self.snippets])

    @cached_property
    def similarities(self) -> Column:
        """Their similarities."""
        return np.array([one.similarity for one in self.candidates])

    @cached_property
    def is_run(self) -> bool:
        """Whether it is the run of an agent: a goal is opened, or many of the steps are calls or results."""
        return is_run(self.kinds, self.snippets)

    @cached_property
    def kinds(self) -> list[Kind]:
        """What each is; what a user says right after a call that no tool answered is its result."""
        kinds = [kind_of(one) for one in self.snippets]
        for place in range(1, len(kinds)):
            before, one = self.snippets[place - 1], self.snippets[place]
            if kinds[place] is Kind.USER and kinds[place - 1] is Kind.CALL and not before.tools:
                kinds[place] = Kind.RESULT if one.position == before.position + 1 else Kind.USER
        return kinds

    @cached_property
    def scopes(self) -> list[str]:
        """The scope of each, without its phase; empty for none and for instructions."""
        return [
            "" if kind is Kind.SETUP else goal_of(self._vocabulary.canonical(LabelKind.SCOPE, one.intent.scope or ""))
            for one, kind in zip(self.snippets, self.kinds, strict=True)
        ]

    @cached_property
    def members(self) -> dict[str, list[int]]:
        """The places, in this trajectory, of the candidates of each scope."""
        found: dict[str, list[int]] = {}
        for place, scope in enumerate(self.scopes):
            if scope:
                found.setdefault(scope, []).append(place)
        return found

    @cached_property
    def openings(self) -> frozenset[int]:
        """The places of what opens a goal: as labels tell, or else the first words of a user among its first steps."""
        found: set[int] = set()
        for own in self.members.values():
            labeled = [n for n in own if GOAL_OPENED.value in self.snippets[n].intent.event_types]
            found.update(labeled or [n for n in own[:3] if self.kinds[n] is Kind.USER][:1])
        return frozenset(found)


@dataclass(frozen=True, kw_only=True)
class Pool:
    """A question with all that may become hits: what every feature sees.

    Attributes:
        request: The question as it was asked.
        question: As it is read.
        of_runs: What it asks where a trajectory is a run.
        selection: The labels that were chosen for it, and by whom.
        labels: The same labels in canonical form.
        vocabulary: Merges under which labels are compared.
        candidates: In no order that a feature may rely on.
    """

    request: SearchRequest
    question: Question
    of_runs: RunQuestion
    selection: Selection
    labels: frozenset[Label]
    vocabulary: LabelVocabulary
    candidates: Sequence[Candidate]
    _made: dict[Callable[[Pool], Any], Any] = field(default_factory=dict, init=False, compare=False, repr=False)

    def once(self, make: Callable[[Pool], T]) -> T:
        """What `make` gives of this pool, made at the first call: features that need the same share it."""
        if make not in self._made:
            self._made[make] = make(self)
        made: T = self._made[make]
        return made

    @cached_property
    def trajectories(self) -> list[Trajectory]:
        """The candidates by trajectory."""
        numbers: dict[str, list[int]] = {}
        for number, one in enumerate(self.candidates):
            numbers.setdefault(one.snippet.trajectory, []).append(number)
        for own in numbers.values():
            own.sort(key=lambda n: (self.candidates[n].snippet.position, self.candidates[n].snippet.step))
        return [Trajectory(own, self.candidates, vocabulary=self.vocabulary) for own in numbers.values()]

    def column(self, of: Callable[[Trajectory], Column | None]) -> Column | None:
        """A number for each candidate, by what says those of a trajectory; None if it says nothing of any."""
        column = np.zeros(len(self.candidates))
        told = False
        for trajectory in self.trajectories:
            if (own := of(trajectory)) is not None:
                column[trajectory.numbers] = own
                told = True
        return column if told else None


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
        """What to ask a store for; without labels, similarity alone decides.

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
