"""A script of ten lines compiles the labeling prompt by DSPy itself, and a memory labels with what it saved."""

from __future__ import annotations

import json
import runpy
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import dspy
import pytest

from doubles.lessons import LESSON, days, label_poorly, labeling_pupil, write_lines
from stitch import Step, open_memory
from stitch.bench.training.labels import LabelTask
from stitch.bench.training.windows import WindowLessons
from stitch.errors import InputError
from stitch.lm import LanguageModel, Purpose
from stitch.pipelines.optimize.optimizers import silenced
from stitch.signatures.programs import WindowProgram
from stitch.testing.model import ScriptedCompletion, label_by_rules

SCRIPT = Path(__file__).resolve().parents[2] / "examples/optimize_with_dspy.py"


def scripted(script: Any) -> tuple[dspy.LM, ScriptedCompletion]:
    engine = ScriptedCompletion(script)
    return dspy.LM("fake/scripted", engine=engine, cache=False), engine


def of_day(number: int) -> list[Step]:
    return [Step(role=row["role"], content=row["content"]) for row in days(number)["steps"]]


@pytest.mark.parametrize("optimizer", ["gepa", "mipro"])
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


def test_examples_can_be_saved_with_their_further_fields(labeled: Path, tmp_path: Path) -> None:
    program = WindowProgram()
    program.label_window.demos = WindowLessons(labeled).train[:2]
    program.save(tmp_path / "window.json")
    with open_memory(tmp_path / "m", labels="model", lm=scripted(label_by_rules)[0],
                     label_program=str(tmp_path / "window.json")) as memory:  # fmt: skip
        memory.add_many(of_day(20), trajectory="t")
        memory.flush()


def test_lessons_need_labels(tmp_path: Path) -> None:
    data = write_lines(tmp_path / "few.jsonl", [days(n) for n in range(3)])
    with pytest.raises(InputError, match="3 examples are too few"):
        WindowLessons(data)
