"""Search: what a question is about, which snippets answer it, and as much of them as a prompt has room for."""

from __future__ import annotations

from stitch.retrieve.constants import CONSTANTS, Constants
from stitch.retrieve.context.budget import Context, PieceCounter, TokenCounter, fit_context
from stitch.retrieve.context.outputs import shorten_long
from stitch.retrieve.intent import IntentRetriever, Inventories
from stitch.retrieve.question.local_filter import LocalFilterSelector
from stitch.retrieve.rank.explain import ExplainsRanks, FilterChange, WhyNot
from stitch.retrieve.rank.pool import Candidate, Pool, Scorer
from stitch.retrieve.rank.scorers import SCORERS
from stitch.retrieve.similar import DenseRetriever, HybridRetriever, LexicalRetriever

__all__ = [
    "CONSTANTS", "Candidate", "Constants", "Context", "DenseRetriever", "ExplainsRanks", "FilterChange",
    "HybridRetriever", "IntentRetriever", "Inventories", "LexicalRetriever", "LocalFilterSelector", "PieceCounter",
    "Pool", "SCORERS", "Scorer", "TokenCounter", "WhyNot", "fit_context",
    "shorten_long",
]  # fmt: skip
