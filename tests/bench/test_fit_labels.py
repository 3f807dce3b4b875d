"""Weights of local labels are fitted on a few made-up trajectories, woven and not."""

import gzip
import json
import random

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

pytest.importorskip("scipy")

from click.testing import CliRunner

from stitch.bench.fit import scopes as fit_local
from stitch.bench.fit.__main__ import group
from stitch.bench.fit.talk import KINDS, chain, chat, read_chats, read_set, stretches, weave
from stitch.core import Step
from stitch.embed import StaticEmbedder
from stitch.embed.static import TABLE
from stitch.label.local.reading import read_step
from stitch.label.local.replies import Replies, as_data, replies_from
from stitch.label.local.scopes import ScopeTracker


@pytest.fixture
def data(tmp_path, monkeypatch):
    """A folder with three of the sets, each with the same few trajectories over two subjects."""
    some = {name: fit_local.SETS[name] for name in ("star", "irc", "sgd_interleaved")}
    monkeypatch.setattr(fit_local, "SETS", some)
    monkeypatch.setattr(fit_local, "WOVEN", 4)
    monkeypatch.setattr(fit_local, "WOVEN_CHATS", 12)
    talk = [
        ("user", "I need a hotel in Boston.", "goal hotel"),
        ("agent", "For how many nights?", "goal hotel"),
        ("user", "Three nights.", "goal hotel"),
        ("user", "Please play some music now.", "goal music"),
        ("agent", "Which album do you like?", "goal music"),
        ("user", "Back to the hotel, does it allow pets?", "goal hotel"),
    ]
    steps = [
        {"role": role, "content": text, "gold": {"scope": [gold], "event_types": ["INFORM_INTENT"] if n == 5 else []}}
        for n, (role, text, gold) in enumerate(talk)
    ]
    line = json.dumps({"id": "t", "steps": steps})
    for labeled in fit_local.SETS.values():
        path = tmp_path / labeled.path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(gzip.compress("\n".join([line] * 2).encode()))
    chats = tmp_path / fit_local.CHATS_FROM
    chats.parent.mkdir(parents=True, exist_ok=True)
    chats.write_bytes(gzip.compress(json.dumps({"id": "t", "steps": sessions()}).encode()))
    return tmp_path


def fit(*arguments):
    done = CliRunner().invoke(group, ["scopes", *map(str, arguments)], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.stdout


def sessions():
    """Sessions about a few matters with an assistant who answers at length, one of them begun twice."""
    steps = []
    for number, matter in enumerate([*["tulips", "bread", "chess", "taxes", "sailing", "mushrooms"], "tulips"]):
        for question in (f"How do I begin with {matter}?", f"What do {matter} cost?", f"Do many people like {matter}?"):
            steps.append({"role": "user", "content": question, "session": str(number)})
            answer = " ".join(f"Here is what matters with {matter}, point {point}." for point in range(12))
            steps.append({"role": "assistant", "content": answer, "session": str(number)})
    return steps


@pytest.mark.slow
def test_fitted_weights_follow_what_they_were_fitted_on(data, tmp_path):
    told = fit("--data", data, "--out", tmp_path, "--report")
    assert [line.split()[0] for line in told.splitlines()] == ["star", "irc", "sgd_interleaved", "chats"]
    pairs = json.loads((tmp_path / "scope_weights.json").read_bytes())["weights"]
    weights, chats = ({name: pair[place] for name, pair in pairs.items()} for place in range(2))
    replies = replies_from(json.loads((tmp_path / "reply_weights.json").read_bytes()))
    trajectories = read_set(data / fit_local.SETS["star"].path)
    assert ScopeTracker(weights).scopes == []
    score, switch = fit_local.measure(trajectories, weights, replies)
    untrained, _ = fit_local.measure(trajectories, {})
    assert score > untrained
    assert switch > 0
    woven = fit_local.woven_chats(read_chats(data / fit_local.CHATS_FROM, most=800), count=8)
    as_talk, _ = fit_local.measure(woven, weights, replies)
    as_chats, _ = fit_local.measure(woven, weights, replies, chats)
    assert as_chats > as_talk


def test_of_chats_each_session_of_two_in_turn_is_read_once(data):
    chats = read_chats(data / fit_local.CHATS_FROM, most=800)
    assert [len(chat.gold) for chat in chats] == [6] * 6
    assert len(read_chats(data / fit_local.CHATS_FROM, most=2)) == 2


def test_steps_that_open_something_inside_a_goal_are_not_learned_from(data):
    trajectory = read_set(data / fit_local.SETS["star"].path)[0]
    assert trajectory.coarse == {5}


def stretch_of(number):
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
    return [stretch for number in range(20) for stretch in stretches(*stretch_of(number))]


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("kind", ["weave", "room"])
def test_every_stretch_keeps_its_order_wherever_it_is_left(pool, kind, seed):
    woven = KINDS[kind](random.Random(seed), pool)
    for number in set(woven.scopes):
        own = [step for step, scope in zip(woven.steps, woven.scopes, strict=True) if scope == number]
        said = " ".join(step.content for step in own if step.role != "agent_call")
        places = [said.index(part) for part in ("a table at", "which day", "For Sunday", "at 7 pm", "sounds good")]
        assert places == sorted(places)
    speakers = {step.role for step in woven.steps}
    assert kind != "room" or any(name in step.content for step in woven.steps for name in speakers - {step.role})


def test_stretches_in_turn_are_not_taken_up_again_and_lead_over_to_the_next(pool):
    made = [chain(random.Random(seed), pool) for seed in range(20)]
    assert all(scopes == sorted(scopes) for _, scopes in made)
    assert any("For Sunday, please. I need a table" in step.content for steps, _ in made for step in steps)
    assert made[1] == chain(random.Random(1), pool) != made[2]


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


TEXTS = [
    f"{verb} the {thing} at {n}" for verb in ("book", "see", "fix") for thing in ("room", "test") for n in range(9)
]


def some_replies(*, dimension=256, numbers=8):
    rng = np.random.default_rng(0)
    last, gist, answers = (rng.normal(size=(dimension + more, numbers)).astype(np.float32) for more in (1, 0, 1))
    return Replies(last, gist, answers, rng.normal(size=numbers).tolist())


def test_the_command_writes_a_table_and_weights_that_go_together(tmp_path, monkeypatch):
    monkeypatch.setattr("stitch.bench.fit.replies.NARROW_DIMENSION", 200)
    table, out = tmp_path / "averaged", tmp_path / "out"
    table.mkdir()
    out.mkdir()
    for name in ("config.json", "tokenizer.json"):
        (table / name).write_bytes((TABLE / name).read_bytes())
    save_file({"embeddings": load_file(TABLE / "model.safetensors")["embeddings"]}, table / "model.safetensors")
    replies = some_replies()
    (out / "reply_weights.json").write_text(json.dumps({"made_by": "fit_local", **as_data(replies)}))
    (tmp_path / "texts.json").write_text(json.dumps(TEXTS))
    given = ["narrow", "--table", table, "--texts", tmp_path / "texts.json", "--out", out]
    assert CliRunner().invoke(group, list(map(str, given)), catch_exceptions=False).exit_code == 0
    data = json.loads((out / "reply_weights.json").read_bytes())
    assert data["made_by"] == "fit_local"
    narrow = StaticEmbedder(out / "table", vocabulary_of=StaticEmbedder())
    assert narrow.dimension == 200
    assert narrow.name.endswith("-replies")
    before = [replies.hear(vector).answer for vector in StaticEmbedder().embed(TEXTS)]
    after = [replies_from(data).hear(vector).answer for vector in narrow.embed(TEXTS)]
    assert np.corrcoef(np.ravel(before), np.ravel(after))[0, 1] > 0.98
