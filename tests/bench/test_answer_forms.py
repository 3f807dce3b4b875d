"""The judge of an answer is that of its form, and what needs no judge is not shown to one."""

from pathlib import Path

from doubles.golden import compare_phrases
from stitch.bench.data.types import DataSet, Question
from stitch.bench.metrics.answers import AnswerForm, form_of, score_by, settled
from stitch.bench.metrics.scores import Unscored
from stitch.core import Trajectory

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


def test_a_limit_takes_of_each_type_as_many_spread_over_the_set() -> None:
    questions = tuple(
        Question(id=f"{type_}{n}", trajectory=f"t{n}", type=type_, text="?", answer=None, evidence=())
        for type_, count in (("a", 5), ("b", 2), ("c", 1))
        for n in range(count)
    )
    data = DataSet("set", tuple(Trajectory(id=f"t{n}", steps=()) for n in range(5)), questions, "0")
    assert [question.id for question in data.limited(4).questions] == ["a0", "a2", "b0", "c0"]
    assert [question.id for question in data.limited(6).questions] == ["a0", "a1", "a3", "b0", "b1", "c0"]
    assert [trajectory.id for trajectory in data.limited(4).trajectories] == ["t0", "t2"]
    assert data.limited(None) is data
