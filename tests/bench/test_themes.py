"""Figures of themes."""

from __future__ import annotations

from stitch import Step
from stitch.bench.themes import in_orders, measure_themes
from stitch.core import Trajectory

TALKS = [
    Trajectory(
        id=name,
        steps=tuple(
            Step(role="user", content=f"The {what} of {name} has {number} {thing}s on the {place}.", id=f"s{number}")
            for number, (what, thing, place) in enumerate(
                [("house", "window", "street"), ("garden", "apple tree", "hill"), ("harbor", "boat", "river")] * 3
            )
        ),
    )
    for name in ("Oslo", "Turin", "Porto")
]


def test_themes_are_measured_over_a_stream_and_in_other_orders() -> None:
    told = measure_themes(TALKS)
    assert (told["steps"], told["statements"], told["statements_a_step"]) == (27, 27, 1.0)
    assert 1 <= told["themes"] <= 27
    assert told["largest"] <= 12
    assert 0 <= told["reassigned"] <= 1
    assert told["cpu_ms_a_step_last"] > 0
    assert told["load_cpu_s"] > 0
    assert measure_themes(TALKS, most=9)["statements"] == 9
    assert [each.statements for each in in_orders(TALKS)] == [27, 27, 27]
