"""How requests keep within what a collection allows."""

from __future__ import annotations

from typing import Any

import pytest
from qdrant_client import models

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
