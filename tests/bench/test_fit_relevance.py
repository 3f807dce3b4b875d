"""The chances of hits are fitted to questions of a memory and to those of another."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from stitch.bench.fit_relevance import Asked, Model, auc, fit, judge, logistic, main, threshold_of
from stitch.errors import InputError
from stitch.retrieve.relevance import Evidence, chance

TALKS = {
    "boat": ["The boat leaves the pier at nine.", "A ticket for the boat is $12.", "The captain is called Nils."],
    "garden": ["The roses need pruning in March.", "Compost is behind the shed.", "The hedge is two meters high."],
    "choir": ["The choir meets on Tuesdays.", "We sing Brahms in autumn.", "Our conductor moved to Graz."],
}
QUESTIONS = {
    "boat": ("When does the boat leave the pier?", "0"),
    "garden": ("Where is the compost?", "1"),
    "choir": ("When does the choir meet?", "0"),
}


def folder_of(path: Path, name: str) -> Path:
    folder = path / name
    folder.mkdir()
    trajectories, questions = [], []
    for talk, texts in TALKS.items():
        steps = [{"id": str(n), "role": "user", "content": f"{text} ({name})"} for n, text in enumerate(texts)]
        trajectories.append({"id": talk, "steps": steps})
        text, step = QUESTIONS[talk]
        questions.append({"id": talk, "trajectory": talk, "question": text, "evidence": [step]})
        questions.append(
            {
                "id": f"{talk} none",
                "trajectory": talk,
                "type": "abstention",
                "question": f"Who owns the {talk}?",
                "evidence": [],
            }
        )
    (folder / "trajectories.jsonl").write_text("".join(json.dumps(each) + "\n" for each in trajectories))
    (folder / "questions.jsonl").write_text("".join(json.dumps(each) + "\n" for each in questions))
    return folder


def test_each_set_is_judged_by_what_the_others_gave(tmp_path: Path) -> None:
    folders = [folder_of(tmp_path, name) for name in ("one", "two")]
    made = CliRunner().invoke(main, [part for folder in folders for part in ("--data", str(folder))])
    assert made.exit_code == 0, made.output
    rows = [json.loads(line) for line in made.stdout.splitlines() if line.startswith("{")]
    assert [row.get("set") for row in rows] == ["one", "two", None]
    for row in rows[:2]:
        assert row["auc"] > 0.8
        assert row["hits"] > 0.8
        assert 0 <= row["near_misses"] <= 1
        assert sum(count for *_, count in row["reliability"]) == 9  # the three steps of three own questions
    assert rows[2]["shipped"]["answered"]["near"] > 0


def test_one_set_is_too_few(tmp_path: Path) -> None:
    made = CliRunner().invoke(main, ["--data", str(folder_of(tmp_path, "one"))])
    assert isinstance(made.exception, InputError)


def test_a_logistic_model_finds_chances() -> None:
    rows = [({"bias": 1.0, "x": x}, right, 1.0) for x, right in [(0.0, False), (1.0, True)] * 50 + [(0.0, True)] * 10]
    weights = logistic(rows)
    assert chance({"bias": 1.0, "x": 0.0}, weights) == pytest.approx(10 / 60, abs=0.02)
    assert chance({"bias": 1.0, "x": 1.0}, weights) > 0.9


def test_auc_counts_pairs_in_order() -> None:
    assert auc([3, 4], [1, 2]) == 1
    assert auc([1, 1], [1, 1]) == 0.5
    assert auc([1], [2, 0]) == 0.5
    assert auc([], [1]) == 0.5


def asked(*, own: bool, similarity: float, right: tuple[bool, ...]) -> Asked:
    hits = tuple(similarity - 0.1 * place for place in range(len(right)))
    evidence = Evidence(similarities=hits, covered=hits, near=similarity, absent=1 - similarity, words=4)
    return Asked(own, near_miss=False, evidence=evidence, right=right, tokens=(10,) * len(right))


def test_what_is_told_of_a_set_follows_from_its_questions() -> None:
    own = [asked(own=True, similarity=0.6 + n / 100, right=(True, False, False)) for n in range(20)]
    others = [asked(own=False, similarity=0.2 + n / 100, right=(False,) * 3) for n in range(20)]
    model = fit([[*own, *others]])
    judged = judge([*own, *others], model, threshold=threshold_of([own], model))
    assert (judged.auc, judged.caught, judged.hits) == (1, 1, 1)
    assert judged.carried == (1, 0.05)
    assert judged.saved == pytest.approx(2 / 3, abs=0.05)
    assert isinstance(model, Model)
