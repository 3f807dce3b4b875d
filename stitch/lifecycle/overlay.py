"""Snippets ranked beside a store, as the store would rank them if it held them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from stitch.core import DensityQuery, Label, MemorySnippet, SnippetRecord, SnippetStore, StoreHit, density
from stitch.store.similarity import Similarity, informativeness
from stitch.store.vectors import as_kept, words_as_kept


def rank_beside(query: DensityQuery, records: Sequence[SnippetRecord], *, store: SnippetStore) -> list[StoreHit]:
    """Score snippets that a store does not hold by the definition of its ranking (`SnippetStore.rank`).

    Args:
        query: What is asked.
        records: Those of its tenant; what the query does not admit is left out.
        store: Tells how rare words are.

    Returns:
        One hit a snippet, in the order of `records`.
    """
    admitted = [record for record in records if query.admits(record)]
    if not admitted:
        return []
    similarity = Similarity.of(query, dimension=len(admitted[0].vector))
    if similarity.words is not None:
        counts = store.word_counts(query.tenant, similarity.words)
        rarity = {word: informativeness(each, snippets=counts.snippets) for word, each in counts.carrying.items()}
        similarity = similarity.weighed(rarity)
    return [
        StoreHit(record.snippet, _density(query, record.snippet), _similarity(similarity, record))
        for record in admitted
    ]


def in_order(hits: Sequence[StoreHit]) -> list[StoreHit]:
    """Hits as a store orders them, best first."""

    def place(hit: StoreHit) -> tuple[float, float, str, int, str]:
        snippet = hit.snippet
        return -hit.density, -hit.similarity, snippet.trajectory, snippet.position, snippet.step

    return sorted(hits, key=place)


def _density(query: DensityQuery, snippet: MemorySnippet) -> float:
    carried = snippet.intent.labels()
    matched = frozenset(
        label
        for label, aliases in query.labels.items()
        if any(Label(label.kind, alias) in carried for alias in aliases)
    )
    return density(matched, count=query.count)


def _similarity(similarity: Similarity, record: SnippetRecord) -> float:
    cosine = 0.0
    if similarity.vector:
        asked = np.asarray(similarity.vector, dtype=np.float32)
        cosine = float(as_kept(asked) @ as_kept(record.vector))
    own = words_as_kept(record.words)
    lexical = sum(weight * own.get(word, 0.0) for word, weight in (similarity.words or {}).items())
    return similarity.combine(cosine, lexical)
