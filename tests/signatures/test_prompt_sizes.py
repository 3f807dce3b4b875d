"""Prompts stay short: what each takes beside its inputs, counted; each call pays for it, of a small model's window."""

from __future__ import annotations

from typing import Any, get_origin

import dspy
import pytest

from stitch import signatures
from stitch.retrieve import PieceCounter
from stitch.signatures.rendering import PromptAdapter

MOST = {
    "AnswerDebate": 310,
    "AnswerFromTree": 260,
    "AnswerQuestion": 300,
    "ConsolidateLabels": 480,
    "CorrectDraft": 1060,
    "DiagnoseLabels": 490,
    "ExtendEventTypes": 330,
    "ExtractStatements": 610,
    "InduceScope": 460,
    "JudgeAnswer": 340,
    "JudgeAnswerSet": 320,
    "JudgePlan": 380,
    "LabelWindow": 1080,
    "MendPathQuery": 350,
    "MergeEntityTypes": 420,
    "MergeEventTypes": 420,
    "NameThemes": 380,
    "ProposeTreeEdits": 560,
    "RealizeOperation": 400,
    "RewriteReferences": 550,
    "RouteTreeRequest": 900,
    "ScoreTreeNodes": 290,
    "SeedEntityTypes": 360,
    "SeedEventTypes": 290,
    "SelectEventTypes": 370,
    "SelectFilter": 650,
    "SelectFilterEntityTypes": 320,
    "SelectFilterEvents": 320,
    "SelectScopes": 310,
    "SummarizeScope": 300,
    "SummarizeStep": 460,
    "VerifyTreeNodes": 250,
}
"""Tokens (`pieces-1`) of system prompt and message around empty inputs; whoever makes a prompt longer says so here."""
PROMPTS = [name for name in signatures.__all__ if issubclass(getattr(signatures, name), dspy.Signature)]


def tokens_of(prompt: Any) -> int:
    inputs = {name: [] if get_origin(field.annotation) is list else "" for name, field in prompt.input_fields.items()}
    messages = PromptAdapter().format(prompt, demos=[], inputs=inputs)
    return sum(PieceCounter().count(message["content"]) for message in messages)


def test_every_prompt_is_counted() -> None:
    assert set(MOST) == set(PROMPTS)


@pytest.mark.parametrize("name", PROMPTS)
def test_a_prompt_takes_no_more_than_was_said_and_about_that(name: str) -> None:
    assert 0.9 * MOST[name] <= tokens_of(getattr(signatures, name)) <= MOST[name]
