"""Search: what a question is about, which snippets answer it, and as much of them as a prompt has room for."""

from __future__ import annotations

from stitch.retrieve.candidates import Pool
from stitch.retrieve.context.budget import Context, fit_context
from stitch.retrieve.context.outputs import shorten_long
from stitch.retrieve.explain import ExplainsRanks, FilterChange, WhyNot
from stitch.retrieve.features import FEATURES, Feature
from stitch.retrieve.intent import IntentRetriever
from stitch.retrieve.local_filter import LocalFilterSelector
from stitch.retrieve.similar import DenseRetriever, HybridRetriever, LexicalRetriever

__all__ = [
    "Context", "DenseRetriever", "ExplainsRanks", "FEATURES", "Feature", "FilterChange",
    "HybridRetriever", "IntentRetriever", "LexicalRetriever", "LocalFilterSelector", "Pool", "WhyNot",
    "fit_context", "shorten_long",
]  # fmt: skip
