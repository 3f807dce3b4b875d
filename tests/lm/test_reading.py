"""Replies to filters, answers and judges as middling models write them: what is read, and what is not guessed."""

from __future__ import annotations

import json
from typing import Any

import dspy
import pytest
from dspy.utils.exceptions import AdapterParseError
from hypothesis import given
from hypothesis import strategies as st

from stitch.errors import CutReplyError, ReplyError
from stitch.lm import LanguageModel, Purpose
from stitch.lm.lenient import decode_leniently
from stitch.lm.reading import ReplyAdapter
from stitch.signatures import AnswerQuestion, DiagnoseLabels, JudgeAnswer, JudgeAnswerSet, SelectFilter
from stitch.testing.model import ScriptedCompletion

ADAPTER = ReplyAdapter()
WANTED = {"scopes": ["hotel in Porto"], "event_types": ["give price"], "entity_types": []}

FILTERS: dict[str, str] = {
    "as asked": json.dumps(WANTED),
    "fenced, with thoughts": f"<think>{{scopes}}?</think>\n```json\n{json.dumps(WANTED)}\n```",
    "texts": json.dumps({"scopes": "hotel in Porto", "event_types": "give price", "entity_types": ""}),
    "nulls": json.dumps({**WANTED, "entity_types": None}),
    "a kind is missing": json.dumps({name: WANTED[name] for name in ("scopes", "event_types")}),
    "inside of another object": json.dumps({"filter": WANTED}),
    "objects": json.dumps({**WANTED, "scopes": [{"name": "hotel in Porto", "why": "it is asked about"}]}),
    "names in other case": json.dumps({"Scopes": ["hotel in Porto"], "Event types": ["give price"]}),
    "one of each": json.dumps({"scope": "hotel in Porto", "event_type": "give price", "entity_type": None}),
    "Python": repr(WANTED),
    "an object a kind": json.dumps([{name: value} for name, value in WANTED.items()]),
    "lines": "Scopes: hotel in Porto\n**Event types**: give price\nEntity types: none",
    "a list that is a text": json.dumps({**WANTED, "scopes": '["hotel in Porto"]'}),
    "one a mapping of choices": json.dumps({**WANTED, "scopes": {"hotel in Porto": True}}),
    "other languages": json.dumps({"Ziele": ["hotel in Porto"], "Arten": ["give price"], "Klassen": [], "Grund": "x"}),
}


@pytest.mark.parametrize("name", FILTERS)
def test_the_labels_of_a_filter_are_read_in_each_form(name: str) -> None:
    read = ADAPTER.parse(SelectFilter, FILTERS[name])
    assert {key: read[key] for key in WANTED} == WANTED


ANSWERS: dict[str, tuple[str, str]] = {
    "as asked": ('{"reasoning": "r", "answer": "$90"}', "$90"),
    "no reasoning": ('{"answer": "$90"}', "$90"),
    "text": ("The house costs $90.", "The house costs $90."),
    "text behind thoughts": ("<think>step 2 {says} it</think>\n$90", "$90"),
    "named lines": ("Reasoning: said in step 2.\nAnswer: $90", "$90"),
    "bold names": ("**Reasoning:** said in step 2.\n\n**Answer:** $90", "$90"),
    "fenced text": ("```\n$90\n```", "$90"),
    "a list": ('{"reasoning": "r", "answer": ["AIC (2023)", "CFR (2024)"]}', "AIC (2023); CFR (2024)"),
    "a number": ('{"reasoning": "r", "answer": 90}', "90"),
    "null": ('{"reasoning": "r", "answer": null}', ""),
    "an object": ('{"reasoning": "r", "answer": {"Stay at": "X", "Lunch at": "Y"}}', "Stay at: X; Lunch at: Y"),
    "another name": ('{"reasoning": "r", "output": "$90"}', "$90"),
    "another name alone": ('{"final_answer": "$90"}', "$90"),
    "another language": ('{"Begründung": "r", "Antwort": "90 $"}', "90 $"),
    "deep inside": ('{"data": {"result": {"reasoning": "r", "answer": "$90"}}}', "$90"),
    "a comma too many": ('```json\n{"reasoning": "r", "answer": "$90",}\n```', "$90"),
    "quotes inside": ('{"reasoning": "It says "ninety" there", "answer": "$90"}', "$90"),
}


@pytest.mark.parametrize("name", ANSWERS)
def test_an_answer_is_read_in_each_form(name: str) -> None:
    said, wanted = ANSWERS[name]
    assert ADAPTER.parse(AnswerQuestion, said)["answer"] == wanted


VERDICTS: dict[str, tuple[str, str | None]] = {
    "as asked": ('{"reasoning": "r", "verdict": "CORRECT"}', "CORRECT"),
    "small letters, a point": ('{"reasoning": "r", "verdict": "wrong."}', "WRONG"),
    "another word": ('{"reasoning": "r", "verdict": "incorrect"}', "WRONG"),
    "true": ('{"reasoning": "r", "verdict": true}', "CORRECT"),
    "another name": ('{"label": "WRONG"}', "WRONG"),
    "alone": ("CORRECT", "CORRECT"),
    "at the end": ("The answer names the house. Verdict: CORRECT", "CORRECT"),
    "neither": ('{"reasoning": "r", "verdict": "partly correct"}', None),
    "in a sentence": ("It is not CORRECT.", None),
    "torn": ('{"reasoning": "the answer is', None),
}


@pytest.mark.parametrize("name", VERDICTS)
def test_a_verdict_is_read_and_never_guessed(name: str) -> None:
    said, wanted = VERDICTS[name]
    if wanted is None:
        with pytest.raises(AdapterParseError):
            ADAPTER.parse(JudgeAnswer, said)
    else:
        assert ADAPTER.parse(JudgeAnswer, said)["verdict"] == wanted


COUNTS: dict[str, tuple[Any, int | None]] = {
    "a number": (2, 2),
    "a text": ("2", 2),
    "a decimal": (2.0, 2),
    "of how many": ("2 of 3", 2),
    "a word": ("two", 2),
    "the entries": (["a", "b"], 2),
    "null": (None, None),
    "true": (True, None),
    "a half": (1.5, None),
    "below none": (-1, None),
    "an object": ({"a": 1, "b": 2}, None),
    "talk": ("many", None),
}


@pytest.mark.parametrize("name", COUNTS)
def test_a_count_is_read_and_never_guessed(name: str) -> None:
    said, wanted = COUNTS[name]
    reply = json.dumps({"reasoning": "r", "correct_entries": said})
    if wanted is None:
        with pytest.raises(AdapterParseError):
            ADAPTER.parse(JudgeAnswerSet, reply)
    else:
        assert ADAPTER.parse(JudgeAnswerSet, reply)["correct_entries"] == wanted


def test_a_count_alone_counts_and_one_in_prose_does_not() -> None:
    assert ADAPTER.parse(JudgeAnswerSet, "2")["correct_entries"] == 2
    assert ADAPTER.parse(JudgeAnswerSet, "Correct entries: 2")["correct_entries"] == 2
    with pytest.raises(AdapterParseError):
        ADAPTER.parse(JudgeAnswerSet, "In 2024 both appear.")


def test_a_list_of_choices_is_held_to_its_choices() -> None:
    said = {"reasoning": "r", "failures": ["MISSING_LABEL"]}
    assert ADAPTER.parse(DiagnoseLabels, json.dumps(said)) == said
    assert ADAPTER.parse(DiagnoseLabels, json.dumps({**said, "failures": '["MISSING_LABEL"]'})) == said
    with pytest.raises(AdapterParseError):
        ADAPTER.parse(DiagnoseLabels, json.dumps({**said, "failures": ["SOMETHING"]}))


class Told(dspy.Signature):  # type: ignore[misc]  # DSPy is not typed
    """Tell."""

    question: str = dspy.InputField()
    answer: str = dspy.OutputField()
    sure: bool = dspy.OutputField()


def run(said: str, signature: Any = AnswerQuestion) -> Any:
    model = LanguageModel("m", completion=ScriptedCompletion(lambda system, user: said))
    given = dict.fromkeys(signature.input_fields, "x")
    return model.run(dspy.Predict(signature), purpose=Purpose("test"), **given)


@pytest.mark.parametrize(
    "said", ['{"a": {"b": {"c": {"answer": "x"}}}}', "{}", '{"scopes": 7}', "[]", "<think>hm</think>"]
)
def test_what_names_none_of_the_fields_is_refused(said: str) -> None:
    with pytest.raises(AdapterParseError):
        ADAPTER.parse(SelectFilter, said)


def test_a_signature_that_asks_for_text_takes_text_from_a_model_and_another_does_not() -> None:
    assert run("Just $90.").answer == "Just $90."
    with pytest.raises(CutReplyError, match="no whole JSON"):
        run("Just $90.", Told)
    with pytest.raises(CutReplyError):
        run('{"answer": "$9')
    with pytest.raises(ReplyError, match="lacks a field"):
        run('{"answer": "a", "sure": "perhaps"}', Told)
    assert run('{"answer": "a", "sure": true}', Told).sure is True


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(st.characters(categories=["L", "N", "Zs"]), max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["a", "bc"]), inner, max_size=2),
    max_leaves=8,
)  # fmt: skip


@given(values)
def test_what_json_or_python_writes_is_read_the_same(value: Any) -> None:
    for written in (json.dumps(value, ensure_ascii=False), repr(value)):
        assert decode_leniently(written)[0] == value


@given(values.filter(lambda value: isinstance(value, (list, dict))), st.data())
def test_what_is_torn_off_is_never_made_up(value: Any, data: st.DataObject) -> None:
    written = repr(value)
    torn = written[: data.draw(st.integers(0, len(written) - 1))]
    with pytest.raises(ValueError, match=r".+"):
        decode_leniently(torn)


@pytest.mark.parametrize("text", ["[" * 60, '{"a"}', "{a b}", "{1: 2}", '{"a": 1 "b": 2}', '"no end', "[1 2]", "", "x"])
def test_what_is_no_value_is_none(text: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        decode_leniently(text)


def test_escapes_and_names_without_quotes_are_read() -> None:
    assert decode_leniently(r"{a: 'x\n\t\'y\u00e9', 'b': -1.5e2, c: None}")[0] == {
        "a": "x\n\t'yé",
        "b": -150.0,
        "c": None,
    }
