"""What a server costs is measured against the same memory in process."""

import pytest

from stitch.bench.serving import CLIENTS, measure_serving


@pytest.mark.slow
def test_a_server_is_measured_beside_the_same_in_process():
    figures = measure_serving(60, streams=5)
    for clients in CLIENTS:
        for what in ("search", "add"):
            assert figures[f"{what}_{clients}_p50_ms"] <= figures[f"{what}_{clients}_p95_ms"]
            assert figures[f"in_process_{what}_{clients}_per_s"] > 0
    assert figures["busy_steps_per_s"] > 0
    assert figures["streams"] == 5
