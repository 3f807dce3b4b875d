"""The baselines, and the form of all methods: one interface, one token budget counted by one counter.

A method prepares trajectories and then searches them one question at a time; only `stitch-gold` and `oracle` are given
gold, when they are made. The context of every method is made by `stitch.retrieve.fit_context` from steps in its ranking
order, so that none gains by how it writes; memories alone cut steps to what a list asks for, labels on or off, and only
`full-context` has a window of its own. Structured rivals (RAPTOR, GraphRAG, ...) are further classes of this form and
lines in `stitch.bench.registry`.
"""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from stitch.bench.data.types import Inquiry
from stitch.bench.metrics.evidence import BUDGETS
from stitch.bench.records import MethodResult
from stitch.core import MemorySnippet, ScoredSnippet, Step, Trajectory, with_calls

if TYPE_CHECKING:
    from stitch.core.protocols import Vectors

WINDOW_TOKENS = 128_000
"""What `full-context` may read: the window of a long-context model."""
RRF_K = 60
"""The constant of reciprocal rank fusion (Cormack, Clarke and Büttcher 2009)."""
TENANT = "bench"
_WORD = re.compile(r"\b\w\w+\b")
_STOP_TEXT = """
a an the and or but if of to in on at by for with from as is are was were be been being do does did have has had
i you he she it we they me him her us them my your his its our their this that these those what which who whom
when where why how not no so than then there here can could will would should may might must about into
"""
STOP_WORDS = frozenset(_STOP_TEXT.split())
"""Words that are not searched for."""


def spoken(step: Step) -> str:
    """A step as the baselines read it: with its speaker, and with its calls as text."""
    return f"{step.role}: {with_calls(step.content, step.tool_calls)}"


def terms(text: str) -> list[str]:
    """The stems of the words of a text that are no function words, in order."""
    from stitch.text.words import stem

    return [stem(word) for word in _WORD.findall(text.lower()) if word not in STOP_WORDS]


class Bm25:
    """BM25 scores of texts, by the library bm25s.

    Words of two letters and more, Snowball stems; k1 = 1.2, b = 0.75, the idf of Lucene; function words are dropped,
    and a word that the question repeats is asked for once.
    """

    def __init__(self, texts: Sequence[str]) -> None:
        import bm25s

        self._size, corpus = len(texts), [terms(text) for text in texts]
        self._known = frozenset(term for document in corpus for term in document)
        self._index = bm25s.BM25(k1=1.2, b=0.75, method="lucene")
        if self._known:
            self._index.index(corpus, show_progress=False)

    def scores(self, question: str) -> Vectors:
        """The score of every text, in order; zeros if the question shares no word with any."""
        import numpy as np

        asked = sorted(self._known.intersection(terms(question)))
        scores: Vectors = self._index.get_scores(asked) if asked else np.zeros(self._size, np.float32)
        return scores


class Ranker:
    """A method that ranks raw steps: base of the baselines, which differ in `_rank`, and in what they `_read`."""

    name: str
    """The name under which it is chosen and reported."""
    window_tokens: int | None = None
    """A window that stands in for the budget."""

    def __init__(self) -> None:
        self._read: dict[str, Any] = {}
        """What a baseline reads of each trajectory."""
        self._snippets: dict[str, list[MemorySnippet]] = {}

    def prepare(self, trajectories: Sequence[Trajectory]) -> None:
        """Take in trajectories."""
        self._snippets = {trajectory.id: raw_snippets(trajectory) for trajectory in trajectories}
        self._read = {trajectory.id: self._reading(trajectory) for trajectory in trajectories}

    def _reading(self, trajectory: Trajectory) -> Any:
        return [str(step.id) for step in trajectory.steps]

    def search(self, inquiry: Inquiry, *, k: int, budget_tokens: int) -> MethodResult:
        """Rank the steps of the inquiry's trajectory."""
        from stitch.retrieve import fit_context

        started = time.perf_counter()
        snippets, order = self._snippets[inquiry.trajectory], list(self._rank(inquiry))
        hits = [
            ScoredSnippet(snippets[place], frozenset(), {}, 0.0)
            for place in (order if self.window_tokens else order[:k])
        ]
        budget = self.window_tokens or budget_tokens
        context = fit_context(hits, budget_tokens=budget)
        milliseconds = (time.perf_counter() - started) * 1000
        step_of = {hit.snippet.id: hit.snippet.step for hit in hits}
        every = {each: fit_context(hits, budget_tokens=each) for each in BUDGETS}
        shown = {each: tuple(step_of[own] for own in made.ids) for each, made in {**every, budget: context}.items()}
        return MethodResult(
            steps=tuple(step_of.values()), context=context.text, context_tokens=context.tokens,
            context_steps=shown[budget], shown=shown, milliseconds=round(milliseconds, 3),
            window_tokens=self.window_tokens,
        )  # fmt: skip

    def close(self) -> None:
        """Forget the trajectories."""
        self.prepare(())

    def _rank(self, inquiry: Inquiry) -> Iterable[int]:
        """The places of the steps, best first."""
        raise NotImplementedError


class Lexical(Ranker):
    """`bm25` over steps with their speakers."""

    name = "bm25"

    def _reading(self, trajectory: Trajectory) -> Bm25:
        return Bm25([spoken(step) for step in trajectory.steps])

    def _rank(self, inquiry: Inquiry) -> Iterable[int]:
        return ranking(self._read[inquiry.trajectory].scores(inquiry.text))


class Dense(Ranker):
    """`dense`: cosine of the default embedder's vectors of steps with their speakers."""

    name = "dense"

    def __init__(self) -> None:
        from stitch.embed import StaticEmbedder

        super().__init__()
        self._embedder = StaticEmbedder()

    def _reading(self, trajectory: Trajectory) -> Vectors:
        from stitch.store.similarity import as_kept

        return as_kept(self._embedder.embed([spoken(step) for step in trajectory.steps]))

    def _rank(self, inquiry: Inquiry) -> Iterable[int]:
        from stitch.store.similarity import as_kept

        return ranking(self._read[inquiry.trajectory] @ as_kept(self._embedder.embed([inquiry.text])[0]))


class Hybrid(Ranker):
    """`hybrid`: reciprocal rank fusion of `bm25` and `dense`: Σ 1 / (60 + rank)."""

    name = "hybrid"

    def __init__(self) -> None:
        super().__init__()
        self._parts: tuple[Ranker, ...] = (Lexical(), Dense())

    def prepare(self, trajectories: Sequence[Trajectory]) -> None:
        """Take in trajectories."""
        super().prepare(trajectories)
        for part in self._parts:
            part.prepare(trajectories)

    def _rank(self, inquiry: Inquiry) -> Iterable[int]:
        fused: Counter[int] = Counter()
        for part in self._parts:
            for rank, place in enumerate(part._rank(inquiry), start=1):
                fused[place] += 1 / (RRF_K + rank)  # type: ignore[assignment]  # a counter adds any numbers
        return sorted(fused, key=lambda place: (-fused[place], place))


class Recent(Ranker):
    """`recent`: the last steps before the question, as many as fit."""

    name = "recent"

    def _rank(self, inquiry: Inquiry) -> Iterable[int]:
        return reversed(range(len(self._read[inquiry.trajectory])))


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
        return [place for place, step in enumerate(self._read[inquiry.trajectory]) if step in gold]


def ranking(scores: Vectors) -> list[int]:
    """Places by falling score; ties in step order."""
    import numpy as np

    order: list[int] = np.argsort(-scores, kind="stable").tolist()
    return order


def raw_snippets(trajectory: Trajectory) -> list[MemorySnippet]:
    """The steps of a trajectory as snippets without labels, so that they can be put into a context."""
    return [
        MemorySnippet(
            tenant=TENANT, trajectory=trajectory.id, step=str(step.id), position=place, role=step.role,
            text=(text := with_calls(step.content, step.tool_calls)), resolved=text, session=step.session,
            happened=step.timestamp, recorded=0.0, trust=step.whence().trust,
        )
        for place, step in enumerate(trajectory.steps)
    ]  # fmt: skip
