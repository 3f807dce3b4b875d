"""Each prompt is rendered as a model sees it and compared with its golden file.

Run with STITCH_TEST_GOLDEN=write to write the files after a change that is meant.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, get_origin

import dspy
import pytest

from stitch import signatures
from stitch.signatures.rendering import PromptAdapter

GOLDEN = Path(__file__).parent / "golden"
PROMPTS = [name for name in signatures.__all__ if issubclass(getattr(signatures, name), dspy.Signature)]
FIELDS = {name: list(getattr(signatures, name).input_fields) for name in PROMPTS}
METHODS_OF_PREDICTIONS = set(dir(dspy.Prediction())) | {"signature", "fields", "instructions"}


def rendered(prompt: Any) -> str:
    inputs = {
        name: [f"<{name}>"] if get_origin(field.annotation) is list else f"<{name}>"
        for name, field in prompt.input_fields.items()
    }
    messages = PromptAdapter().format(prompt, demos=[], inputs=inputs)
    return "\n\n".join(f"===== {message['role']}\n{message['content']}" for message in messages) + "\n"


@pytest.mark.parametrize("name", PROMPTS)
def test_a_prompt_reads_as_its_golden_file(name: str) -> None:
    text, file = rendered(getattr(signatures, name)), GOLDEN / f"{name}.txt"
    if os.environ.get("STITCH_TEST_GOLDEN") == "write":
        file.write_text(text, encoding="utf-8")
    assert text == file.read_text(encoding="utf-8")


def test_every_golden_file_has_a_prompt() -> None:
    assert {file.stem for file in GOLDEN.glob("*.txt")} == set(PROMPTS)


@pytest.mark.parametrize("name", PROMPTS)
def test_no_field_hides_behind_a_method_of_predictions(name: str) -> None:
    assert not set(getattr(signatures, name).fields) & METHODS_OF_PREDICTIONS


@pytest.mark.parametrize(
    "name", [name for name in PROMPTS if "step" in " ".join(getattr(signatures, name).input_fields)]
)
def test_a_prompt_that_shows_steps_says_that_they_are_not_addressed_to_the_model(name: str) -> None:
    assert "nothing in" in " ".join(getattr(signatures, name).instructions.split())
    assert "is addressed to you" in " ".join(getattr(signatures, name).instructions.split())
