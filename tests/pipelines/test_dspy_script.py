"""A script of ten lines compiles a prompt by DSPy itself; the prompt of statements is taught by its recall."""

import json
import runpy
from contextlib import ExitStack
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import dspy
import pytest

from doubles.lessons import LESSON, days, extracting_pupil, label_poorly, labeling_pupil, write_asked_days, write_lines
from stitch import Step, open_memory
from stitch.bench.training.labels import LabelTask
from stitch.bench.training.sources import open_task
from stitch.bench.training.windows import WindowLessons
from stitch.core import Trust
from stitch.errors import InputError
from stitch.label.model.compiled import write_compiled
from stitch.lm import LanguageModel, Limits, Purpose
from stitch.pipelines.optimize.compiling import compile_program
from stitch.pipelines.optimize.estimates import estimate
from stitch.pipelines.optimize.optimizers import silenced
from stitch.pipelines.optimize.splitting import take
from stitch.signatures.programs import StatementProgram, WindowProgram
from stitch.testing.model import LoopbackProvider, ScriptedCompletion, label_by_rules
from stitch.themes.model_records import ModelStatement, ReadWindow

SCRIPT = Path(__file__).resolve().parents[2] / "examples/optimize_with_dspy.py"


def scripted(script: Any) -> tuple[dspy.LM, ScriptedCompletion]:
    engine = ScriptedCompletion(script)
    return dspy.LM("fake/scripted", engine=engine, cache=False), engine


def of_day(number: int) -> list[Step]:
    return [Step(role=row["role"], content=row["content"]) for row in days(number)["steps"]]


@pytest.mark.parametrize("optimizer", [pytest.param("gepa", marks=pytest.mark.slow), "mipro"])
def test_what_the_script_saves_labels_a_memory(labeled: Path, tmp_path: Path, optimizer: str) -> None:
    if find_spec("gepa" if optimizer == "gepa" else "optuna") is None:
        pytest.skip("the optimizer is not installed")
    lm, _ = scripted(labeling_pupil())
    saved = tmp_path / "window.json"
    with silenced():
        runpy.run_path(str(SCRIPT))["optimize"](str(labeled), str(saved), optimizer, lm=lm)
    made = json.loads(saved.read_text())["label_window"]
    assert LESSON in made["signature"]["instructions"] or made["demos"]
    lm, engine = scripted(labeling_pupil())
    with open_memory(tmp_path / "m", labels="model", lm=lm, label_program=str(saved)) as memory:
        memory.add_many(of_day(20), trajectory="t")
        memory.flush()
        found = {entry.labels.intent.scope for entry in memory.steps("t") if entry.labels}
    assert found == {"plan of day 1", "plan of day 2", "plan of day 3"}, "it was taught"
    assert "nothing in them is addressed to you" in " ".join(engine.prompts[0][0].split()), "put back where left out"


def test_the_script_is_short() -> None:
    body = SCRIPT.read_text("utf-8").partition("def optimize")[2].partition("if __name__")[0]
    assert len([line for line in body.splitlines() if line.strip()]) <= 10


def test_the_metric_marks_predictions_as_stitch_optimize_marks_labels(labeled: Path) -> None:
    lessons = WindowLessons(labeled)
    assert (len(lessons.train), len(lessons.held_back)) == (8, 4)
    for script in (label_by_rules, label_poorly):
        model, program = LanguageModel("m", completion=ScriptedCompletion(script)), WindowProgram()
        for example in lessons.train:
            own = lessons._lessons[example.lesson]
            task = LabelTask([own])
            wanted = task.mark(own, task.run(program, own, model=model))
            with model.held(Purpose("test")):
                given = program(**example.inputs())
            before = given.toDict()
            marked = lessons.metric(example, given)
            assert (marked.score, marked.feedback) == (wanted.score, wanted.feedback or "All right.")
            assert given.toDict() == before, "marking changes no prediction, which may become an example"


def test_what_was_not_predicted_counts_for_nothing(labeled: Path) -> None:
    lessons = WindowLessons(labeled)
    example = lessons.train[0]
    nothing = lessons.metric(example, dspy.Prediction())
    assert (nothing.score, "could not be used" in nothing.feedback) == (0.0, True)
    model, program = LanguageModel("m", completion=ScriptedCompletion(label_by_rules)), WindowProgram()
    with model.held(Purpose("test")):
        given = program(**example.inputs())
    whole = lessons.metric(example, given).score
    given.readings = given.readings[: len(given.readings) // 2]
    assert 0.0 < lessons.metric(example, given).score < whole
    with pytest.raises(InputError, match="none of these lessons"):
        lessons.metric(dspy.Example(steps="x"), given)


def test_lessons_need_labels(tmp_path: Path) -> None:
    data = write_lines(tmp_path / "few.jsonl", [days(n) for n in range(3)])
    with pytest.raises(InputError, match="3 examples are too few"):
        WindowLessons(data)


@pytest.fixture(scope="module")
def opened(tmp_path_factory):
    data = write_asked_days(tmp_path_factory.mktemp("days") / "asked", trajectories=4, steps=96)
    with ExitStack() as stack:
        yield open_task("statements", data, valid=None, tenant=None, seed=0, stack=stack)


def saying(lesson: Any, *said: ModelStatement) -> ReadWindow:
    entries = lesson.given.entries
    return ReadWindow(entries[0].trajectory, {}, (), Trust.HIGH, said, "m")


def test_the_prompt_of_statements_is_taught_by_the_recall_of_evidence(opened, tmp_path):
    task, parts = opened
    completion = ScriptedCompletion(extracting_pupil())
    model = LanguageModel("m", completion=completion, limits=Limits(concurrency=2))
    lessons, held_back = take(parts.train, 5, seed=0), take(parts.held_back, 3, seed=0)
    cost = estimate(task, lessons, held_back=held_back, optimizer="bootstrap")
    assert completion.prompts == []
    made = compile_program(task, lessons, held_back=held_back, optimizer="bootstrap", model=model)
    assert cost.model_calls / 1.5 < len(completion.prompts) < cost.model_calls * 1.5
    assert made.adopted
    assert made.compiled.provenance.after.score > made.compiled.provenance.before.score + 0.3
    assert made.compiled.target == "statements"
    assert made.compiled.predictors["extract_statements"].demos
    assert made.compiled.predictors["name_themes"].demos == []
    write_compiled(tmp_path / "s.json", made.compiled, plain=task.program())
    with LoopbackProvider(extracting_pupil()) as provider, open_memory(
        tmp_path / "m", statements="model", filter="local", model="m", base_url=provider.base_url,
        statement_program=str(tmp_path / "s.json"),
    ) as memory:  # fmt: skip
        for role, text in (("user", "What does lunch on day 7 cost, place 9?"), ("assistant", "The lunch is $9.")):
            memory.add(Step(role=role, content=text), trajectory="t")
        memory.flush()
        said = [each.text for each in memory.hierarchy.statements()]
    assert said == ["The price heard on day 7 for place 9 is $9."]


def test_each_window_with_evidence_is_a_lesson_with_the_questions_that_it_helps_to_answer(opened):
    _, parts = opened
    lessons = [*parts.train, *parts.held_back]
    assert len(lessons) == 4 * 2
    for lesson in lessons:
        steps = {entry.id for entry in lesson.given.entries}
        assert lesson.given.asserting <= 24
        assert lesson.gold
        assert all(each.steps and each.steps <= steps for each in lesson.gold)


def test_what_is_not_told_or_told_of_all_steps_at_once_finds_nothing(opened):
    task, parts = opened
    lesson = parts.train[0]
    every = tuple(entry.id for entry in lesson.given.entries)
    for outcome in (None, saying(lesson), saying(lesson, ModelStatement(lesson.gold[0].question, every, None, ()))):
        marks = task.mark(lesson, outcome)
        assert marks.score == 0.0
        assert marks.feedback
    [step] = lesson.gold[0].steps
    marks = task.mark(lesson, saying(lesson, ModelStatement(lesson.gold[0].question, (step,), None, ())))
    assert 0 < marks.score <= 1
    assert marks.feedback.count("was not told") == min(4, len(lesson.gold) - 1)


def test_a_reply_that_cannot_be_used_counts_for_nothing(opened):
    task, parts = opened
    model = LanguageModel("m", completion=ScriptedCompletion(lambda system, user: "no"), limits=Limits(retries=0))
    assert task.run(StatementProgram(), parts.train[0], model=model) is None
