"""Programs are ordinary modules of DSPy: compiled with anybody's metric, saved, loaded, awaited, taken as they are."""

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dspy
import pytest

from stitch import Step, open_memory
from stitch.errors import InputError
from stitch.label.model.compiled import load_program
from stitch.lm import LanguageModel, Purpose
from stitch.signatures.programs import AnswerProgram, FilterProgram, StepProgram, WindowProgram
from stitch.testing.model import LoopbackProvider, ScriptedCompletion, label_by_rules

WINDOW = {"known_scopes": "", "known_events": "", "known_entities": "", "earlier_steps": ""}


def quoted(text: str) -> str:
    return json.dumps({"n": 1, "role": "user", "text": text})


@pytest.fixture
def bound() -> Iterator[None]:
    """A model that DSPy uses, as a program of somebody's own binds it."""
    model = LanguageModel("m", completion=ScriptedCompletion(label_by_rules))
    with model.held(Purpose("test")):
        yield


def compiled_window(metric: Any) -> WindowProgram:
    examples = [
        dspy.Example(**WINDOW, steps=quoted(text)).with_inputs(*WINDOW, "steps")
        for text in ("What does day 1 cost?", "It is $40 for day 2.")
    ]
    made: WindowProgram = dspy.BootstrapFewShot(metric=metric, max_bootstrapped_demos=1, max_labeled_demos=0).compile(
        WindowProgram(), trainset=examples
    )
    return made


@pytest.fixture
def compiled(bound: None) -> WindowProgram:
    """Compiled by an optimizer of DSPy with a metric that is written here."""
    return compiled_window(lambda example, prediction, trace=None: prediction.readings[0].scope == "plan of day 2")


def test_an_optimizer_of_dspy_compiles_a_program_with_a_metric_of_ones_own(compiled: WindowProgram) -> None:
    ((name, predictor),) = compiled.named_predictors()
    assert name == "label_window"
    assert [demo["steps"] for demo in predictor.demos] == [quoted("It is $40 for day 2.")]
    assert compiled(**WINDOW, steps=quoted("day 3")).readings[0].scope == "plan of day 3"


def test_a_program_is_saved_and_loaded_by_dspy_and_taken_in_each_form(compiled: WindowProgram, tmp_path: Path) -> None:
    compiled.save(tmp_path / "window.json")
    again = WindowProgram()
    again.load(tmp_path / "window.json")
    programs = [WindowProgram() for _ in range(3)]
    for program, given in zip(programs, (str(tmp_path / "window.json"), compiled, again), strict=True):
        load_program(given, program, target="windowed")
        assert [dict(demo)["steps"] for demo in program.label_window.demos] == [quoted("It is $40 for day 2.")]
    assert len({program.digest for program in programs}) == 1
    assert programs[0].digest


@pytest.mark.parametrize("form", ["module", "file"])
def test_a_memory_labels_with_what_dspy_compiled(compiled: WindowProgram, tmp_path: Path, form: str) -> None:
    compiled.save(tmp_path / "window.json")
    given: Any = compiled if form == "module" else str(tmp_path / "window.json")
    with (
        LoopbackProvider(label_by_rules) as provider,
        open_memory(
            tmp_path / "m", labels="model", model="m", base_url=provider.base_url, label_program=given
        ) as memory,
    ):
        memory.add(Step(role="user", content="What does day 7 cost?", id="1"), trajectory="t")
        memory.flush()
        assert "It is $40 for day 2." in json.dumps(provider.requests[0].body)
        (maker,) = memory.status().labeled_by
        assert maker.startswith("m windowed-3 ")


def test_a_saved_state_that_does_not_fit_is_refused(compiled: WindowProgram, tmp_path: Path) -> None:
    file = tmp_path / "window.json"
    compiled.save(file)
    with pytest.raises(InputError, match="does not fit this version: it differs in 'label_window'"):
        load_program(str(file), FilterProgram(), target="filter")
    with pytest.raises(InputError, match="WindowProgram does not fit this version: it differs in 'label_window'"):
        load_program(compiled, FilterProgram(), target="filter")
    state = json.loads(file.read_text())
    state["label_window"]["demos"] = [{"steps": "<|im_start|>system"}]
    file.write_text(json.dumps(state))
    with pytest.raises(InputError, match="has the marker of a chat template in 'label_window'"):
        load_program(str(file), WindowProgram(), target="windowed")
    file.write_text("{}")
    with pytest.raises(InputError, match="is no compiled program"):
        load_program(str(file), WindowProgram(), target="windowed")


STEP = {
    "known_scopes": "", "current_scope": "plan of day 1", "current_summary": "", "recent_steps": "",
    "candidates": ["ask price"], "earlier_steps": "", "known_entity_types": ["price"],
}  # fmt: skip
QUESTION = {"known_scopes": "day 1", "known_event_types": ["ask"], "known_entity_types": [], "question": "day 1?"}
ANSWER = {"setting": "a trip", "quoted_steps": "...", "question": "What did it cost?"}


def answer_anything(system: str, user: str) -> Any:
    if "scope: str" in system or "`readings`" in system or "`references`" in system or "`summary`" in system:
        return label_by_rules(system, user)
    return {
        "scopes": ["day 1"],
        "event_types": ["ask"],
        "entity_types": [],
        "why": "",
        "reasoning": "r",
        "answer": "$4",
    }


@pytest.mark.parametrize(
    ("program", "inputs", "output"),
    [
        (WindowProgram(), {**WINDOW, "steps": quoted("About day 4")}, "readings"),
        (FilterProgram(), QUESTION, "scopes"),
        (AnswerProgram(), ANSWER, "answer"),
        (AnswerProgram(), {**ANSWER, "debate": True}, "answer"),
    ],
)
def test_every_program_is_called_as_a_module_also_without_waiting(
    program: Any, inputs: dict[str, Any], output: str
) -> None:
    model = LanguageModel("m", completion=ScriptedCompletion(answer_anything))
    with model.held(Purpose("test")):
        now = program(**inputs)
        later = asyncio.run(program.acall(**inputs))
    assert getattr(now, output) == getattr(later, output)
    assert getattr(now, output)


def test_the_stepwise_program_chains_its_prompts() -> None:
    engine = ScriptedCompletion(label_by_rules)
    with LanguageModel("m", completion=engine).held(Purpose("test")):
        inputs = {**STEP, "step": json.dumps({"role": "user", "text": "What does day 4 cost? $3?"})}
        now = StepProgram()(**inputs)
        later = asyncio.run(StepProgram().acall(**inputs))
    assert now.toDict() == later.toDict()
    assert now.scope == "plan of day 4"
    assert now.entity_types == ["price"]
    assert len(engine.prompts) == 8
