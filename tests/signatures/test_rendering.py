"""Our adapter renders and reads exactly what DSPy's own does."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, get_origin

import dspy
import pytest
from dspy.utils.exceptions import AdapterParseError
from hypothesis import given, settings
from hypothesis import strategies as st

from stitch import signatures
from stitch.errors import ReplyError
from stitch.lm import LanguageModel, Purpose
from stitch.signatures.rendering import PromptAdapter, compact
from stitch.testing.model import LoopbackProvider

PROMPTS = [name for name in signatures.__all__ if issubclass(getattr(signatures, name), dspy.Signature)]
OURS, THEIRS = PromptAdapter(), dspy.JSONAdapter()


def inputs_of(prompt: Any, text: str) -> dict[str, Any]:
    return {
        name: [text, "b"] if get_origin(field.annotation) is list else text
        for name, field in prompt.input_fields.items()
    }


@pytest.mark.parametrize("name", PROMPTS)
@settings(max_examples=settings().max_examples // 5)
@given(text=st.text(max_size=40))
def test_a_prompt_is_rendered_as_dspy_does(name: str, text: str) -> None:
    prompt = getattr(signatures, name)
    for _ in range(2):  # the second time from what is kept
        assert OURS.format(prompt, [], inputs_of(prompt, text)) == THEIRS.format(prompt, [], inputs_of(prompt, text))


def test_examples_and_odd_values_are_rendered_as_dspy_does() -> None:
    prompt = signatures.SelectFilter
    shown = {**inputs_of(prompt, "a"), "known_scopes": ["a", "b"], "known_event_types": "b", "question": 7}
    demos = [{**inputs_of(prompt, "c"), "scopes": ["s"], "event_types": [], "entity_types": [], "why": "w"}]
    del shown["known_entity_types"]
    ours, theirs = OURS.format(prompt, demos, shown), THEIRS.format(prompt, demos, shown)
    assert [one for one in ours if one["role"] != "assistant"] == [one for one in theirs if one["role"] != "assistant"]
    replies = [one["content"] for one in ours if one["role"] == "assistant"]
    assert replies == ['{"scopes":["s"],"event_types":[],"entity_types":[],"why":"w"}']  # said with each call, so short


def test_the_reply_of_an_example_leaves_out_what_is_empty() -> None:
    reading = signatures.StepReading(n=1, scope="trip", events=["ask"], entities=[])
    assert compact({"readings": [reading], "text": "é"}) == (
        '{"readings":[{"n":1,"scope":"trip","events":["ask"],"entities":[]}],"text":"é"}'
    )
    assert compact("as it is") == "as it is"


def test_a_prompt_that_was_rewritten_is_rendered_anew() -> None:
    before, shown = signatures.LabelWindow, inputs_of(signatures.LabelWindow, "a")
    OURS.format(before, [], shown)
    after = before.with_instructions("Count the steps.")
    assert "Count the steps." in OURS.format(after, [], shown)[0]["content"]
    assert OURS.format(before, [], shown) == THEIRS.format(before, [], shown)


def test_more_prompts_than_are_kept_are_rendered_all_the_same() -> None:
    adapter, shown = PromptAdapter(), inputs_of(signatures.InduceScope, "a")
    for n in range(300):
        prompt = signatures.InduceScope.with_instructions(f"rule {n}")
        assert f"rule {n}" in adapter.format(prompt, [], shown)[0]["content"]


def test_every_schema_is_one_that_a_strict_provider_takes() -> None:
    """OpenAI refuses a strict schema with a default, an open object, or a property that is not required."""
    with LoopbackProvider(lambda system, user: "no JSON") as provider:
        model = LanguageModel("m", base_url=provider.base_url, offline=True)
        for name in PROMPTS:
            prompt = getattr(signatures, name)
            with suppress(ReplyError):  # what it says does not matter here
                model.run(dspy.Predict(prompt), purpose=Purpose("test"), **inputs_of(prompt, "a"))
        model.close()
    schemas = [request.body["response_format"]["json_schema"]["schema"] for request in provider.requests]
    assert len(schemas) == len(PROMPTS)
    for schema in schemas:
        for own in objects_in(schema):
            assert (own["additionalProperties"], set(own["required"])) == (False, set(own["properties"]))
        assert "default" not in list(keywords_in(schema))


def objects_in(schema: Any) -> Iterator[dict[str, Any]]:
    if isinstance(schema, dict):
        if schema.get("type") == "object":
            yield schema
        for own in schema.values():
            yield from objects_in(own)
    elif isinstance(schema, list):
        for own in schema:
            yield from objects_in(own)


def keywords_in(schema: dict[str, Any]) -> Iterator[str]:
    yield from schema
    inner = [*schema.get("properties", {}).values(), *schema.get("$defs", {}).values(), schema.get("items")]
    for own in filter(None, inner):
        yield from keywords_in(own)


READING = {"n": 1, "scope": "trip", "events": ["ask"], "entities": [], "summary": "s"}
REPLIES = [
    {"readings": [READING, {**READING, "references": [{"phrase": "it", "means": "the mill"}]}]},
    {"readings": [READING], "more": 1},
    {"readings": json.dumps([READING])},
    {"readings": []},
]


@pytest.mark.parametrize("reply", REPLIES)
def test_a_reply_is_read_as_dspy_does(reply: dict[str, Any]) -> None:
    text = json.dumps(reply)
    assert OURS.parse(signatures.LabelWindow, text) == THEIRS.parse(signatures.LabelWindow, text)


@pytest.mark.parametrize("reply", [{}, {"readings": "none"}, {"readings": None}, {"readings": [{"n": "x"}]}])
def test_a_reply_that_dspy_refuses_is_refused(reply: dict[str, Any]) -> None:
    for adapter in (OURS, THEIRS):
        with pytest.raises(AdapterParseError):
            adapter.parse(signatures.LabelWindow, json.dumps(reply))


def test_missing_fields_with_a_default_are_filled_in() -> None:
    said = {"scopes": [], "event_types": ["ask"], "entity_types": "[]"}
    assert OURS.parse(signatures.SelectFilter, json.dumps(said)) == {**said, "entity_types": [], "why": ""}
