"""Fitting the weights of scope tracking, on a few made-up trajectories."""

import gzip
import json

import pytest

pytest.importorskip("scipy")

from stitch.label.local.replies import replies_from
from stitch.label.local.scopes import ScopeTracker
from stitch.pipelines import fit_local


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


def sessions():
    """Sessions about a few matters with an assistant who answers at length, one of them begun twice."""
    steps = []
    for number, matter in enumerate([*["tulips", "bread", "chess", "taxes", "sailing", "mushrooms"], "tulips"]):
        for question in (f"How do I begin with {matter}?", f"What do {matter} cost?", f"Do many people like {matter}?"):
            steps.append({"role": "user", "content": question, "session": str(number)})
            answer = " ".join(f"Here is what matters with {matter}, point {point}." for point in range(12))
            steps.append({"role": "assistant", "content": answer, "session": str(number)})
    return steps


def test_fitted_weights_follow_what_they_were_fitted_on(data, tmp_path):
    assert fit_local.main(["--data", str(data), "--out", str(tmp_path)]) == 0
    pairs = json.loads((tmp_path / "scope_weights.json").read_bytes())["weights"]
    weights, chats = ({name: pair[place] for name, pair in pairs.items()} for place in range(2))
    replies = replies_from(json.loads((tmp_path / "reply_weights.json").read_bytes()))
    trajectories = fit_local.read_set(data / fit_local.SETS["star"].path)
    assert ScopeTracker(weights).scopes == []
    score, switch = fit_local.measure(trajectories, weights, replies)
    untrained, _ = fit_local.measure(trajectories, {})
    assert score > untrained
    assert switch > 0
    woven = fit_local.woven_chats(fit_local.read_chats(data / fit_local.CHATS_FROM), keep=lambda *_: True, count=8)
    as_talk, _ = fit_local.measure(woven, weights, replies)
    as_chats, _ = fit_local.measure(woven, weights, replies, chats)
    assert as_chats > as_talk


def test_of_chats_each_session_of_two_in_turn_is_read_once(data):
    chats = fit_local.read_chats(data / fit_local.CHATS_FROM)
    assert [len(chat.gold) for chat in chats] == [6] * 6
    assert len(fit_local.read_chats(data / fit_local.CHATS_FROM, most=2)) == 2


def test_steps_that_open_something_inside_a_goal_are_not_learned_from(data):
    trajectory = fit_local.read_set(data / fit_local.SETS["star"].path)[0]
    assert trajectory.coarse == {5}


@pytest.mark.parametrize(("kind", "lines"), [("fold", 1), ("leave-one-out", 4), ("silence", 18)])
def test_reports_say_how_good_the_weights_are(data, capsys, kind, lines):
    assert fit_local.main(["--data", str(data), "--report", kind, "--limit", "2"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == lines


def test_evidence_can_be_left_out(data):
    sets = {"star": fit_local.read_set(data / fit_local.SETS["star"].path)}
    weights, _, _ = fit_local.train(sets, keep=lambda *_: True, without=("cohesion", "now: "))
    assert not any(weight for name, weight in weights.items() if "cohesion" in name)


def test_a_set_without_gold_scores_nothing():
    assert fit_local.measure([], {}) == (0.0, 0.0)


def test_a_step_between_two_scopes_belongs_to_the_one_that_follows():
    assert fit_local._targets([("a",), ("a", "b"), ("b",)]) == [("a",), ("b",), ("b",)]
