"""What the lens of themes could reach stands beside what it shows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from stitch.bench.theme_ceilings import Part, _inside, main
from stitch.errors import InputError


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("party")
    things = {0: "kite", 12: "lantern", 24: "cake tin"}
    steps = []
    for n in range(36):
        text = f"Nothing of note was heard about machine {n} on the upper floor." if n not in things else (
            f"I bought a {things[n]} for the party in May. It rained, and the bus was late as it is on most days."
        )  # fmt: skip
        steps.append({"id": f"s{n}", "role": "Ann", "content": text, "timestamp": None})
    question: dict[str, Any] = {
        "id": "q", "trajectory": "t", "type": "list", "question": "What did Ann buy for the party in May?",
        "answer": "kite, lantern, cake tin", "evidence": ["s0", "s12", "s24"], "asked_at": None,
    }  # fmt: skip
    (folder / "trajectories.jsonl").write_text(json.dumps({"id": "t", "steps": steps}))
    (folder / "questions.jsonl").write_text(json.dumps(question))
    return folder


def test_who_knows_the_evidence_shows_at_least_as_much(folder: Path) -> None:
    told = json.loads(
        CliRunner().invoke(main, ["--data", str(folder), "--type", "list"], catch_exceptions=False).output
    )
    recall = told["recall_in"]
    assert told["questions"] == 1
    assert recall["looked at"] == dict.fromkeys(("512", "1024", "2048", "4096"), 1.0)
    assert recall["oracle statements"]["512"] == 1.0
    for budget, shown in recall["themes"].items():
        assert 0 < shown <= recall["oracle statements"][budget]
        assert recall["oracle themes"][budget] > 0
    assert told["covered"] == 1
    assert 0 < told["cover_tokens_oracle"] <= told["cover_tokens"]
    assert 0 <= told["by_coverage"] <= 1


def test_a_type_that_no_question_has_is_refused_and_the_types_are_told(folder: Path) -> None:
    with pytest.raises(InputError) as refused:
        CliRunner().invoke(main, ["--data", str(folder), "--type", "song"], catch_exceptions=False)
    assert "list" in (refused.value.hint or "")


def test_what_does_not_fit_is_passed_over() -> None:
    parts = [Part(frozenset("a"), 500), Part(frozenset("b"), 600), Part(frozenset("c"), 10)]
    assert _inside(parts, frozenset("abc")) == {512: 2 / 3, 1024: 2 / 3, 2048: 1.0, 4096: 1.0}
