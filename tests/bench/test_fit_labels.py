"""Weights of local labels are fitted on a few made-up trajectories."""

import gzip
import json
from random import Random

import numpy as np
import pytest

pytest.importorskip("scipy")

from stitch.bench.fit import acts, scopes
from stitch.core import Step
from stitch.label.local.acts import IN_WORDS
from stitch.label.local.scopes import FEATURES
from stitch.label.local.weights import FILE, act_weights_from, scope_weights_from

TALK = [
    ("user", "I need a hotel in Boston.", "hotel"),
    ("agent", "For how many nights?", "hotel"),
    ("user", "Three nights in the hotel.", "hotel"),
    ("agent", "The hotel has a room.", "hotel"),
    ("user", "Please play some music now.", "music"),
    ("agent", "Which album of the music do you like?", "music"),
    ("user", "Back to the hotel, does it allow pets?", "hotel"),
    ("agent", "The hotel allows pets.", "hotel"),
]


@pytest.fixture
def talks():
    steps = [Step(role=role, content=text) for role, text, _ in TALK]
    return [scopes.labeled(steps, [scope for _, _, scope in TALK])] * 2


def test_fitted_weights_find_the_scopes_they_were_taught(talks, tmp_path):
    weights = scopes.fit_scopes({"one": talks, "other": talks})
    figures = scopes.measured(talks, weights)
    assert figures["bcubed_f1"] > 0.7
    assert figures["gold_rate"] == pytest.approx(2 / 7)
    scopes.write_weights(tmp_path, scopes=scopes.as_data(weights))
    scopes.write_weights(tmp_path, acts={"acts": []})
    data = json.loads((tmp_path / FILE).read_text())
    assert list(data["scopes"]["features"]) == list(FEATURES)
    read = scope_weights_from(data["scopes"])
    assert scopes.measured(talks, read) == figures


def test_weights_that_are_not_free_stay_as_they_start():
    def example(right):
        return scopes.Example(np.eye(2, len(FEATURES)), np.array([right, 1.0 - right]))

    start = [0.5, -0.5, *[0.0] * (len(FEATURES) - 2)]
    fitted = scopes.conditional_logit([([example(1.0)] * 9, 1.0)], free=["new"], start=start)
    assert fitted[0] == 0.5
    assert fitted[1] < -0.5
    assert not any(fitted[2:])


def test_the_run_that_a_step_names_is_its_scope_where_there_is_no_gold(tmp_path):
    rows = [{"id": f"run{n // 2}:{n}", "role": "user", "content": f"step {n}"} for n in range(4)]
    file = tmp_path / "t.jsonl.gz"
    file.write_bytes(gzip.compress(json.dumps({"id": "t", "steps": rows}).encode()))
    assert scopes.read_set("t", file)[0].gold == ["run0", "run0", "run1", "run1"]


def test_woven_sessions_keep_their_order_and_lose_nothing():
    sessions = [[Step(role="user", content=f"{number}.{place}") for place in range(6)] for number in range(5)]
    for talk in scopes.weave(sessions, Random(1), count=4):
        by_scope: dict[str | None, list[str]] = {}
        for reading, scope in zip(talk.readings, talk.gold, strict=True):
            by_scope.setdefault(scope, []).append(reading.step.content)
        assert all(own == sorted(own) and len(own) == 6 for own in by_scope.values())


def test_acts_are_learned_and_read_again():
    lines = [
        ("ask", "Where is it?"),
        ("thank", "Thanks a lot!"),
        ("ask", "When does it start?"),
        ("thank", "Thank you."),
        ("greet", "Hi there!"),
        ("greet", "Good morning!"),
    ]
    said = [
        each
        for act, text in lines
        for each in acts.said_in([Step(role="a", content="Hello."), Step(role="b", content=text)], ["", act])
    ]
    weights = acts.fit_acts({"lines": said})
    assert acts.measured(said, weights)["accuracy"] == 1.0
    read = act_weights_from(acts.as_data(weights))
    assert np.allclose(read.words, weights.words)


def test_acts_of_others_are_read_as_ours():
    assert acts.act_of(("THANK_YOU", "INFORM_INTENT"), name="sgd") == "request"
    assert acts.act_of(("bank_ask_pin",), name="star") == "ask"
    assert acts.act_of((), name="agent_runs") == ""
    with acts.LINES.open() as lines:
        assert {line.split("\t")[0] for line in lines} <= set(IN_WORDS)
