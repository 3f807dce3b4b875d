"""What all retrieval modes share: turning a request into a density query, and hits into a result."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from stitch.core import (
    DensityCount,
    DensityQuery,
    Embedder,
    IntentFilter,
    Label,
    LabelVocabulary,
    RetrievalResult,
    ScoredSnippet,
    SearchRequest,
    Selection,
    SnippetStore,
    StoreHit,
    match,
)
from stitch.core.protocols import SparseVector
from stitch.retrieve.context.budget import TokenCounter, fit_context
from stitch.retrieve.context.excerpts import excerpt_hits
from stitch.retrieve.question.reading import read_question

if TYPE_CHECKING:
    from stitch.core.protocols import Vectors
    from stitch.embed.lexical import LexicalEncoder

NOTHING_SELECTED = Selection(IntentFilter())

_ASKED_SHARE = 0.4
"""How much the part of a question that says what is asked for counts once more beside the whole."""


@dataclass(frozen=True, kw_only=True)
class Similarity:
    """How alike a question and a snippet are: by vectors, by words, or by both.

    Attributes:
        embedder: Makes the vector of a question; without one, words alone count.
        lexical: Makes the words of a question; without it, vectors alone count.
        lexical_share: How much words count where both are there, from 0 to 1.
    """

    embedder: Embedder | None = None
    lexical: LexicalEncoder | None = None
    lexical_share: float = 0.5

    def query(
        self,
        request: SearchRequest,
        *,
        text: str | None = None,
        asked: str = "",
        labels: Mapping[Label, frozenset[str]] | None = None,
        count: DensityCount = DensityCount.VALUES,
        weights: Mapping[Label, float] | None = None,
        k: int | None = None,
    ) -> DensityQuery:
        """What to ask a store for; without labels, similarity alone decides.

        Args:
            request: The question.
            text: Stands in for the question.
            asked: That part of the text which says what is asked for and not where to look; it counts more.
            labels: See `DensityQuery`, as for the others.
            count: What density counts.
            weights: What each label counts.
            k: How many to return.
        """
        text = request.query if text is None else text
        texts, shares = ((text, asked), (1.0 - _ASKED_SHARE, _ASKED_SHARE)) if asked else ((text,), (1.0,))
        return DensityQuery(
            tenant=request.tenant,
            trajectory=request.trajectory,
            labels=labels or {},
            vector=_mean(self.embedder.embed(texts), shares) if self.embedder else None,
            words=_sum(map(self.lexical.query, texts), shares) if self.lexical else None,
            lexical_share=self.lexical_share,
            count=count,
            weights=weights,
            k=request.k if k is None else k,
            min_trust=request.min_trust,
            as_of=request.as_of,
        )


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


class Unlabeled:
    """A search by similarity alone.

    Args:
        mode: The name under which it is chosen.
        store: Where the snippets are.
        similarity: How they are compared with the question.
        counter: Counts the tokens of the context.
    """

    def __init__(self, mode: str, *, store: SnippetStore, similarity: Similarity, counter: TokenCounter) -> None:
        self.mode = mode
        self._store, self._similarity, self._counter = store, similarity, counter

    def over(self, store: SnippetStore, *, inventories: object = None) -> Unlabeled:
        """The same retriever over another store; it looks at no labels."""
        return Unlabeled(self.mode, store=store, similarity=self._similarity, counter=self._counter)

    def search(self, request: SearchRequest) -> RetrievalResult:
        """Answer a question; a filter in the request is not looked at."""
        started = time.perf_counter()
        hits = scored(self._store.rank(self._similarity.query(request)))
        return result(request, NOTHING_SELECTED, hits, counter=self._counter, mode=self.mode, started=started)


def scored(
    hits: Iterable[StoreHit], labels: frozenset[Label] = frozenset(), vocabulary: LabelVocabulary | None = None
) -> list[ScoredSnippet]:
    """The hits of a store with the labels that each of them matched."""
    vocabulary = vocabulary or LabelVocabulary()
    return [ScoredSnippet(s, density, match(s.intent, labels, vocabulary), alike) for s, density, alike in hits]


def result(
    request: SearchRequest,
    selection: Selection,
    hits: list[ScoredSnippet],
    *,
    counter: TokenCounter,
    mode: str,
    started: float,
) -> RetrievalResult:
    """The answer made of `hits`, its context inside the budget; `started` is a reading of `time.perf_counter`."""
    shown = excerpt_hits(hits, read_question(request.query), lists_names=selection.lists_names)
    context = fit_context(shown, budget_tokens=request.budget_tokens, counter=counter)
    return RetrievalResult(
        request=request,
        intent_filter=selection.intent_filter,
        reasons=selection.reasons,
        hits=tuple(hits),
        context_text=context.text,
        context_tokens=context.tokens,
        context_hits=context.ids,
        milliseconds=(time.perf_counter() - started) * 1000,
        mode=mode,
        weighed=selection.weighed,
    )
