"""Every prompt of the library, and how it is rendered: the docstring of a signature is its prompt.

How a prompt is changed, and how the change is judged: README.md beside this file.
"""

from stitch.signatures.answers import AnswerDebate, AnswerFromMemory, AnswerQuestion
from stitch.signatures.entities import MergeEntityTypes, SeedEntityTypes
from stitch.signatures.events import ExtendEventTypes, MergeEventTypes, SeedEventTypes, SelectEventTypes
from stitch.signatures.filters import SelectFilter, SelectFilterEntityTypes, SelectFilterEvents, SelectScopes
from stitch.signatures.judges import JudgeAnswer, JudgeAnswerSet, JudgePlan
from stitch.signatures.realizations import RealizeOperation
from stitch.signatures.replies import (
    Reference,
    StatementReading,
    StepReading,
    Synonym,
    ThemeName,
    TreeTask,
)
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
from stitch.signatures.windows import LabelWindow

__all__ = [
    "AnswerDebate", "AnswerFromMemory", "AnswerFromTree", "AnswerQuestion",
    "ExtendEventTypes", "InduceScope",
    "JudgeAnswer", "JudgeAnswerSet", "JudgePlan", "LabelWindow", "MendPathQuery", "ProposeTreeEdits",
    "RouteTreeRequest", "ScoreTreeNodes", "TreeTask", "VerifyTreeNodes", "MergeEntityTypes", "MergeEventTypes",
    "ExtractStatements", "NameThemes", "StatementReading", "ThemeName",
    "RealizeOperation", "Reference", "RewriteReferences", "SeedEntityTypes",
    "SeedEventTypes", "SelectEventTypes", "SelectFilter", "SelectFilterEntityTypes", "SelectFilterEvents",
    "SelectScopes", "StepReading", "SummarizeScope", "SummarizeStep", "Synonym",
]  # fmt: skip
