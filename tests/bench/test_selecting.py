"""The measurement of filter selection."""

import json

from click.testing import CliRunner

from stitch.bench.selecting import main, measure_selection


def test_selection_is_measured_among_five_hundred_labels_with_the_slow_ones_told_apart() -> None:
    measured = measure_selection(20)
    assert (measured["labels"], measured["questions"]) == (500, 20)
    assert 0 <= measured["p50_ms"] <= measured["p95_ms"]


def test_the_measurement_is_printed_as_json() -> None:
    done = CliRunner().invoke(main, ["--questions", "3"])
    assert done.exit_code == 0
    assert json.loads(done.output)["questions"] == 3
