"""The retrievers that look at no labels: by vectors, by words, by both. What labels must beat."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Literal

from stitch.core import (
    SIMILARITY,
    Embedder,
    IntentFilter,
    RankingRule,
    RetrievalResult,
    ScoredSnippet,
    SearchRequest,
    Selection,
    SnippetStore,
)
from stitch.core.cancellation import check_canceled
from stitch.retrieve.candidates import Similarity
from stitch.retrieve.context.answer import answer
from stitch.retrieve.context.budget import TokenCounter

if TYPE_CHECKING:
    from stitch.embed.lexical import LexicalEncoder


class Unlabeled:
    """A search by similarity alone."""

    def __init__(self, mode: str, *, store: SnippetStore, similarity: Similarity, counter: TokenCounter) -> None:
        self.mode = mode
        self._store, self._similarity, self._counter = store, similarity, counter

    def over(self, store: SnippetStore, *, inventories: object = None) -> Unlabeled:
        """The same retriever over another store; it looks at no labels."""
        return Unlabeled(self.mode, store=store, similarity=self._similarity, counter=self._counter)

    def search(self, request: SearchRequest) -> RetrievalResult:
        """Answer a question; a filter in the request is not looked at."""
        started = time.perf_counter()
        check_canceled()
        hits = [
            ScoredSnippet(snippet, frozenset(), {SIMILARITY: similarity}, similarity)
            for snippet, _, similarity, *_ in self._store.rank(self._similarity.query(request, k=request.depth))
        ]
        check_canceled()
        nothing, rule = Selection(IntentFilter()), RankingRule()
        return answer(request, nothing, hits, rule=rule, counter=self._counter, mode=self.mode, started=started)


class DenseRetriever(Unlabeled):
    """Ranks by the similarity of vectors alone; in that of the question rare words count more (`rank.rarity`)."""

    def __init__(self, *, store: SnippetStore, embedder: Embedder, counter: TokenCounter) -> None:
        similarity = Similarity(embedder=embedder, rarity_in=store)
        super().__init__("dense", store=store, similarity=similarity, counter=counter)


class LexicalRetriever(Unlabeled):
    """Ranks by BM25 alone."""

    def __init__(self, *, store: SnippetStore, lexical: LexicalEncoder, counter: TokenCounter) -> None:
        super().__init__("lexical", store=store, similarity=Similarity(lexical=lexical), counter=counter)


class HybridRetriever(Unlabeled):
    """Ranks by vectors and words together, as the intent retriever does inside a tier of equal density."""

    calibrated: Literal[True] = True

    def __init__(
        self, *, store: SnippetStore, embedder: Embedder, lexical: LexicalEncoder, counter: TokenCounter
    ) -> None:
        similarity = Similarity(embedder=embedder, lexical=lexical)
        super().__init__("hybrid", store=store, similarity=similarity, counter=counter)
