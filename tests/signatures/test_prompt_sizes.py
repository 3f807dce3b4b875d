"""Prompts stay short: what each takes beside its inputs, counted; each call pays for it, of a small model's window.

`STITCH_TEST_GOLDEN=write pytest tests/signatures` writes the counts anew: whoever makes a prompt longer says so there.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, get_origin

import dspy

from stitch import signatures
from stitch.retrieve import PieceCounter
from stitch.signatures.rendering import PromptAdapter

COUNTS = Path(__file__).parent / "golden" / "tokens.json"
"""Tokens (`pieces-1`) of system prompt and message around empty inputs, by prompt."""
MOST_TOKENS = 1_150
"""Of the longest, which labels a whole window; a small model's window holds 4,096 and more."""
PROMPTS = [name for name in signatures.__all__ if issubclass(getattr(signatures, name), dspy.Signature)]


def tokens_of(prompt: Any) -> int:
    inputs = {name: [] if get_origin(field.annotation) is list else "" for name, field in prompt.input_fields.items()}
    messages = PromptAdapter().format(prompt, demos=[], inputs=inputs)
    return sum(PieceCounter().count(message["content"]) for message in messages)


def test_every_prompt_takes_what_was_counted() -> None:
    counted = {name: tokens_of(getattr(signatures, name)) for name in sorted(PROMPTS)}
    if os.environ.get("STITCH_TEST_GOLDEN") == "write":
        COUNTS.write_text(json.dumps(counted, indent=2) + "\n", encoding="utf-8")
    assert counted == json.loads(COUNTS.read_text(encoding="utf-8"))


def test_no_prompt_is_longer_than_a_small_model_can_read() -> None:
    assert max(json.loads(COUNTS.read_text(encoding="utf-8")).values()) <= MOST_TOKENS
