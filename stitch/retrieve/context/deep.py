"""Ranking more steps than are answered with: one ranking, from which a lens reads and an answer can still be made."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, runtime_checkable

from stitch.core import RetrievalResult, Retriever, SearchRequest

Deep = tuple[RetrievalResult, Callable[[], RetrievalResult]]
"""What was ranked, without a context that is of use; and what makes the answer to the request itself."""


@runtime_checkable
class DeepRetriever(Protocol):
    """A retriever that ranks once for both."""

    def search_deep(self, request: SearchRequest, *, k: int) -> Deep:
        """Rank at least `k` steps, and get what makes the answer to the request of the first of them."""


def search_deep(retriever: Retriever, request: SearchRequest, *, k: int) -> Deep:
    """Rank at least `k` steps; a retriever that cannot do both at once is asked again for the answer."""
    if isinstance(retriever, DeepRetriever):
        return retriever.search_deep(request, k=k)
    ranked = retriever.search(request.model_copy(update={"k": max(k, request.k), "budget_tokens": 1}))
    return ranked, lambda: retriever.search(request)
