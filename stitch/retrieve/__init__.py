"""Search: what a question is about, which snippets answer it, and as much of them as a prompt has room for."""

from __future__ import annotations

from stitch.retrieve.context.budget import Context, PieceCounter, TokenCounter, fit_context
from stitch.retrieve.intent import IntentRetriever, Inventories
from stitch.retrieve.question.local_filter import LocalFilterSelector
from stitch.retrieve.rank.explain import ExplainsRanks, FilterChange, WhyNot
from stitch.retrieve.similar import DenseRetriever, HybridRetriever, LexicalRetriever

__all__ = [
    "Context", "DenseRetriever", "ExplainsRanks", "FilterChange", "HybridRetriever", "IntentRetriever", "Inventories",
    "LexicalRetriever", "LocalFilterSelector", "PieceCounter", "TokenCounter", "WhyNot", "fit_context",
]  # fmt: skip
