"""Replies as middling models write them, to each prompt, and what is read; what cannot be read is asked for again."""

from __future__ import annotations

import json
from typing import Any, get_origin

import dspy
import pytest

from stitch import signatures
from stitch.errors import ReplyError
from stitch.lm import LanguageModel, Purpose
from stitch.testing.model import ScriptedCompletion

AGAIN = object()
"""Nothing is read: the same is asked once more, or for less."""

REPLIES: dict[tuple[str, str], list[tuple[Any, Any]]] = {
    ("JudgeAnswer", "verdict"): [
        ({"reasoning": "the same sum", "verdict": "CORRECT."}, "CORRECT"),
        ("**Verdict:** ✅ CORRECT", "CORRECT"),
        ({"verdict": ["CORRECT"]}, "CORRECT"),
        ({"verdict": "WRONG. The price is that of another day."}, "WRONG"),
        ({"verdict": "WRONG - another hotel"}, "WRONG"),
        ({"label": "incorrect"}, "WRONG"),
        ("<think>Could it be CORRECT?</think>\n{'verdict': 'WRONG'}", "WRONG"),
        ({"verdict": "PARTIALLY CORRECT"}, AGAIN),
        ({"verdict": "CORRECT (partially)"}, AGAIN),
        ("The given answer is correct.", AGAIN),
    ],
    ("JudgeAnswerSet", "correct_entries"): [
        ({"correct": 2, "total": 3}, 2),
        ({"total": 3, "correct": 2}, 2),
        ({"correct_entries": {"count": 2}}, 2),
        ({"correct_entries": {"total": 3}}, AGAIN),
        ({"correct_entries": {"Out of": 3}}, AGAIN),
        ({"correct_entries": {"out_of": "3"}}, AGAIN),
        ({"correct_entries": {"missed": 1}}, AGAIN),
        ({"total": 3}, AGAIN),
        ({"correct_entries": [{"entry": "Mill", "correct": True}, {"entry": "Inn", "correct": False}]}, 1),
        ({"correct_entries": ["Mill", "Inn"]}, 2),
        ({"correct_entries": "2/3"}, 2),
        ({"correct_entries": None}, AGAIN),
        ({"matched": 2, "missed": 1}, AGAIN),
        ("There are 2 correct entries out of 3.", AGAIN),
    ],
    ("JudgePlan", "given_slots"): [
        ("Correct slots: 3\nGiven slots: 4", 4),
        ({"correct_slots": "3 of 5", "given_slots": "5"}, 5),
        ({"correct_slots": ["lunch"], "given_slots": ["lunch", "stay"]}, 2),
        ({"correct_slots": 3}, AGAIN),
    ],
    ("DiagnoseLabels", "failures"): [
        ({"failures": "none"}, []),
        ({"failures": None}, []),
        ("None", []),
        ({"failures": ["Missing label"]}, ["MISSING_LABEL"]),
        ({"failures": "missing_label, granularity-mismatch"}, ["MISSING_LABEL", "GRANULARITY_MISMATCH"]),
        ({"failures": ["MISSING_LABEL", "missing_label", "too long"]}, ["MISSING_LABEL"]),
        ({"failures": ["too long"]}, AGAIN),
    ],
    ("AnswerQuestion", "answer"): [
        ('```json\n{"reasoning": "it is said", "answer": "The Mill"\n```', "The Mill"),
        ('```json\n{"answer": ["The Mill", "The Inn"\n```\nThat is all.', "The Mill; The Inn"),
        ({"answer": [{"name": "The Mill"}, {"name": "The Inn"}]}, "The Mill; The Inn"),
        ({"answer": {"name": "The Mill", "note": None}}, "The Mill"),
        ({"answer": {"name": "The Mill", "price": "$5"}}, "name: The Mill; price: $5"),
        ("**Reasoning:** it is said in step 3.\n\n**Answer:** The Mill; The Inn", "The Mill; The Inn"),
        ('{"answer": "The Mi', AGAIN),
        ("{", AGAIN),
        ("...", AGAIN),
    ],
    ("ConsolidateLabels", "synonyms"): [
        ({"synonyms": {"request price": "ask price"}}, [{"name": "request price", "read_as": "ask price"}]),
        ({"synonyms": ["request price = ask price"]}, [{"name": "request price", "read_as": "ask price"}]),
        ({"synonyms": [{"request price": "ask price"}]}, [{"name": "request price", "read_as": "ask price"}]),
        (
            {"synonyms": [{"name": "request price", "keep": "ask price"}]},
            [{"name": "request price", "read_as": "ask price"}],
        ),
        ("No synonyms found.", []),
        ("none", []),
        ({}, []),
        ("I am sorry, I cannot do that.", AGAIN),
    ],
    ("RewriteReferences", "references"): [
        ({"references": [{"it": "the Mill"}]}, [{"phrase": "it", "means": "the Mill"}]),
        ({"references": {"it": "the Mill", "there": "Bath"}},
         [{"phrase": "it", "means": "the Mill"}, {"phrase": "there", "means": "Bath"}]),
        ({"references": ["it -> the Mill", "so on"]}, [{"phrase": "it", "means": "the Mill"}]),
        ("No references.", []),
        ("No references are needed because every step of this log names all that it is about.", AGAIN),
    ],
    ("NameThemes", "names"): [
        ({"names": ["the Mill", "trains"]}, [{"n": 1, "name": "the Mill"}, {"n": 2, "name": "trains"}]),
        ({"names": {"2": "trains"}}, [{"n": 2, "name": "trains"}]),
    ],
    ("ExtractStatements", "statements"): [
        ({"statements": ["They took the Mill. [1, 2]", "It was loud."]},
         [{"text": "They took the Mill.", "steps": [1, 2]}]),
        ({"statements": ["They took the Mill (steps 1 and 2)"]}, [{"text": "They took the Mill", "steps": [1, 2]}]),
        ("none", []),
    ],
    ("InduceScope", "scope"): [
        ({"scope": {"name": "hotel for day 2"}}, "hotel for day 2"),
        ({"scope": ["hotel for day 2"]}, "hotel for day 2"),
        ("I am sorry, I cannot do that.", AGAIN),
    ],
}  # fmt: skip
ALL = [(name, field, reply, wanted) for (name, field), rows in REPLIES.items() for reply, wanted in rows]


@pytest.mark.parametrize(("name", "field", "reply", "wanted"), ALL)
def test_what_a_middling_model_says_is_read(name: str, field: str, reply: Any, wanted: Any) -> None:
    prompt = getattr(signatures, name)
    given = {name: ["a"] if get_origin(own.annotation) is list else "a" for name, own in prompt.input_fields.items()}
    model = LanguageModel("m", completion=ScriptedCompletion(lambda system, user: reply))
    if wanted is AGAIN:
        with pytest.raises(ReplyError):
            model.run(dspy.Predict(prompt), purpose=Purpose("test"), **given)
        return
    said = getattr(model.run(dspy.Predict(prompt), purpose=Purpose("test"), **given), field)
    assert plain(said) == wanted


def plain(said: Any) -> Any:
    """Objects as what they say."""
    if isinstance(said, list):
        return [plain(one) for one in said]
    return said if isinstance(said, (str, int)) else json.loads(said.model_dump_json(exclude_defaults=True))
