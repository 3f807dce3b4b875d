"""How requests keep within what a collection allows."""

from __future__ import annotations

from typing import Any

import pytest
from qdrant_client import models

from stitch.errors import StoreError
from stitch.store.limits import Limits


def config(*, m: int = 0, **strict: Any) -> models.CollectionConfig:
    return models.CollectionConfig(
        params=models.CollectionParams(),
        hnsw_config=models.HnswConfig(m=m, ef_construct=100, full_scan_threshold=10_000),
        optimizer_config=models.OptimizersConfig(
            deleted_threshold=0.2, vacuum_min_vector_number=1_000, default_segment_number=0, flush_interval_sec=5
        ),
        wal_config=models.WalConfig(wal_capacity_mb=32, wal_segments_ahead=0),
        strict_mode_config=models.StrictModeConfigOutput(**strict) if strict else None,
    )


@pytest.mark.parametrize("strict", [{}, {"enabled": False, "upsert_max_batchsize": 3}, {"enabled": True}])
def test_only_of_a_collection_with_a_graph_exact_scores_have_to_be_asked_for(strict: dict[str, Any]) -> None:
    assert Limits.of(config(m=0, **strict), what="it") == Limits(exact=False)
    assert Limits.of(config(m=16, **strict), what="it").exact
    assert (Limits.of(config(**strict), what="it").batch, Limits.of(config(**strict), what="it").page) == (256, 10_000)


@pytest.mark.parametrize(
    ("strict", "batch", "page"),
    [
        ({"upsert_max_batchsize": 3}, 3, 10_000),
        ({"write_rate_limit": 5}, 5, 5),
        ({"read_rate_limit": 7}, 7, 7),
        ({"max_query_limit": 9}, 256, 9),
        ({"condition_max_size": 11}, 256, 11),
        ({"upsert_max_batchsize": 1_000, "max_query_limit": 20_000}, 256, 10_000),
    ],
)
def test_no_request_asks_for_more_than_strict_mode_allows(strict: dict[str, Any], batch: int, page: int) -> None:
    limits = Limits.of(config(enabled=True, **strict), what="it")
    assert (limits.batch, limits.page) == (batch, page)


def test_a_server_that_may_not_score_all_points_is_asked_for_vectors() -> None:
    for strict in ({"search_allow_exact": False}, {"condition_max_size": 0}, {"filter_max_conditions": 0}):
        assert not Limits.of(config(enabled=True, **strict), what="it").scores
    for strict in ({"search_allow_exact": True}, {"condition_max_size": 1}, {"filter_max_conditions": 1}):
        assert Limits.of(config(enabled=True, **strict), what="it").scores
    assert not Limits.of(config(enabled=True, search_allow_exact=False), what="it").counts
    assert Limits.of(config(enabled=True, condition_max_size=0), what="it").counts


@pytest.mark.parametrize("name", ["upsert_max_batchsize", "write_rate_limit", "read_rate_limit", "max_query_limit"])
def test_a_collection_that_allows_nothing_is_refused_by_name(name: str) -> None:
    with pytest.raises(StoreError) as refused:
        Limits.of(config(enabled=True, **{name: 0}), what="collection 'c'")
    assert refused.value.message == f"collection 'c' allows nothing: its strict mode has {name} 0"
    assert refused.value.hint == f"raise {name} of the collection"
