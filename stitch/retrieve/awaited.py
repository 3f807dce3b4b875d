"""Hits without a vector yet: where vectors follow, words and labels alone speak for a step until then."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from stitch.core import Decision, MemorySnippet, RetrievalResult, Retriever, SearchRequest


class AwaitedVectorsRetriever:
    """Says of the hits of another retriever whether their vectors are there."""

    def __init__(
        self, retriever: Retriever, *, lacking: Callable[[str, Iterable[MemorySnippet]], frozenset[str]]
    ) -> None:
        self.mode = retriever.mode
        self._retriever, self._lacking = retriever, lacking

    def search(self, request: SearchRequest) -> RetrievalResult:
        """Answer a question."""
        found = self._retriever.search(request)
        lacking = self._lacking(request.tenant, [hit.snippet for hit in found.hits])
        if not lacking:
            return found
        hits = tuple(hit._replace(embedded=hit.snippet.id not in lacking) for hit in found.hits)
        figures = {"hits without a vector": float(len(lacking))}
        decision = Decision("vectors follow", figures, "words and labels alone speak for these hits")
        return replace(found, hits=hits, trace=(*found.trace, decision))
