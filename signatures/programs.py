"""Prompts that are used, and compiled, together: one DSPy module for each part of the library that asks a model.

The names of the attributes are a file format: compiled programs are keyed by them.
"""

from __future__ import annotations

from copy import copy
from typing import Any

import dspy

from stitch.signatures.answers import AnswerDebate, AnswerFromMemory, AnswerQuestion
from stitch.signatures.entities import MergeEntityTypes, SeedEntityTypes
from stitch.signatures.events import ExtendEventTypes, MergeEventTypes, SeedEventTypes, SelectEventTypes
from stitch.signatures.filters import SelectFilter
from stitch.signatures.scopes import InduceScope, SummarizeScope
from stitch.signatures.statements import ExtractStatements, NameThemes
from stitch.signatures.steps import RewriteReferences, SummarizeStep
from stitch.signatures.trees import (
    AnswerFromTree,
    MendPathQuery,
    ProposeTreeEdits,
    RouteTreeRequest,
    ScoreTreeNodes,
    VerifyTreeNodes,
)
from stitch.signatures.windows import LabelWindow, without_asks


class Program(dspy.Module):
    """Base of the programs. Each is an ordinary module of DSPy: it is called with the fields of its prompt, compiled
    by any optimizer with any metric, saved and loaded by DSPy.
    """

    digest = ""
    """SHA-256 of what it was compiled to; empty if it is as it stands in the code."""


class WindowProgram(Program):
    """The prompt of the windowed labeler."""

    def __init__(self) -> None:
        super().__init__()
        self.label_window = dspy.Predict(LabelWindow)

    def forward(self, **inputs: Any) -> dspy.Prediction:
        """The readings of a window, from the input fields of `LabelWindow`."""
        return self.label_window(**inputs)

    async def aforward(self, **inputs: Any) -> dspy.Prediction:
        """As `forward`."""
        return await self.label_window.acall(**inputs)


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

    def forward(self, *, step: str, **inputs: Any) -> dspy.Prediction:
        """All labels of a step, from what `InduceScope`, `SelectEventTypes` (`candidates`), `RewriteReferences`
        (`earlier_steps`) and `SummarizeStep` (`known_entity_types`) are given; the references are not put in.
        """
        scope = self.induce_scope(step=step, **_of(InduceScope, inputs)).scope
        events = self.select_events(step=step, scope=scope, **_of(SelectEventTypes, inputs)).event_types
        found = self.rewrite(step=step, scope=scope, **_of(RewriteReferences, inputs)).references
        told = self.summarize(step=step, scope=scope, event_types=events, **_of(SummarizeStep, inputs))
        return dspy.Prediction(
            scope=scope, event_types=events, references=found, entity_types=told.entity_types, summary=told.summary
        )

    async def aforward(self, *, step: str, **inputs: Any) -> dspy.Prediction:
        """As `forward`."""
        scope = (await self.induce_scope.acall(step=step, **_of(InduceScope, inputs))).scope
        picked = await self.select_events.acall(step=step, scope=scope, **_of(SelectEventTypes, inputs))
        found = await self.rewrite.acall(step=step, scope=scope, **_of(RewriteReferences, inputs))
        events = picked.event_types
        told = await self.summarize.acall(step=step, scope=scope, event_types=events, **_of(SummarizeStep, inputs))
        return dspy.Prediction(
            scope=scope,
            event_types=events,
            references=found.references,
            entity_types=told.entity_types,
            summary=told.summary,
        )


class FilterProgram(Program):
    """The prompt that chooses the labels of a question in one call."""

    def __init__(self) -> None:
        super().__init__()
        self.select_filter = dspy.Predict(SelectFilter)

    def forward(self, **inputs: Any) -> dspy.Prediction:
        """The labels that a question licenses, from the input fields of `SelectFilter`."""
        return self.select_filter(**inputs)

    async def aforward(self, **inputs: Any) -> dspy.Prediction:
        """As `forward`."""
        return await self.select_filter.acall(**inputs)


class AnswerProgram(Program):
    """The prompts that answer questions."""

    def __init__(self) -> None:
        super().__init__()
        self.answer_question = dspy.Predict(AnswerQuestion)
        self.answer_debate = dspy.Predict(AnswerDebate)

    def forward(self, *, debate: bool = False, **inputs: Any) -> dspy.Prediction:
        """The answer to a question, from the input fields of `AnswerQuestion`, or of `AnswerDebate` for a debate."""
        return (self.answer_debate if debate else self.answer_question)(**inputs)

    async def aforward(self, *, debate: bool = False, **inputs: Any) -> dspy.Prediction:
        """As `forward`."""
        return await (self.answer_debate if debate else self.answer_question).acall(**inputs)


class MemoryAnswerProgram(Program):
    """The prompt that answers from a memory and names the steps that say it."""

    def __init__(self) -> None:
        super().__init__()
        self.answer_from_memory = dspy.Predict(AnswerFromMemory)

    def forward(self, **inputs: Any) -> dspy.Prediction:
        """The answer, from the input fields of `AnswerFromMemory`."""
        return self.answer_from_memory(**inputs)

    async def aforward(self, **inputs: Any) -> dspy.Prediction:
        """As `forward`."""
        return await self.answer_from_memory.acall(**inputs)


class StatementProgram(Program):
    """The prompts over the hierarchy of a memory."""

    def __init__(self) -> None:
        super().__init__()
        self.extract_statements = dspy.Predict(ExtractStatements)
        self.name_themes = dspy.Predict(NameThemes)

    def forward(self, **inputs: Any) -> dspy.Prediction:
        """Extract what steps assert, from the input fields of `ExtractStatements`."""
        return self.extract_statements(**inputs)

    async def aforward(self, **inputs: Any) -> dspy.Prediction:
        """As `forward`."""
        return await self.extract_statements.acall(**inputs)


class TreeProgram(Program):
    """The prompts about trees, one a stage of a request."""

    def __init__(self) -> None:
        super().__init__()
        self.route = dspy.Predict(RouteTreeRequest)
        self.mend = dspy.Predict(MendPathQuery)
        self.propose = dspy.Predict(ProposeTreeEdits)
        self.verify = dspy.Predict(VerifyTreeNodes)
        self.answer = dspy.Predict(AnswerFromTree)
        self.score = dspy.Predict(ScoreTreeNodes)

    def forward(self, **inputs: Any) -> dspy.Prediction:
        """Route a request, from the input fields of `RouteTreeRequest`."""
        return self.route(**inputs)

    async def aforward(self, **inputs: Any) -> dspy.Prediction:
        """As `forward`."""
        return await self.route.acall(**inputs)


def asking(predictor: Any, *, asks: bool) -> Any:
    """A predictor of labels as it is, or one like it that does not ask for other words."""
    if asks:
        return predictor
    plain = copy(predictor)
    plain.signature = without_asks(predictor.signature)
    return plain


def _of(prompt: type[dspy.Signature], inputs: dict[str, Any]) -> dict[str, Any]:
    """The inputs of a prompt that no earlier one gives."""
    return {name: value for name, value in inputs.items() if name in prompt.input_fields}
