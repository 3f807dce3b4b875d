"""The prompt that says what steps assert is taught by whether questions find their evidence in what it says."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

import pytest

from doubles.lessons import extracting_pupil, write_asked_days
from stitch import Step, open_memory
from stitch.bench.training.sources import open_task
from stitch.label.model.compiled import write_compiled
from stitch.lm import LanguageModel, Limits
from stitch.pipelines.optimize.compiling import compile_program
from stitch.pipelines.optimize.estimates import estimate
from stitch.pipelines.optimize.splitting import take
from stitch.signatures.programs import StatementProgram
from stitch.testing.model import LoopbackProvider, ScriptedCompletion
from stitch.themes.told import Reading, Said


@pytest.fixture
def opened(tmp_path):
    data = write_asked_days(tmp_path / "asked", trajectories=4, steps=96)
    with ExitStack() as stack:
        yield open_task("statements", data, valid=None, tenant=None, seed=0, stack=stack)


def saying(lesson: Any, *said: Said) -> Reading:
    entries = lesson.given.entries
    return Reading(entries[0].trajectory, {}, (), "high", said, "m")


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
    assert made.after.score > made.before.score + 0.3
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
    for outcome in (None, saying(lesson), saying(lesson, Said(lesson.gold[0].question, every, None, ()))):
        marks = task.mark(lesson, outcome)
        assert marks.score == 0.0
        assert marks.feedback
    [step] = lesson.gold[0].steps
    marks = task.mark(lesson, saying(lesson, Said(lesson.gold[0].question, (step,), None, ())))
    assert 0 < marks.score <= 1
    assert marks.feedback.count("was not told") == min(4, len(lesson.gold) - 1)


def test_a_reply_that_cannot_be_used_counts_for_nothing(opened):
    task, parts = opened
    model = LanguageModel("m", completion=ScriptedCompletion(lambda system, user: "no"), limits=Limits(retries=0))
    assert task.run(StatementProgram(), parts.train[0], model=model) is None
