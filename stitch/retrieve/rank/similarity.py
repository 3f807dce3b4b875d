"""How alike a question and a snippet are, as a store is asked for it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from stitch.core import (
    DensityCount,
    DensityQuery,
    Embedder,
    Label,
    SearchRequest,
    SnippetStore,
)
from stitch.core.protocols import SparseVector, SummingEmbedder
from stitch.retrieve.constants import CONSTANTS
from stitch.retrieve.rank.rarity import rare_words_first

if TYPE_CHECKING:
    from stitch.core.protocols import Vectors
    from stitch.embed.lexical import LexicalEncoder


@dataclass(frozen=True, kw_only=True)
class Similarity:
    """How alike a question and a snippet are: by vectors, by words, or by both.

    Attributes:
        embedder: Makes the vector of a question; without one, words alone count.
        lexical: Makes the words of a question; without it, vectors alone count.
        lexical_share: How much words count where both are there, from 0 to 1.
        asked_share: How much the part of a question that says what is asked for counts once more beside the whole.
        rarity_in: Where words are counted, so that in the vector of a question rare ones count more; without it, or
            with an embedder whose vectors are no sums, all count alike.
    """

    embedder: Embedder | None = None
    lexical: LexicalEncoder | None = None
    lexical_share: float = 0.5
    asked_share: float = CONSTANTS.asked_share
    rarity_in: SnippetStore | None = None

    def query(
        self,
        request: SearchRequest,
        *,
        text: str | None = None,
        asked: str = "",
        asked_share: float | None = None,
        labels: Mapping[Label, frozenset[str]] | None = None,
        count: DensityCount = DensityCount.VALUES,
        k: int | None = None,
    ) -> DensityQuery:
        """What to ask a store for; without labels, similarity alone decides.

        Args:
            request: The question.
            text: Stands in for the question.
            asked: That part of the text which says what is asked for and not where to look; it counts more.
            asked_share: How much more; by default as much as it was made with.
            labels: See `DensityQuery`, as for the others.
            count: What density counts.
            k: How many to return.
        """
        text = request.query if text is None else text
        share = self.asked_share if asked_share is None else asked_share
        texts, shares = ((text, asked), (1.0 - share, share)) if asked else ((text,), (1.0,))
        return DensityQuery(
            tenant=request.tenant,
            trajectory=request.trajectory,
            labels=labels or {},
            vector=self._vector(request, texts, shares),
            words=_sum(map(self.lexical.query, texts), shares) if self.lexical else None,
            lexical_share=self.lexical_share,
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
        import numpy as np

        count = partial(self.rarity_in.word_counts, request.tenant, trajectory=request.trajectory)
        return _mean(np.stack([rare_words_first(text, embedder=self.embedder, count=count) for text in texts]), shares)


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
