"""The baselines, and the form of all methods: one interface, one token budget counted by one counter.

A method prepares trajectories and then searches them one question at a time; only `stitch-gold` and `oracle` are given
gold, when they are made. The context of every method is made by `stitch.retrieve.fit_context` from steps in its ranking
order, so that none gains by how it writes; memories alone cut steps to what a list asks for, labels on or off, and only
`full-context` has a window of its own. Structured rivals (RAPTOR, GraphRAG, ...) are further classes of this form and
lines in `stitch.bench.registry`.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from stitch.bench.data.types import Inquiry
from stitch.bench.metrics.evidence import BUDGETS
from stitch.bench.records import Found
from stitch.core import MemorySnippet, ScoredSnippet, Trajectory, WordCounts, with_calls

if TYPE_CHECKING:
    from stitch.bench.lexical import Bm25
    from stitch.core.protocols import Vectors
    from stitch.retrieve import TokenCounter

WINDOW_TOKENS = 128_000
"""What `full-context` may read: the window of a long-context model."""
RRF_K = 60
"""The constant of reciprocal rank fusion (Cormack, Clarke and Büttcher 2009)."""
TENANT = "bench"


class Ranker:
    """A method that ranks raw steps: base of the baselines, which differ in `_rank` alone."""

    name: str
    """The name under which it is chosen and reported."""
    window_tokens: int | None = None
    """A window that stands in for the budget."""

    def __init__(self) -> None:
        from stitch.retrieve import PieceCounter

        self._counter: TokenCounter = PieceCounter()
        self._trajectories: dict[str, Trajectory] = {}
        self._snippets: dict[str, list[MemorySnippet]] = {}

    def prepare(self, trajectories: Sequence[Trajectory]) -> None:
        """Take in trajectories."""
        self._trajectories = {trajectory.id: trajectory for trajectory in trajectories}
        self._snippets = {trajectory.id: raw_snippets(trajectory) for trajectory in trajectories}

    def search(self, inquiry: Inquiry, *, k: int, budget_tokens: int) -> Found:
        """Rank the steps of the inquiry's trajectory."""
        from stitch.retrieve import fit_context

        started = time.perf_counter()
        snippets, order = self._snippets[inquiry.trajectory], list(self._rank(inquiry))
        read = order if self.window_tokens else order[:k]
        hits = [ScoredSnippet(snippets[place], frozenset(), {}, 0.0) for place in read]
        budget = self.window_tokens or budget_tokens
        context = fit_context(hits, budget_tokens=budget, counter=self._counter)
        milliseconds = (time.perf_counter() - started) * 1000
        step_of = {hit.snippet.id: hit.snippet.step for hit in hits}
        every = {each: fit_context(hits, budget_tokens=each, counter=self._counter) for each in BUDGETS}
        every[budget] = context
        shown = {each: tuple(step_of[own] for own in made.ids) for each, made in every.items()}
        return Found(
            steps=tuple(step_of.values()),
            context=context.text,
            context_tokens=context.tokens,
            context_steps=shown[budget],
            shown=shown,
            milliseconds=round(milliseconds, 3),
            window_tokens=self.window_tokens,
        )

    def close(self) -> None:
        """Forget the trajectories."""
        self.prepare(())

    def _rank(self, inquiry: Inquiry) -> Iterable[int]:
        """The places of the steps, best first."""
        raise NotImplementedError


class Lexical(Ranker):
    """`bm25`: see `stitch.bench.lexical`."""

    name = "bm25"

    def prepare(self, trajectories: Sequence[Trajectory]) -> None:
        """Take in trajectories."""
        from stitch.bench.lexical import Bm25

        super().prepare(trajectories)
        self._indexes: dict[str, Bm25] = {t.id: Bm25(t.steps) for t in trajectories}

    def _rank(self, inquiry: Inquiry) -> Iterable[int]:
        return ranking(self._indexes[inquiry.trajectory].scores(inquiry.text))


class Dense(Ranker):
    """`dense`: cosine of the default embedder's vectors of steps with their speakers, as the dense lens searches.

    With `rare_first`, rare words of a question count more in its vector; else all count alike.
    """

    name = "dense"

    def __init__(self, *, rare_first: bool = True) -> None:
        super().__init__()
        self._rare_first = rare_first

    def prepare(self, trajectories: Sequence[Trajectory]) -> None:
        """Take in trajectories."""
        from stitch.bench.lexical import spoken
        from stitch.embed import LexicalEncoder, StaticEmbedder
        from stitch.store.vectors import as_kept

        super().prepare(trajectories)
        self._embedder, lexical = StaticEmbedder(), LexicalEncoder()
        self._vectors: dict[str, Vectors] = {}
        self._carrying: dict[str, Counter[int]] = {}
        for trajectory in trajectories:
            texts = [spoken(step) for step in trajectory.steps]
            self._vectors[trajectory.id] = as_kept(self._embedder.embed(texts))
            if self._rare_first:
                self._carrying[trajectory.id] = Counter(word for text in texts for word in lexical.document(text))

    def _rank(self, inquiry: Inquiry) -> Iterable[int]:
        from stitch.retrieve.rank.rarity import rare_words_first
        from stitch.store.vectors import as_kept

        vectors = self._vectors[inquiry.trajectory]
        if not self._rare_first:
            return ranking(vectors @ as_kept(self._embedder.embed([inquiry.text])[0]))
        carrying = self._carrying[inquiry.trajectory]

        def count(words: Sequence[int]) -> WordCounts:
            return WordCounts(len(vectors), {word: carrying[word] for word in words}, {})

        return ranking(vectors @ as_kept(rare_words_first(inquiry.text, embedder=self._embedder, count=count)))


class Hybrid(Ranker):
    """`hybrid`: reciprocal rank fusion of `bm25` and plain cosine: Σ 1 / (60 + rank)."""

    name = "hybrid"

    def __init__(self) -> None:
        super().__init__()
        self._parts: tuple[Ranker, ...] = (Lexical(), Dense(rare_first=False))

    def prepare(self, trajectories: Sequence[Trajectory]) -> None:
        """Take in trajectories."""
        super().prepare(trajectories)
        for part in self._parts:
            part.prepare(trajectories)

    def _rank(self, inquiry: Inquiry) -> Iterable[int]:
        fused: dict[int, float] = {}
        for part in self._parts:
            for rank, place in enumerate(part._rank(inquiry), start=1):
                fused[place] = fused.get(place, 0.0) + 1 / (RRF_K + rank)
        return sorted(fused, key=lambda place: (-fused[place], place))


class Recent(Ranker):
    """`recent`: the last steps before the question, as many as fit."""

    name = "recent"

    def _rank(self, inquiry: Inquiry) -> Iterable[int]:
        return reversed(range(len(self._trajectories[inquiry.trajectory].steps)))


class FullContext(Recent):
    """`full-context`: everything, cut on the left to the window of a long-context model."""

    name = "full-context"
    window_tokens = WINDOW_TOKENS


class Oracle(Ranker):
    """`oracle`: the gold evidence itself, by question id, in order; what no method can beat."""

    name = "oracle"

    def __init__(self, evidence: Mapping[str, Sequence[str]]) -> None:
        super().__init__()
        self._evidence = evidence

    def _rank(self, inquiry: Inquiry) -> Iterable[int]:
        gold = set(self._evidence[inquiry.id])
        steps = self._trajectories[inquiry.trajectory].steps
        return [place for place, step in enumerate(steps) if step.id in gold]


def ranking(scores: Vectors) -> list[int]:
    """Places by falling score; ties in step order."""
    import numpy as np

    order: list[int] = np.argsort(-scores, kind="stable").tolist()
    return order


def raw_snippets(trajectory: Trajectory) -> list[MemorySnippet]:
    """The steps of a trajectory as snippets without labels, so that they can be put into a context."""
    return [
        MemorySnippet(
            tenant=TENANT,
            trajectory=trajectory.id,
            step=str(step.id),
            position=place,
            role=step.role,
            text=with_calls(step.content, step.tool_calls),
            resolved=with_calls(step.content, step.tool_calls),
            session=step.session,
            happened=step.timestamp,
            recorded=0.0,
            trust=step.whence().trust,
        )
        for place, step in enumerate(trajectory.steps)
    ]
