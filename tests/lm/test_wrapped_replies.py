"""Replies inside of something else: the call of a tool, a text of JSON, marks, other names, several parts."""

from __future__ import annotations

import json
from typing import Any

import pytest
from dspy.utils.exceptions import AdapterParseError

from stitch.lm.reading import ReplyAdapter
from stitch.signatures import LabelWindow, SelectFilter

READINGS: list[dict[str, Any]] = [
    {"n": 1, "scope": "hotel in Porto", "events": ["ask price"], "entities": ["price"]},
    {"n": 2, "scope": "hotel in Porto", "events": ["give price"], "entities": ["price", "hotel name"]},
]
LABELS = {"scopes": ["hotel in Porto"], "event_types": ["give price"], "entity_types": ["price"], "why": "so"}
WINDOWS = {
    "call": {"name": "label", "arguments": {"readings": READINGS}},
    "call with text": {"name": "label", "arguments": json.dumps({"readings": READINGS})},
    "text of JSON": json.dumps({"readings": READINGS}),
    "capitals": {"Readings": [{name.capitalize(): value for name, value in one.items()} for one in READINGS]},
}


@pytest.mark.parametrize("form", WINDOWS)
def test_readings_are_found_wherever_they_stand(form: str) -> None:
    said = ReplyAdapter().parse(LabelWindow, json.dumps(WINDOWS[form]))
    assert [(one.n, one.scope, one.events) for one in said["readings"]] == [
        (1, "hotel in Porto", ["ask price"]),
        (2, "hotel in Porto", ["give price"]),
    ]


def test_parts_of_different_numbers_are_one_reply_and_a_second_go_is_not_mixed_with_the_first() -> None:
    first, second = (json.dumps({"readings": [one]}) for one in READINGS)
    assert [one.n for one in ReplyAdapter().parse(LabelWindow, f"{first}\n{second}")["readings"]] == [1, 2]
    again = json.dumps({"readings": [{**READINGS[0], "scope": "hotel"}, READINGS[1]]})
    said = ReplyAdapter().parse(LabelWindow, f"{first}\nWait:\n{again}")["readings"]
    assert [(one.n, one.scope) for one in said] == [(1, "hotel"), (2, "hotel in Porto")]


def test_of_an_object_with_a_class_and_a_value_the_class_is_the_name() -> None:
    reading = {**READINGS[0], "entities": [{"type": "price", "value": "$40"}]}
    assert ReplyAdapter().parse(LabelWindow, json.dumps({"readings": [reading]}))["readings"][0].entities == ["price"]


@pytest.mark.parametrize(
    "reply",
    [
        json.dumps({"name": "select", "arguments": LABELS}),
        json.dumps({"scopes": LABELS["scopes"], "eventTypes": ["give price"], "entityTypes": ["price"]}),
        json.dumps({**LABELS, "scopes": {"hotel in Porto": "asked"}, "event_types": {"give price": "x"}}),
        json.dumps({"scopes": LABELS["scopes"]}) + "\n"
        + json.dumps({name: LABELS[name] for name in ("event_types", "entity_types")}),
        "\n\n".join(f"[[ ## {name} ## ]]\n{json.dumps(value)}" for name, value in LABELS.items())
        + "\n\n[[ ## completed ## ]]",
    ],
)  # fmt: skip
def test_the_labels_of_a_question_are_found_wherever_they_stand(reply: str) -> None:
    said = ReplyAdapter().parse(SelectFilter, reply)
    assert (said["scopes"], said["event_types"], said["entity_types"]) == (
        ["hotel in Porto"],
        ["give price"],
        ["price"],
    )


@pytest.mark.parametrize("reply", ['{"name": "label", "arguments": 3}', '"nothing"', "[[ ## other ## ]]\n[]"])
def test_what_is_wrapped_and_empty_is_no_reply(reply: str) -> None:
    with pytest.raises(AdapterParseError):
        ReplyAdapter().parse(LabelWindow, reply)
