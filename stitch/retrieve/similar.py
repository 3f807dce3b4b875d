"""The retrievers that look at no labels: by vectors, by words, by both. What labels must beat."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stitch.core import Embedder, SnippetStore
from stitch.retrieve.context.budget import TokenCounter
from stitch.retrieve.rank.similarity import Similarity, Unlabeled

if TYPE_CHECKING:
    from stitch.embed.lexical import LexicalEncoder


class DenseRetriever(Unlabeled):
    """Ranks by the similarity of vectors alone."""

    def __init__(self, *, store: SnippetStore, embedder: Embedder, counter: TokenCounter) -> None:
        super().__init__("dense", store=store, similarity=Similarity(embedder=embedder), counter=counter)


class LexicalRetriever(Unlabeled):
    """Ranks by BM25 alone."""

    def __init__(self, *, store: SnippetStore, lexical: LexicalEncoder, counter: TokenCounter) -> None:
        super().__init__("lexical", store=store, similarity=Similarity(lexical=lexical), counter=counter)


class HybridRetriever(Unlabeled):
    """Ranks by vectors and words together, as the intent retriever does inside a tier of equal density."""

    def __init__(
        self, *, store: SnippetStore, embedder: Embedder, lexical: LexicalEncoder, counter: TokenCounter
    ) -> None:
        similarity = Similarity(embedder=embedder, lexical=lexical)
        super().__init__("hybrid", store=store, similarity=similarity, counter=counter)
