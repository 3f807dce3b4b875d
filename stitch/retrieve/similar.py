"""The retrievers that look at no labels: by vectors, by words, by both. What labels must beat."""

from __future__ import annotations

import time
from copy import copy
from typing import TYPE_CHECKING, Any

from typing_extensions import Self

from stitch.core import (
    SIMILARITY,
    Embedder,
    IntentFilter,
    LabelVocabulary,
    RankingRule,
    RetrievalResult,
    ScoredSnippet,
    SearchRequest,
    Selection,
    SnippetReader,
)
from stitch.core.cancellation import check_canceled
from stitch.retrieve.candidates import Inventories, Similarity, as_read
from stitch.retrieve.context.answer import bare, with_context

if TYPE_CHECKING:
    from stitch.embed.lexical import LexicalEncoder


class Unlabeled:
    """A search by similarity alone."""

    def __init__(self, mode: str, *, store: SnippetReader, similarity: Similarity, inventories: Inventories) -> None:
        self.mode = mode
        self._store, self._similarity = store, similarity
        self._inventories = inventories
        """Only for the names under which the labels of hits are shown."""

    def over(self, store: SnippetReader, *, inventories: Inventories) -> Self:
        """The same retriever over another store and label space."""
        other = copy(self)
        other._store, other._inventories = store, inventories
        return other

    def search(self, request: SearchRequest) -> RetrievalResult:
        """Answer a question; a filter in the request is not looked at."""
        started = time.perf_counter()
        check_canceled()
        hits = [
            ScoredSnippet(snippet, frozenset(), {SIMILARITY: similarity}, similarity)
            for snippet, _, similarity, *_ in self._store.rank(self._similarity.query(request, {request.query: 1.0}))
        ]
        check_canceled()
        hits = as_read(hits, LabelVocabulary(self._inventories(request.tenant, request.trajectory).merges))
        nothing, rule = Selection(IntentFilter()), RankingRule()
        return with_context(bare(request, nothing, hits, rule=rule, mode=self.mode, started=started))


class DenseRetriever(Unlabeled):
    """Ranks by the similarity of vectors alone; in that of the question rare words count more (`rank.rarity`)."""

    def __init__(self, *, embedder: Embedder, store: SnippetReader, **searched: Any) -> None:
        super().__init__("dense", store=store, similarity=Similarity(embedder=embedder, rarity_in=store), **searched)


class LexicalRetriever(Unlabeled):
    """Ranks by BM25 alone."""

    def __init__(self, *, lexical: LexicalEncoder, **searched: Any) -> None:
        super().__init__("lexical", similarity=Similarity(lexical=lexical), **searched)


class HybridRetriever(Unlabeled):
    """Ranks by vectors and words together, as the intent retriever does inside a tier of equal density."""

    calibrated = True

    def __init__(self, *, embedder: Embedder, lexical: LexicalEncoder, **searched: Any) -> None:
        super().__init__("hybrid", similarity=Similarity(embedder=embedder, lexical=lexical), **searched)
