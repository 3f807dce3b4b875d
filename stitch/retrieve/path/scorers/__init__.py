"""Who decides how likely it is that a node fulfils a condition in words."""

from __future__ import annotations

from stitch.errors import SettingsError
from stitch.retrieve.path.scorers.exact import ExactScorer
from stitch.retrieve.path.scorers.protocol import Judgement, Passage, Scorer
from stitch.retrieve.path.scorers.similarity import SimilarityScorer, embedder_scorer, lexical_scorer, static_scorer

SCORERS = ("static", "lexical", "exact", "sentence-transformers", "nli", "model")

__all__ = [
    "SCORERS",
    "ExactScorer",
    "Judgement",
    "Passage",
    "Scorer",
    "SimilarityScorer",
    "embedder_scorer",
    "lexical_scorer",
    "scorer_named",
    "static_scorer",
]


def scorer_named(name: str, *, model: str | None = None) -> Scorer:
    """A scorer by its name.

    Args:
        name: One of `SCORERS`.
        model: Of `sentence-transformers` and `nli`, the path or name of the model.

    Raises:
        SettingsError: There is none of this name, or what it needs is missing.
    """
    if name == "static":
        return static_scorer()
    if name == "lexical":
        return lexical_scorer()
    if name == "exact":
        return ExactScorer()
    raise SettingsError(f"no scorer {name!r}", hint=f"there are {', '.join(SCORERS)}")
