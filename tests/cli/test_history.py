"""What a person is shown of a step: its history, its id and state, both clocks, and what was taken out of it."""

from __future__ import annotations

import pytest

from stitch import Step, open_memory

KEY = "sk-abcdefghijklmnopqrstuvwxyz123456"


@pytest.fixture
def memory():
    with open_memory("m") as opened:
        opened.add(Step(id="a", role="user", content="Let's plan day 1.", timestamp="2026-03-01"), trajectory="trip")
        opened.add(Step(role="user", content=f"My key is {KEY}."), trajectory="trip")
    return "m"


def test_both_clocks_are_shown_with_every_step_that_is_found(run, memory):
    out = run("query", "day 1", "--memory", memory)[1]
    assert out.count(", recorded 2") == 2
    assert ", 2026-03-01, recorded 2" in out
