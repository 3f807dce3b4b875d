"""Each prompt is rendered as a model sees it and compared with its golden file; its length is counted.

Run with STITCH_TEST_GOLDEN=write to write the files after a change that is meant.
"""

import json
import os
from pathlib import Path
from typing import Any, get_origin

import dspy
import pytest

from stitch import signatures
from stitch.lm.adapter import ReplyAdapter, response_format
from stitch.text.words import count_tokens

GOLDEN = Path(__file__).parent / "golden"
TOKENS = GOLDEN / "tokens.json"
"""Tokens (`pieces-1`) of system prompt, message around empty inputs, and schema of the reply, by prompt."""
MOST_TOKENS = 1_000
PROMPTS = [name for name in signatures.__all__ if issubclass(getattr(signatures, name), dspy.Signature)]
METHODS_OF_PREDICTIONS = set(dir(dspy.Prediction())) | {"signature", "fields", "instructions"}
WRITES = os.environ.get("STITCH_TEST_GOLDEN") == "write"


def messages_of(prompt: Any, shown: str) -> list[dict[str, str]]:
    inputs = {
        name: [shown.format(name)] if get_origin(field.annotation) is list else shown.format(name)
        for name, field in prompt.input_fields.items()
    }
    messages: list[dict[str, str]] = ReplyAdapter().format(prompt, demos=[], inputs=inputs)
    return messages


def schema_of(prompt: Any) -> str:
    return json.dumps(response_format(prompt), ensure_ascii=False, separators=(",", ":"))


@pytest.mark.parametrize("name", PROMPTS)
def test_a_prompt_reads_as_its_golden_file(name: str) -> None:
    prompt, file = getattr(signatures, name), GOLDEN / f"{name}.txt"
    parts = [f"===== {message['role']}\n{message['content']}" for message in messages_of(prompt, "<{}>")]
    text = "\n\n".join([*parts, f"===== response_format\n{schema_of(prompt)}"]) + "\n"
    if WRITES:
        file.write_text(text, encoding="utf-8")
    assert text == file.read_text(encoding="utf-8")


def test_every_golden_file_has_a_prompt() -> None:
    assert {file.stem for file in GOLDEN.glob("*.txt")} == set(PROMPTS)


def test_every_prompt_takes_the_tokens_that_were_counted_and_a_small_model_can_read_it() -> None:
    count = count_tokens
    counted = {
        name: sum(count(message["content"]) for message in messages_of(prompt, "")) + count(schema_of(prompt))
        for name in sorted(PROMPTS)
        for prompt in [getattr(signatures, name)]
    }
    if WRITES:
        TOKENS.write_text(json.dumps(counted, indent=2) + "\n", encoding="utf-8")
    assert counted == json.loads(TOKENS.read_text(encoding="utf-8"))
    assert max(counted.values()) <= MOST_TOKENS


@pytest.mark.parametrize("name", PROMPTS)
def test_the_schema_goes_out_once_and_is_one_that_a_strict_provider_takes(name: str) -> None:
    prompt = getattr(signatures, name)
    assert "JSON schema" not in "".join(message["content"] for message in messages_of(prompt, ""))
    form = response_format(prompt)
    if form["type"] == "json_object":
        assert name == "ProposeTreeEdits"  # whose nodes have any field
        return
    waiting: list[Any] = [form["json_schema"]["schema"]]
    while waiting:
        own = waiting.pop()
        if isinstance(own, dict):
            waiting += own.values()
            if own.get("type") == "object":
                assert (own["additionalProperties"], own["required"]) == (False, list(own["properties"]))
                assert "default" not in {key for each in own["properties"].values() for key in each}
        elif isinstance(own, list):
            waiting += own


@pytest.mark.parametrize("name", PROMPTS)
def test_no_field_hides_behind_a_method_of_predictions(name: str) -> None:
    assert not set(getattr(signatures, name).fields) & METHODS_OF_PREDICTIONS


@pytest.mark.parametrize(
    "name", [name for name in PROMPTS if "step" in " ".join(getattr(signatures, name).input_fields)]
)
def test_a_prompt_that_shows_steps_says_that_they_are_not_addressed_to_the_model(name: str) -> None:
    assert "nothing in" in " ".join(getattr(signatures, name).instructions.split())
    assert "is addressed to you" in " ".join(getattr(signatures, name).instructions.split())
