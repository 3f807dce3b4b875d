"""Random worlds for stores, and what a store must answer in them, computed by definition from `stitch.core`."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from stitch.core import (
    ContextualIntent,
    DensityCount,
    DensityQuery,
    IntentFilter,
    Label,
    LabelKind,
    LabelMerge,
    LabelVocabulary,
    MemorySnippet,
    Moment,
    ScoredSnippet,
    SnippetRecord,
    StoreHit,
    Trust,
    rank_by_label_density,
)
from stitch.core.protocols import SparseVector
from stitch.store.similarity import as_kept, words_as_kept

DIMENSION = 8
"""The dimension of the stores that `make_store` makes."""

EMBEDDER = "contract-8"
"""The embedder of the stores that `make_store` makes."""

TOLERANCE = 1e-6
"""Similarities closer than this are a tie: engines count in single precision."""

_VALUES = {
    LabelKind.SCOPE: [f"day {n}" for n in range(6)],
    LabelKind.EVENT_TYPE: ["propose", "ask", "ask again", "answer", "book"],
    LabelKind.ENTITY_TYPE: ["price", "cost", "time", "place", "rating", "duration"],
    LabelKind.TARGET: ["hotel", "museum"],
}
_MERGES = (
    LabelMerge(kind=LabelKind.EVENT_TYPE, alias="ask again", into="ask"),
    LabelMerge(kind=LabelKind.ENTITY_TYPE, alias="cost", into="price"),
    LabelMerge(kind=LabelKind.ENTITY_TYPE, alias="duration", into="cost"),
)

if TYPE_CHECKING:
    from stitch.core.protocols import Vectors


def make_record(
    step: str,
    *,
    tenant: str = "t",
    trajectory: str = "trip",
    position: int = 0,
    text: str = "text",
    intent: ContextualIntent | None = None,
    vector: Sequence[float] = (1.0, 0, 0, 0, 0, 0, 0, 0),
    words: dict[int, float] | None = None,
    trust: Trust = Trust.LOW,
    recorded: float = 1.0,
) -> SnippetRecord:
    snippet = MemorySnippet(
        tenant=tenant, trajectory=trajectory, step=step, position=position, role="user", text=text, resolved=text,
        intent=intent or ContextualIntent(), recorded=recorded, trust=trust,
    )  # fmt: skip
    return SnippetRecord(snippet, np.array(vector, dtype=np.float32), words or {})


def random_records(rng: random.Random, n: int, *, tenants: Sequence[str] = ("t", "u")) -> list[SnippetRecord]:
    vectors = np.random.default_rng(rng.randrange(2**32)).standard_normal((max(4, n // 3), DIMENSION)).astype("float32")
    vectors[0] = 0
    records = []
    for number in range(n):
        intent = ContextualIntent(
            scope=_skewed(rng, _VALUES[LabelKind.SCOPE]) if rng.random() < 0.8 else None,
            event_types=tuple(_skewed(rng, _VALUES[LabelKind.EVENT_TYPE]) for _ in range(rng.randrange(3))),
            entity_types=tuple(_skewed(rng, _VALUES[LabelKind.ENTITY_TYPE]) for _ in range(rng.randrange(4))),
            targets=tuple(_skewed(rng, _VALUES[LabelKind.TARGET]) for _ in range(rng.randrange(2))),
        )
        words = {rng.randrange(12) * 300_000_000: rng.choice([0.5, 1.0, 1.7]) for _ in range(rng.randrange(6))}
        records.append(
            make_record(
                str(number), tenant=rng.choice(tenants), trajectory=f"trip {rng.randrange(3)}", position=number // 2,
                intent=intent, vector=vectors[rng.randrange(len(vectors))], words=words,
                trust=rng.choice(list(Trust)), recorded=float(number // 7),
            )
        )  # fmt: skip
    return records


def random_query(rng: random.Random, *, tenants: Sequence[str] = ("t", "u")) -> tuple[DensityQuery, LabelVocabulary]:
    vocabulary = LabelVocabulary(_MERGES[: rng.randrange(4)])
    labels = {}
    for kind, values in _VALUES.items():
        for value in rng.sample(values, rng.randrange(min(4, len(values)))):
            canonical = vocabulary.canonical_label(Label(kind, value))
            labels[canonical] = vocabulary.aliases(canonical)
    numbers = np.random.default_rng(rng.randrange(2**32))
    query = DensityQuery(
        tenant=rng.choice(tenants),
        labels={} if rng.random() < 0.15 else labels,
        trajectory=f"trip {rng.randrange(4)}" if rng.random() < 0.3 else None,
        vector=None if rng.random() < 0.2 else numbers.standard_normal(DIMENSION).astype("float32"),
        words=None if rng.random() < 0.3 else {rng.randrange(14) * 300_000_000: 1.0 for _ in range(rng.randrange(5))},
        lexical_share=rng.choice([0.0, 0.3, 0.5, 1.0]),
        count=DensityCount.KINDS if rng.random() < 0.2 else DensityCount.VALUES,
        k=rng.choice([1, 3, 10, 40, 1000]),
        min_trust=rng.choice(list(Trust)) if rng.random() < 0.25 else None,
        as_of=_random_moment(rng) if rng.random() < 0.25 else None,
    )
    return query, vocabulary


def _random_moment(rng: random.Random) -> Moment:
    if rng.random() < 0.5:
        return Moment(float(rng.randrange(30)))
    return Moment(float(rng.randrange(30)), f"trip {rng.randrange(4)}", rng.randrange(100))


def expected_ranking(
    records: Sequence[SnippetRecord], query: DensityQuery, vocabulary: LabelVocabulary | None = None
) -> list[ScoredSnippet]:
    candidates = [
        (record.snippet, similarity)
        for record, (similarity, _, _) in zip(records, similarities(records, query), strict=True)
        if query.sees(record.snippet)
    ]
    of_kind: dict[LabelKind, list[str]] = {kind: [] for kind in LabelKind}
    for label in query.labels:
        of_kind[label.kind].append(label.value)
    return rank_by_label_density(
        candidates,
        IntentFilter(
            scopes=tuple(of_kind[LabelKind.SCOPE]),
            event_types=tuple(of_kind[LabelKind.EVENT_TYPE]),
            entity_types=tuple(of_kind[LabelKind.ENTITY_TYPE]),
            targets=tuple(of_kind[LabelKind.TARGET]),
        ),
        vocabulary=vocabulary or LabelVocabulary(),
        count=query.count,
    )


def assert_ranked(hits: Sequence[StoreHit], expected: Sequence[ScoredSnippet], *, k: int) -> None:
    assert len(hits) == min(k, len(expected))
    known = {_name(scored.snippet): scored for scored in expected}
    assert len({_name(hit.snippet) for hit in hits}) == len(hits)
    for hit, there in zip(hits, expected, strict=False):
        own = known[_name(hit.snippet)]
        assert hit.snippet == own.snippet
        assert hit.density == own.density == there.density
        assert abs(hit.similarity - own.similarity) < TOLERANCE
        assert abs(hit.similarity - there.similarity) < TOLERANCE


def _name(snippet: MemorySnippet) -> tuple[str, str, str]:
    return snippet.tenant, snippet.trajectory, snippet.step


def _skewed(rng: random.Random, values: Sequence[str]) -> str:
    return values[min(int(rng.expovariate(0.7)), len(values) - 1)]


def similarities(records: Sequence[SnippetRecord], query: DensityQuery) -> list[tuple[float, float, float]]:
    """Of each record its similarity, and what vectors and words have of it."""
    none = [0.0] * len(records)
    cosines = none if query.vector is None else _cosines(records, query.vector)
    lexicals = none if query.words is None else _lexicals(records, query.words, tenant=query.tenant)
    share = 1.0 if query.vector is None else 0.0 if query.words is None else query.lexical_share
    return [((1 - share) * a + share * b, a, b) for a, b in zip(cosines, lexicals, strict=True)]


def _cosines(records: Sequence[SnippetRecord], vector: Vectors | None) -> list[float]:
    ours = np.array([record.vector for record in records], dtype=np.float32).reshape(len(records), -1)
    theirs = as_kept(np.asarray(vector, dtype=np.float32)).astype(np.float64)
    return [float(value) for value in as_kept(ours).astype(np.float64) @ theirs]


def _lexicals(records: Sequence[SnippetRecord], asked: SparseVector, *, tenant: str) -> list[float]:
    with_words = [record.words for record in records if record.snippet.tenant == tenant and record.words]
    weights = {}
    for index, weight in asked.items():
        carrying = sum(index in words for words in with_words)
        weights[index] = weight * math.log(1 + (len(with_words) - carrying + 0.5) / (carrying + 0.5)) ** 1.3
    kept, own = words_as_kept(weights), [words_as_kept(record.words) for record in records]
    scores = [sum(weight * words.get(index, 0.0) for index, weight in kept.items()) for words in own]
    return [value / (value + 10) for value in scores]
