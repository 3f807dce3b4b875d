"""What a person is shown of a step: its history, its id and state, both clocks, and what was taken out of it."""

from __future__ import annotations

import json

import pytest

from stitch import Step, open_memory
from stitch.lifecycle.selection import Selector

KEY = "sk-abcdefghijklmnopqrstuvwxyz123456"


@pytest.fixture
def memory():
    with open_memory("m") as opened:
        opened.add(Step(id="a", role="user", content="Let's plan day 1.", timestamp="2026-03-01"), trajectory="trip")
        opened.add(Step(role="user", content=f"My key is {KEY}."), trajectory="trip")
    return "m"


def test_what_a_step_was_before_each_correction_is_listed(run, memory):
    assert run("history", "a", "--memory", memory) == (0, "", "stitch: step a of trip was never corrected\n")
    run("correct", "a", "--scope", "day 9", "--by", "ann", "--memory", memory)
    run("correct", "a", "--text", "Let's plan day 9.", "--memory", memory)
    code, out, err = run("history", "a", "--trajectory", "trip", "--memory", memory)
    assert (code, err) == (0, "")
    first, second = out.strip().split("until ")[1:]
    assert "corrected by ann\n  day 1: " in first
    assert "corrected by person\n  day 9: " in second
    assert out.count("  Let's plan day 1.\n") == 2
    told = json.loads(run("history", "a", "--memory", memory, "--json")[1])
    assert [each["labels"]["intent"]["scope"] for each in told["revisions"]] == ["day 1", "day 9"]
    assert [each["step"]["content"] for each in told["revisions"]] == ["Let's plan day 1."] * 2
    assert [each["corrected_by"] for each in told["revisions"]] == ["ann", "person"]
    code, _, err = run("history", "zz", "--memory", memory)
    assert (code, "no trajectory has a step 'zz'" in err) == (2, True)


def test_steps_are_shown_with_their_ids_where_these_are_no_places_and_with_what_keeps_them_out(run, memory):
    with open_memory(memory) as opened:
        opened.lifecycle.retire(Selector(trajectory="trip", step="1"))
    out = run("show", "--steps", "--memory", memory)[1]
    assert "  (step a)\n" in out
    assert "(step 1)" not in out
    assert out.count("  retired\n") == 1


def test_both_clocks_are_shown_with_every_step_that_is_found(run, memory):
    out = run("query", "day 1", "--memory", memory)[1]
    assert out.count(", recorded 2") == 2
    assert ", 2026-03-01, recorded 2" in out


def test_receipts_say_of_what_kind_a_secret_was_that_was_taken_out(run, memory):
    out = run("receipts", "--memory", memory)[1]
    assert "stored    trip  1  taken out: openai-key 1\n" in out
    assert KEY not in out
