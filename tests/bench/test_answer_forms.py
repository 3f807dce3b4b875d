"""The judge of an answer is that of its form, and what needs no judge is not shown to one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from doubles.golden import compare_phrases
from stitch.bench.commands import group
from stitch.bench.data.types import DataSet, Question
from stitch.bench.metrics.answers import AnswerForm, ContainmentJudge, Verdict, form_of, score_by, settled
from stitch.bench.metrics.scores import Unscored
from stitch.bench.suites.judges import Judged, agreement, read_judged
from stitch.core import Trajectory
from stitch.errors import InputError, SettingsError
from stitch.testing.model import LoopbackProvider

ANSWERS = Path(__file__).parent / "answers"


def test_the_form_of_an_answer_is_that_of_its_type_and_gold() -> None:
    def form(about: str, gold: str) -> str:
        type_, _, came = about.partition(" of ")
        return form_of(type_, gold, came=bool(came)).name.lower()

    compare_phrases(ANSWERS / "forms.txt", form)
    assert form_of("type_1", None, came=True) is AnswerForm.SET


def test_what_is_exact_empty_or_declines_needs_no_judge() -> None:
    def judged(form: str, line: str) -> str:
        gold, _, generated = line.partition(" => ")
        verdict = settled(AnswerForm[form.upper()], gold=gold, generated=generated)
        if verdict is not None and form == "single":
            assert isinstance(verdict.correct, int)
            score = score_by(AnswerForm.SINGLE, gold=gold, generated=generated, count=verdict.correct, given=None)
            assert not isinstance(score, Unscored)
            assert score.f1 == verdict.correct, "a single answer is right or wrong as a whole"
        return "needs a judge" if verdict is None else f"{verdict.correct} right"

    compare_phrases(ANSWERS / "settled.txt", judged)


def test_a_limit_takes_of_each_type_the_first() -> None:
    questions = tuple(
        Question(id=f"{type_}{n}", trajectory=f"t{n}", type=type_, text="?", answer=None, evidence=())
        for type_, count in (("a", 5), ("b", 2), ("c", 1))
        for n in range(count)
    )
    data = DataSet("set", tuple(Trajectory(id=f"t{n}", steps=()) for n in range(5)), questions, "0")
    assert [question.id for question in data.limited(4).questions] == ["a0", "a1", "b0", "c0"]
    assert [question.id for question in data.limited(6).questions] == ["a0", "a1", "a2", "b0", "b1", "c0"]
    assert [trajectory.id for trajectory in data.limited(4).trajectories] == ["t0", "t1"]
    assert data.limited(None) is data


RECORDED = [
    {"question": "q", "gold": "Apollo; Daphne", "generated": "Apollo; Hermes", "judge_count": 1},
    {"question": "q", "gold": "Claned (2024)", "generated": "a report by Claned", "judge_count": 1},
]


class Failing(ContainmentJudge):
    def count(self, question: str, *, gold: str, generated: str) -> Verdict:
        return Verdict(Unscored("down"))


def test_agreement_counts_equal_scores_and_leaves_failures_out(tmp_path: Path) -> None:
    recorded = [Judged("q", str(own["gold"]), str(own["generated"]), 1) for own in RECORDED]
    assert agreement(ContainmentJudge(), recorded) == {
        "judged": 2, "unscored": 0, "agreed": 1, "agreement": 0.5, "f1_difference": -0.5
    }  # fmt: skip
    assert agreement(Failing(), recorded)["unscored"] == 2
    assert agreement(Failing(), recorded)["agreement"] is None
    (tmp_path / "odd.json").write_text('[{"question": "q"}]')
    with pytest.raises(InputError, match="holds no judgements"):
        read_judged(tmp_path / "odd.json")


def test_a_model_judges_recorded_answers_as_the_paper_lets_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "judged.json"
    file.write_text(json.dumps(RECORDED))
    arguments = ["judges", "--data", str(file), "--judge-model", "openai/judge", "--json"]
    monkeypatch.delenv("STITCH_MODEL", raising=False)
    assert isinstance(CliRunner().invoke(group, arguments).exception, SettingsError)
    with LoopbackProvider(lambda system, user: {"reasoning": "", "correct_entries": 1}) as provider:
        for name, value in {"MODEL": "openai/m", "BASE_URL": provider.base_url, "OFFLINE": "true"}.items():
            monkeypatch.setenv(f"STITCH_{name}", value)
        said: dict[str, Any] = json.loads(CliRunner().invoke(group, arguments, catch_exceptions=False).stdout)
        idle = CliRunner().invoke(group, [*arguments[:-1], "--judge", "containment"]).exception
        CliRunner().invoke(group, [*arguments[:3], "--judge", "containment"], catch_exceptions=False)
    assert "--judge-model would do nothing" in str(idle)
    assert (said["agreement"], said["judge"]) == (1.0, "openai/judge temperature=0 top_p=0.9")
    asked = provider.requests[0].body
    assert (asked["model"], asked["temperature"], asked["top_p"]) == ("judge", 0.0, 0.9)
    assert len(provider.requests) == 2
