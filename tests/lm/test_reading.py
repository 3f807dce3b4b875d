"""Replies as models write them, to each kind of prompt: the fields that are read, and what is not guessed."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

import dspy
import pytest
from dspy.utils.exceptions import AdapterParseError
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from stitch import signatures
from stitch.errors import CutReplyError, ReplyError
from stitch.lm import LanguageModel, Purpose
from stitch.lm.adapter import ReplyAdapter, compact
from stitch.lm.reading import json_in, whole_items
from stitch.testing.model import ScriptedCompletion

REFUSED = object()
"""Nothing is read: the same is asked once more, or for less."""
LABELS = {"scopes": ["hotel in Porto"], "event_types": ["give price"], "entity_types": []}
PAIR = {"name": "request price", "read_as": "ask price"}
IT = {"phrase": "it", "means": "the Mill"}

REPLIES: dict[tuple[str, str], list[tuple[Any, Any]]] = {
    ("SelectFilter", "scopes"): [
        (LABELS, ["hotel in Porto"]),
        (f"<think>{{scopes}}?</think>\n```json\n{json.dumps(LABELS)}\n```", ["hotel in Porto"]),
        ({**LABELS, "scopes": "hotel in Porto"}, ["hotel in Porto"]),
        ({**LABELS, "scopes": '["hotel in Porto"]'}, ["hotel in Porto"]),
        ({**LABELS, "scopes": [{"name": "hotel in Porto", "why": "it is asked about"}]}, ["hotel in Porto"]),
        ({**LABELS, "scopes": {"hotel in Porto": True}}, ["hotel in Porto"]),
        ({**LABELS, "scopes": None}, []),
        ({"event_types": ["give price"]}, []),
        ({"filter": LABELS}, ["hotel in Porto"]),
        ([LABELS], ["hotel in Porto"]),
        (repr(LABELS), ["hotel in Porto"]),
        ({"a": LABELS, "b": LABELS}, REFUSED),
        ({}, REFUSED),
        ([], REFUSED),
    ],
    ("AnswerQuestion", "answer"): [
        ({"reasoning": "r", "answer": "$90"}, "$90"),
        ({"answer": 90}, "90"),
        ({"answer": None}, ""),
        ({"answer": ["The Mill", {"name": "The Inn"}]}, "The Mill; The Inn"),
        ("<think>step 2 {says} it</think>\nThe house costs $90.", REFUSED),
        ('{"reasoning": "r", "answer": "$90",}', "$90"),
        ('{"answer": "The Mi', REFUSED),
        ("", REFUSED),
    ],
    ("InduceScope", "scope"): [({"scope": {"name": "hotel"}}, "hotel"), ("I am sorry, I cannot do that.", REFUSED)],
    ("JudgeAnswer", "verdict"): [
        ({"reasoning": "the same sum", "verdict": "correct."}, "CORRECT"),
        ({"verdict": "WRONG. The price is that of another day."}, REFUSED),
        ("The answer names the house.\nVerdict: CORRECT", REFUSED),
        ({"verdict": "PARTIALLY CORRECT"}, REFUSED),
        ({"verdict": "CORRECT (partially)"}, REFUSED),
        ("It is not CORRECT.", REFUSED),
        ('{"reasoning": "the answer is', REFUSED),
    ],
    ("JudgeAnswerSet", "correct_entries"): [
        ({"correct_entries": 2}, 2),
        ({"correct_entries": "2 of 3"}, 2),
        ({"correct_entries": 2.0}, 2),
        ({"correct_entries": True}, REFUSED),
        ({"correct_entries": 1.5}, REFUSED),
        ({"correct_entries": "many"}, REFUSED),
        ({"total": 3}, REFUSED),
        ("In 2024 both appear.", REFUSED),
    ],
    ("DiagnoseLabels", "failures"): [
        ({"failures": "none"}, []),
        ({"failures": ["MISSING_LABEL"]}, ["MISSING_LABEL"]),
        ({"failures": ["too long"]}, REFUSED),
    ],
    ("MergeEventTypes", "synonyms"): [
        ({"synonyms": [PAIR, {"name": "a"}, "b"]}, [PAIR]),
        ({"result": [PAIR]}, [PAIR]),
        ([PAIR], [PAIR]),
        ({"synonyms": []}, []),
        ({"synonyms": "none"}, []),
        ({"synonyms": None}, REFUSED),
        ("I am sorry, I cannot do that.", REFUSED),
    ],
    ("RewriteReferences", "references"): [({"references": [IT]}, [IT]), ("No references are needed.", REFUSED)],
    ("NameThemes", "names"): [
        ({"names": [{"name": "Mill"}, {"name": "trains"}]}, [{"n": 1, "name": "Mill"}, {"n": 2, "name": "trains"}]),
    ],
    ("ExtractStatements", "statements"): [
        ({"statements": [{"text": "They took the Mill.", "steps": "1 and 2"}, "It was loud."]},
         [{"text": "They took the Mill.", "steps": [1, 2]}]),
    ],
    ("ScoreTreeNodes", "scores"): [
        ({"scores": [1, 0.5]}, [1.0, 0.5]), ({"scores": "[0.5]"}, [0.5]), ({"scores": ["x"]}, REFUSED),
    ],
    ("ProposeTreeEdits", "operations"): [
        ({"operations": [{"op": "delete", "id": "a"}]}, [{"op": "delete", "id": "a"}]),
        ({"operations": []}, []),
    ],
}  # fmt: skip
ALL = [(name, field, reply, wanted) for (name, field), rows in REPLIES.items() for reply, wanted in rows]


def plain(said: Any) -> Any:
    if isinstance(said, list):
        return [plain(one) for one in said]
    return said.model_dump(exclude_defaults=True) if isinstance(said, BaseModel) else said


@pytest.mark.parametrize(("name", "field", "reply", "wanted"), ALL)
def test_what_a_model_says_is_read_and_never_guessed(name: str, field: str, reply: Any, wanted: Any) -> None:
    prompt = getattr(signatures, name)
    text = reply if isinstance(reply, str) else json.dumps(reply)
    if wanted is REFUSED:
        with pytest.raises(AdapterParseError):
            ReplyAdapter().parse(prompt, text)
    else:
        assert plain(ReplyAdapter().parse(prompt, text)[field]) == wanted


class Told(dspy.Signature):  # type: ignore[misc]  # DSPy is not typed
    """Tell."""

    question: str = dspy.InputField()
    answer: str = dspy.OutputField()
    sure: bool = dspy.OutputField()


def run(said: str) -> Any:
    model = LanguageModel("m", completion=ScriptedCompletion(lambda system, user: said))
    return model.run(dspy.Predict(Told), purpose=Purpose("test"), question="x")


def test_a_reply_without_json_and_one_without_a_field_are_told_apart() -> None:
    with pytest.raises(CutReplyError, match="no whole JSON"):
        run("Just $90.")
    with pytest.raises(CutReplyError, match="no whole JSON"):
        run('{"answer": "$9')
    with pytest.raises(ReplyError, match="lacks a field"):
        run('{"answer": "a", "sure": "perhaps"}')
    assert run('{"answer": "a", "sure": true}').sure is True


def test_an_example_is_shown_in_one_line_without_what_is_empty() -> None:
    reading = signatures.StepReading(n=1, scope="trip", events=["ask"], entities=[])
    demos = [{"steps": "s", "readings": [reading], "renames": []}]
    messages = ReplyAdapter().format(signatures.LabelWindow, demos, {"steps": "t"})
    [example] = [one["content"] for one in messages if one["role"] == "assistant"]
    assert example.startswith('{"readings":[{"n":1,"scope":"trip","events":["ask"],"entities":[]}]')
    assert compact("as it is") == "as it is"


texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
values = st.recursive(st.none() | st.booleans() | st.integers() | texts, lambda inner: st.lists(inner, max_size=3))
objects = st.dictionaries(texts, values, min_size=1, max_size=4)
talk = texts.filter(lambda text: not set(text) & set("{}[]<>"))
items = st.lists(st.builds(signatures.Synonym, name=texts, read_as=texts), min_size=1, max_size=4)


@given(objects, talk, talk)
def test_an_object_is_found_in_any_talk(said: dict[str, Any], before: str, after: str) -> None:
    assert json_in(f"{before} {json.dumps(said)} {after}") == said
    assert json_in(f"{before}\n```json\n{json.dumps(said, ensure_ascii=False)}\n```{after}") == said


@given(items, st.data())
def test_what_is_torn_is_never_healed_and_its_whole_items_are_those_that_were_said(
    said: list[signatures.Synonym], data: st.DataObject
) -> None:
    text = json.dumps({"synonyms": [each.model_dump() for each in said]})
    cut = text[: data.draw(st.integers(1, len(text) - 1))]
    if not set("".join(f"{each.name}{each.read_as}" for each in said)) & set("{}[]"):
        assert json_in(cut) is None
    found = whole_items(cut, signatures.Synonym)
    assert found == said[: len(found)]
    assert whole_items(text, signatures.Synonym) == said


@pytest.mark.parametrize(
    "text", ["", "sorry", "{", "[1, 2]", "{scope}", '"text"', "{" * 5000, "[" * 100_000, '{"a": ' * 9_999]
)
def test_what_holds_no_object_gives_none(text: str) -> None:
    assert json_in(text) is None
    assert whole_items(text, signatures.Synonym) == []


@given(st.text(alphabet=st.sampled_from("\n :-|*#<>()[]{}=,;.1\"'\\“”nı"), max_size=80))
def test_no_text_breaks_it(said: str) -> None:
    for prompt in (signatures.LabelWindow, signatures.SelectFilter, signatures.JudgeAnswerSet):
        with suppress(AdapterParseError):
            ReplyAdapter().parse(prompt, said)
