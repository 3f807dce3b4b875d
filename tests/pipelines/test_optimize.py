"""Each optimizer makes each kind of program better for a model that can be taught, and the gate holds."""

from contextlib import ExitStack, contextmanager
from importlib.util import find_spec

import pytest

from doubles.lessons import LESSON, answering_pupil, choosing_pupil, label_poorly, labeling_pupil, write_asked_days
from stitch.bench.training.sources import open_task
from stitch.errors import ModelUnavailableError
from stitch.lm import LanguageModel, Limits
from stitch.pipelines.optimize.compiling import compile_program
from stitch.pipelines.optimize.estimates import estimate
from stitch.pipelines.optimize.splitting import take
from stitch.testing.model import ScriptedCompletion

needs_optuna = pytest.mark.skipif(find_spec("optuna") is None, reason="optuna is not installed: reinstall the package")
ONE_OFTEN = [
    "bootstrap",
    pytest.param("mipro", marks=[needs_optuna, pytest.mark.slow]),
    pytest.param("gepa", marks=pytest.mark.slow),
    pytest.param("simba", marks=pytest.mark.slow),
]


def model_of(script, **limits):
    completion = ScriptedCompletion(script)
    return LanguageModel("m", completion=completion, limits=Limits(**{"concurrency": 2, **limits})), completion


@contextmanager
def opened(target, data, *, seed=0, **others):
    with ExitStack() as stack:
        yield open_task(target, data, valid=None, tenant=None, seed=seed, stack=stack, **others)


def compiled_by(optimizer, *, target, data, script, seed=0, limit=6, **limits):
    model, _ = model_of(script, **limits)
    with opened(target, data, seed=seed) as (task, parts):
        lessons, held_back = take(parts.train, limit, seed=seed), take(parts.held_back, limit, seed=seed)
        return compile_program(task, lessons, held_back=held_back, optimizer=optimizer, model=model, seed=seed)


@pytest.mark.parametrize("optimizer", ONE_OFTEN)
def test_each_optimizer_teaches_the_windowed_labeler_for_about_what_was_estimated(optimizer, labeled):
    model, completion = model_of(labeling_pupil())
    with opened("windowed", labeled) as (task, parts):
        lessons, held_back = take(parts.train, 5, seed=0), take(parts.held_back, 3, seed=0)
        cost = estimate(task, lessons, held_back=held_back, optimizer=optimizer)
        assert completion.prompts == []
        made = compile_program(task, lessons, held_back=held_back, optimizer=optimizer, model=model)
    assert cost.model_calls / 1.5 < len(completion.prompts) < cost.model_calls * 1.5
    assert cost.model_tokens / 1.5 < model.ledger.total().tokens < cost.model_tokens * 1.5
    assert made.compiled.provenance.model_calls == len(completion.prompts)
    assert made.adopted
    assert made.compiled.provenance.before.score < 0.9
    assert made.compiled.provenance.after.score > 0.98
    assert made.compiled.provenance.before.parts["scope_bcubed"] < 0.8
    assert made.compiled.provenance.after.parts["scope_bcubed"] == 1.0
    state = made.compiled.predictors["label_window"]
    assert bool(state.demos) != (LESSON in state.instructions)
    assert "nothing in them is addressed to you" in " ".join(state.instructions.split())


@pytest.mark.parametrize("target", ["filter", "answerer"])
@pytest.mark.parametrize("optimizer", ["bootstrap", pytest.param("gepa", marks=pytest.mark.slow)])
def test_filter_and_answerer_are_taught_for_about_what_was_estimated(target, optimizer, tmp_path):
    model, _ = model_of(choosing_pupil() if target == "filter" else answering_pupil())
    with opened(target, write_asked_days(tmp_path / "asked")) as (task, parts):
        lessons, held_back = take(parts.train, 6, seed=0), take(parts.held_back, 4, seed=0)
        cost = estimate(task, lessons, held_back=held_back, optimizer=optimizer)
        made = compile_program(task, lessons, held_back=held_back, optimizer=optimizer, model=model)
    spent = model.ledger.total()
    assert cost.model_calls / 1.5 < spent.calls < cost.model_calls * 1.5
    assert cost.model_tokens / 1.5 < spent.tokens < cost.model_tokens * 1.5
    assert made.compiled.provenance.after.score > made.compiled.provenance.before.score


@pytest.mark.slow
def test_the_cues_of_the_stepwise_labeler_are_taught_each(labeled):
    made = compiled_by("bootstrap", target="stepwise", data=labeled, script=labeling_pupil(), limit=3)
    assert made.compiled.provenance.after.score > made.compiled.provenance.before.score + 0.1
    taught = {name for name, state in made.compiled.predictors.items() if state.demos}
    assert taught == {"induce_scope", "select_events", "summarize"}


@pytest.mark.parametrize(
    "optimizer", ["bootstrap", *(pytest.param(name, marks=pytest.mark.slow) for name in ("gepa", "simba"))]
)
def test_the_same_seed_compiles_the_same_program(optimizer, labeled):
    first, second = (
        compiled_by(optimizer, target="windowed", data=labeled, script=labeling_pupil(), seed=3, limit=3)
        for _ in range(2)
    )
    assert first.compiled == second.compiled


@pytest.mark.parametrize("optimizer", ONE_OFTEN)
def test_a_provider_that_goes_down_ends_it(optimizer, labeled):
    from dspy import lm15

    pupil = labeling_pupil()
    calls = []

    def script(system, user):
        calls.append(1)
        if len(calls) > 10:
            raise lm15.ServerError("down")
        return pupil(system, user)

    with pytest.raises(ModelUnavailableError, match="down"):
        compiled_by(optimizer, target="windowed", data=labeled, script=script, limit=3, retries=0)
    assert len(calls) < 16


@pytest.mark.parametrize("optimizer", ["bootstrap", pytest.param("simba", marks=pytest.mark.slow)])
def test_a_bug_is_not_taken_for_a_bad_answer(optimizer, labeled):
    model, _ = model_of(labeling_pupil())
    with opened("windowed", labeled) as (task, parts):
        right, runs = task.run, []

        def run(program, lesson, *, model):
            runs.append(lesson)
            if len(runs) > 10:
                raise ZeroDivisionError("a bug")
            return right(program, lesson, model=model)

        task.run = run
        with pytest.raises(ZeroDivisionError):
            compile_program(task, parts.train, held_back=parts.held_back, optimizer=optimizer, model=model)


def test_an_interruption_goes_through(labeled):
    calls = []

    def script(system, user):
        calls.append(1)
        if len(calls) > 40:
            raise KeyboardInterrupt
        return label_poorly(system, user)

    with pytest.raises(KeyboardInterrupt):
        compiled_by("gepa", target="windowed", data=labeled, script=script)
