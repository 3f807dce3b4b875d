"""Prompts that are used, and compiled, together: one DSPy module for each part of the library that asks a model.

The names of the attributes are a file format: compiled programs are keyed by them.
"""

from __future__ import annotations

import dspy

from stitch.signatures.answers import AnswerDebate, AnswerQuestion
from stitch.signatures.entities import MergeEntityTypes, SeedEntityTypes
from stitch.signatures.events import ExtendEventTypes, MergeEventTypes, SeedEventTypes, SelectEventTypes
from stitch.signatures.filters import SelectFilter
from stitch.signatures.scopes import InduceScope, SummarizeScope
from stitch.signatures.steps import RewriteReferences, SummarizeStep
from stitch.signatures.windows import LabelWindow


class Program(dspy.Module):
    """What all of them have."""

    digest = ""
    """SHA-256 of what it was compiled to; empty if it is as it stands in the code."""


class WindowProgram(Program):
    """The prompt of the windowed labeler."""

    def __init__(self) -> None:
        super().__init__()
        self.label_window = dspy.Predict(LabelWindow)


class StepProgram(Program):
    """The prompts of the stepwise labeler, one a cue."""

    def __init__(self) -> None:
        super().__init__()
        self.induce_scope = dspy.Predict(InduceScope)
        self.summarize_scope = dspy.Predict(SummarizeScope)
        self.select_events = dspy.Predict(SelectEventTypes)
        self.seed_events = dspy.Predict(SeedEventTypes)
        self.extend_events = dspy.Predict(ExtendEventTypes)
        self.merge_events = dspy.Predict(MergeEventTypes)
        self.seed_entities = dspy.Predict(SeedEntityTypes)
        self.merge_entities = dspy.Predict(MergeEntityTypes)
        self.rewrite = dspy.Predict(RewriteReferences)
        self.summarize = dspy.Predict(SummarizeStep)


class FilterProgram(Program):
    """The prompt that chooses the labels of a question in one call."""

    def __init__(self) -> None:
        super().__init__()
        self.select_filter = dspy.Predict(SelectFilter)


class AnswerProgram(Program):
    """The prompts that answer questions."""

    def __init__(self) -> None:
        super().__init__()
        self.answer_question = dspy.Predict(AnswerQuestion)
        self.answer_debate = dspy.Predict(AnswerDebate)
