"""Trajectories woven from stretches of others."""

import random

import pytest

from stitch.core import Step
from stitch.label.local.reading import read_step
from stitch.pipelines.weave import KINDS, chain, chat, room, stretches, weave


def talk(number):
    """A stretch of six steps about one thing, and its gold."""
    said = [
        ("ann", f"I need a table at Rosa{number} for three people. Can you help?"),
        ("bob", "Sure, for which day?"),
        ("ann", "For Sunday, please."),
        ("tool", '{"free": "yes"}'),
        ("bob", f"Rosa{number} has a table at 7 pm."),
        ("ann", "That sounds good."),
    ]
    return [read_step(Step(role=role, content=text)) for role, text in said], [(f"goal {number}",)] * len(said)


@pytest.fixture
def pool():
    return [stretch for number in range(20) for stretch in stretches(*talk(number))]


def test_a_stretch_has_two_speakers_and_no_tools(pool):
    assert len(pool) == 20
    assert [bundle[0].role for bundle in pool[0]] == ["user", "agent", "user", "agent", "user"]


def test_short_stretches_and_steps_without_gold_are_left_out():
    readings, gold = talk(0)
    assert stretches(readings, [()] * len(gold)) == []
    assert stretches(readings[:2], gold[:2]) == []


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_seed_weaves_the_same_trajectory(pool, kind):
    assert KINDS[kind](random.Random(1), pool) == KINDS[kind](random.Random(1), pool)
    assert KINDS[kind](random.Random(1), pool) != KINDS[kind](random.Random(2), pool)


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("kind", ["weave", "room"])
def test_every_stretch_keeps_its_order_wherever_it_is_left(pool, kind, seed):
    woven = KINDS[kind](random.Random(seed), pool)
    for number in set(woven.scopes):
        own = [step for step, scope in zip(woven.steps, woven.scopes, strict=True) if scope == number]
        said = " ".join(step.content for step in own if step.role != "agent_call")
        places = [said.index(part) for part in ("a table at", "which day", "For Sunday", "at 7 pm", "sounds good")]
        assert places == sorted(places)


def test_what_would_have_come_next_leads_over_to_the_next_stretch(pool):
    steps = [step for seed in range(20) for step in chain(random.Random(seed), pool).steps]
    assert any("For Sunday, please. I need a table" in step.content for step in steps)


def test_stretches_in_turn_are_never_taken_up_again(pool):
    for seed in range(20):
        scopes = chain(random.Random(seed), pool).scopes
        assert scopes == sorted(scopes)


def test_woven_stretches_are_left_and_taken_up_again(pool):
    scopes = [weave(random.Random(seed), pool).scopes for seed in range(20)]
    assert any(numbers != sorted(numbers) for numbers in scopes)


def test_a_result_follows_its_call_and_nothing_comes_between(pool):
    calls = 0
    for seed in range(40):
        steps, scopes = weave(random.Random(seed), pool)
        for place, step in enumerate(steps):
            if step.tool_calls or step.role == "agent_call":
                calls += 1
                assert steps[place + 1].role == "tool"
                assert scopes[place] == scopes[place + 1] == scopes[place + 2]
    assert calls > 20


def test_a_room_has_many_speakers_who_name_each_other(pool):
    steps, _ = room(random.Random(3), pool)
    names = {step.role for step in steps}
    assert len(names) > 6
    assert any(name in step.content for step in steps for name in names if name != step.role)


def test_sessions_with_an_assistant_are_left_where_an_exchange_ends(pool):
    even = [[*stretch, [Step(role="agent", content="See you then.")]] for stretch in pool]
    taken_up = 0
    for seed in range(40):
        steps, scopes = chat(random.Random(seed), even)
        assert [step.role for step in steps] == ["user", "agent"] * (len(steps) // 2)
        assert scopes[::2] == scopes[1::2]
        assert all(scopes.count(number) == 6 for number in set(scopes))
        taken_up += scopes != sorted(scopes)
    assert 0 < taken_up < 40
