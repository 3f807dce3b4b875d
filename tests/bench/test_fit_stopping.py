"""Where contexts stop is chosen on all sets but one, and judged on that one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from stitch.bench.fit_stopping import MOST_LOST, Stopped, best_of, judge, main, tables
from stitch.errors import InputError
from stitch.retrieve.constants import CONSTANTS

TALK = "{} said that the {} is late again, and that somebody should call the office about it before it is too late."
NAMES = ["Anna", "Bert", "Carl", "Dora", "Emil", "Frida", "Gustav", "Hanna", "Ivo", "Jana", "Kurt", "Lena", "Max"]
THINGS = ["tram", "plumber", "parcel", "newspaper", "harvest", "choir"]


def folder_of(path: Path, name: str) -> Path:
    folder = path / name
    folder.mkdir()
    texts = [TALK.format(who, what) for who in NAMES for what in THINGS]
    texts.insert(9, f"The boat of {name} leaves the pier at nine in the morning.")
    steps = [{"id": str(number), "role": "user", "content": text} for number, text in enumerate(texts)]
    question = {
        "id": "q",
        "trajectory": "t",
        "question": f"When does the boat of {name} leave the pier in the morning?",
    }
    none = {"id": "none", "trajectory": "t", "question": "Who owns the boat?", "evidence": []}
    (folder / "trajectories.jsonl").write_text(json.dumps({"id": "t", "steps": steps}) + "\n")
    (folder / "questions.jsonl").write_text(f"{json.dumps({**question, 'evidence': ['9']})}\n{json.dumps(none)}\n")
    return folder


def test_each_set_is_judged_by_what_the_others_chose(tmp_path: Path) -> None:
    names = ("north", "south", "west")
    options = [option for name in names[:2] for option in ("--data", str(folder_of(tmp_path, name)))]
    done = CliRunner().invoke(main, [*options, "--judged", str(folder_of(tmp_path, "west"))], catch_exceptions=False)
    *sets, chosen = [json.loads(line) for line in done.stdout.splitlines()]
    assert [each["set"] for each in sets] == list(names)
    for each in sets:
        assert each["questions"] == 1, "what nothing answers is not asked"
        assert each["left out"]["lost"] == 0
        assert 0 < each["shipped"]["saved"] <= each["left out"]["saved"] < 1
    assert chosen["all choose"].keys() == {"stop_share", "stop_share_of_long", "stop_tokens"}


def test_choosing_needs_two_sets(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="two sets"):
        CliRunner().invoke(main, ["--data", str(folder_of(tmp_path, "north"))], catch_exceptions=False)


def test_the_table_that_saves_most_is_chosen_unless_a_set_loses_by_it() -> None:
    careful, greedy, worst = (0.2, 0.0), (0.4, MOST_LOST), (0.9, 0.5)
    assert best_of([[careful, greedy, worst], [careful, greedy, greedy]]) == 1
    assert best_of([[worst], [careful]]) is None


def test_what_is_shipped_is_among_what_is_tried() -> None:
    shipped = (CONSTANTS.stop_share, CONSTANTS.stop_share_of_long, float(CONSTANTS.stop_tokens))
    assert tables()[shipped] == CONSTANTS


def test_tokens_are_counted_together_and_evidence_by_question() -> None:
    found = judge([Stopped(saved=90, tokens=100, lost=0.0), Stopped(saved=0, tokens=200, lost=0.5)])
    assert (found.saved, found.lost) == (0.3, 0.25)
    assert found.low <= found.lost <= found.high
