"""A compiled program is a file of plain state that is refused as soon as it does not fit."""

from __future__ import annotations

import json

import dspy
import pytest

from stitch.errors import InputError
from stitch.label.model.compiled import (
    CompiledProgram,
    Provenance,
    Scores,
    guard_of,
    load_program,
    predictors_sha256,
    prompt_sha256,
    put_into,
    read_program,
    state_of,
    write_compiled,
)
from stitch.signatures.programs import AnswerProgram, FilterProgram, StepProgram, WindowProgram

PROGRAMS = {"windowed": WindowProgram, "stepwise": StepProgram, "filter": FilterProgram, "answerer": AnswerProgram}


def provenance(*, before=0.5, after=0.75):
    scores = {"parts": {"scope": 0.5}, "prompt_tokens": 100}
    return Provenance(
        model="m", optimizer="gepa", seed=0, dspy=dspy.__version__, stitch="0", data_sha256="0", train_examples=8,
        held_back_examples=4, before=Scores(score=before, **scores), after=Scores(score=after, **scores),
        model_calls=1, model_tokens=2, model_cost_usd=None,
    )  # fmt: skip


def taught(target, *, instructions="Think of the days.", **judged):
    plain, program = PROGRAMS[target](), PROGRAMS[target]()
    name, predictor = program.named_predictors()[0]
    predictor.signature = predictor.signature.with_instructions(instructions)
    predictor.demos = [dspy.Example(augmented=True, **dict.fromkeys(predictor.signature.fields, "x"))]
    state = state_of(program, plain=plain)
    return name, CompiledProgram(target=target, predictors=state, provenance=provenance(**judged))


def changed(compiled, path, change):
    write_compiled(path, compiled, plain=WindowProgram())
    content = json.loads(path.read_text())
    change(content)
    path.write_text(json.dumps(content), encoding="utf-8")
    return path


@pytest.mark.parametrize("target", PROGRAMS)
def test_what_is_written_is_read_again(target, tmp_path):
    name, compiled = taught(target)
    write_compiled(tmp_path / "p.json", compiled, plain=PROGRAMS[target]())
    assert [file.name for file in tmp_path.iterdir()] == ["p.json"]
    assert (tmp_path / "p.json").stat().st_mode & 0o077 == 0  # it holds excerpts of the data
    program = PROGRAMS[target]()
    load_program(tmp_path / "p.json", program, target=target)
    predictor = dict(program.named_predictors())[name]
    assert predictor.signature.instructions.startswith("Think of the days.\n\n")
    assert predictor.demos[0]["augmented"] is True
    assert program.digest == predictors_sha256(compiled.predictors)
    assert state_of(program, plain=PROGRAMS[target]()) == compiled.predictors
    read_by_dspy = PROGRAMS[target]()
    read_by_dspy.load(tmp_path / "p.json")
    load_program(read_by_dspy, again := PROGRAMS[target](), target=target)
    assert again.digest == predictors_sha256(compiled.predictors)


@pytest.mark.parametrize("target", PROGRAMS)
def test_a_program_as_it_stands_keeps_its_words(target):
    plain = PROGRAMS[target]()
    state = state_of(PROGRAMS[target](), plain=plain)
    for name, predictor in plain.named_predictors():
        assert state[name].instructions == predictor.signature.instructions
        if "step" in " ".join(predictor.signature.input_fields) or "question" in predictor.signature.input_fields:
            assert guard_of(predictor.signature.instructions)


def test_every_name_of_a_predictor_is_a_file_format():
    names = {target: [name for name, _ in make().named_predictors()] for target, make in PROGRAMS.items()}
    assert names == {
        "windowed": ["label_window"],
        "stepwise": [
            "induce_scope", "summarize_scope", "select_events", "seed_events", "extend_events", "merge_events",
            "seed_entities", "merge_entities", "rewrite", "summarize",
        ],
        "filter": ["select_filter"],
        "answerer": ["answer_question", "answer_debate"],
    }  # fmt: skip


def test_a_prompt_has_another_digest_as_soon_as_a_word_or_field_changes():
    ask = dspy.Signature("text: str -> reply: list[str]", "Ask.")
    others = [
        ask.with_instructions("Ask!"),
        ask.append("more", dspy.OutputField(), str),
        ask.delete("text"),
        ask.with_updated_fields("reply", desc="long"),
        ask.with_updated_fields("reply", type_=list[int]),
    ]
    assert len({prompt_sha256(signature) for signature in [ask, *others]}) == 6


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda c: c["metadata"]["stitch"].update(target="filter"), "is for 'filter', not for 'windowed'"),
        (lambda c: c.update(more=c["label_window"]), "it differs in 'more'"),
        (
            lambda c: c["metadata"]["stitch"]["prompt_sha256"].update(label_window="0"),
            "made for another prompt than 'label_w",
        ),
        (
            lambda c: c["metadata"]["stitch"]["provenance"]["after"].update(score=0.4),
            "did worse on what was held back .* 0.400, before 0.500",
        ),
        (lambda c: c.pop("metadata"), "is no compiled program: metadata: field required"),
        (lambda c: c["metadata"]["stitch"].pop("provenance"), "no compiled program: metadata.stitch.provenance: field"),
    ],
)
def test_what_does_not_fit_is_refused_with_a_next_step(change, message, tmp_path):
    file = changed(taught("windowed")[1], tmp_path / "p.json", change)
    program = WindowProgram()
    with pytest.raises(InputError, match=message) as refused:
        load_program(file, program, target="windowed")
    assert "\n" not in refused.value.message
    assert refused.value.hint
    assert program.digest == ""
    assert program.label_window.demos == []


def test_instructions_that_leave_out_that_quoted_texts_give_no_orders_get_it_back(tmp_path):
    file = changed(
        taught("windowed")[1],
        tmp_path / "p.json",
        lambda c: c["label_window"]["signature"].update(instructions="Obey."),
    )
    load_program(file, program := WindowProgram(), target="windowed")
    said = program.label_window.signature.instructions
    assert said.startswith("Obey.\n\n")
    assert guard_of(said) == guard_of(WindowProgram().label_window.signature.instructions)


def test_further_fields_of_examples_are_left_out(tmp_path):
    further = {"odd": 1, "__init__": 1, "base": {"a": 1}, "f\ng": "<|im_start|>system", "f" * 1_000_000: 1}
    compiled = taught("windowed")[1]
    file = changed(compiled, tmp_path / "p.json", lambda c: c["label_window"]["demos"][0].update(further))
    program = WindowProgram()
    load_program(file, program, target="windowed")
    assert [dict(demo) for demo in program.label_window.demos] == compiled.predictors["label_window"].demos
    assert program.digest == predictors_sha256(compiled.predictors)


def test_a_program_for_the_other_labeler_says_how_to_use_it(tmp_path):
    write_compiled(tmp_path / "p.json", taught("stepwise")[1], plain=StepProgram())
    with pytest.raises(InputError) as refused:
        load_program(tmp_path / "p.json", WindowProgram(), target="windowed")
    assert refused.value.hint == "add --stepwise, which uses it"


def test_files_that_are_none_are_told(tmp_path):
    (tmp_path / "pickle").write_bytes(b"\x80\x04]\x94.")
    for name, message in (("none", "no such file"), ("pickle", "is a pickle"), (".", "is a directory")):
        with pytest.raises(InputError, match=message) as refused:
            read_program(tmp_path / name)
        assert "a file that ends in .json" in refused.value.hint


def test_a_file_that_is_there_is_never_written_over(tmp_path):
    (tmp_path / "p.json").write_text("mine")
    with pytest.raises(InputError, match="is there already"):
        write_compiled(tmp_path / "p.json", taught("filter")[1], plain=FilterProgram())
    assert (tmp_path / "p.json").read_text() == "mine"
    with pytest.raises(InputError, match="cannot write the program"):
        write_compiled(tmp_path / "no" / "p.json", taught("filter")[1], plain=FilterProgram())


def test_models_in_examples_become_plain_json():
    from stitch.signatures import StepReading

    program = WindowProgram()
    reading = StepReading(n=1, scope="s", events=[], entities=[])
    program.label_window.demos = [dspy.Example(readings=[reading], steps=("a", 1.5), earlier_steps={"a": dspy})]
    [demo] = state_of(program, plain=WindowProgram())["label_window"].demos
    assert demo["readings"][0]["scope"] == "s"
    assert demo["steps"] == ["a", 1.5]
    other = WindowProgram()
    put_into(other, state_of(program, plain=WindowProgram()))
    assert other.digest
