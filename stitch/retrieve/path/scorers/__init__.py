"""Scorers: the likelihood that a node fulfils a condition in words."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from stitch.core.protocols import Embedder
from stitch.errors import SettingsError, require_extra
from stitch.retrieve.path.scorers.models import ExactScorer, model_scorer, nli_scorer, rated_scorer
from stitch.retrieve.path.scorers.protocol import Judgement, Passage, Scorer
from stitch.retrieve.path.scorers.similarity import SimilarityScorer, embedder_scorer, lexical_scorer, static_scorer

if TYPE_CHECKING:
    from stitch.lm import LanguageModel

SCORERS = ("static", "lexical", "exact", "minilm", "sentence-transformers", "nli", "model")
DEFAULT_SCORER = "static"

__all__ = [
    "DEFAULT_SCORER", "SCORERS", "ExactScorer", "Judgement", "Passage", "Scorer", "SimilarityScorer",
    "embedder_scorer", "lexical_scorer", "model_scorer", "rated_scorer", "scorer_named", "static_scorer",
]  # fmt: skip


def scorer_named(
    name: str,
    *,
    model: str | None = None,
    embedder: Embedder | None = None,
    language_model: LanguageModel | None = None,
) -> Scorer:
    """A scorer by its name.

    Args:
        name: One of `SCORERS`.
        model: Of `minilm`, `sentence-transformers` and `nli`, the folder or the name of the model.
        embedder: Of `sentence-transformers`, what to compare texts by where no model is named.
        language_model: Of `model`, who is asked.

    Raises:
        SettingsError: There is none of this name, or what it needs is missing.
    """
    plain: dict[str, Callable[[], Scorer]] = {
        "static": static_scorer,
        "lexical": lexical_scorer,
        "exact": ExactScorer,
    }
    if name in plain:
        return plain[name]()
    if name == "minilm":
        require_extra("neural", package="onnxruntime", needed_by="the scorer 'minilm'")
        from stitch.embed import MiniLMEmbedder

        return embedder_scorer(MiniLMEmbedder(model), name=name)
    if name == "sentence-transformers":
        return embedder_scorer(_embedder(model, embedder))
    if name == "nli":
        return nli_scorer(model)
    if name != "model":
        raise SettingsError(f"no scorer {name!r}", hint=f"there are {', '.join(SCORERS)}")
    if language_model is None:
        raise SettingsError("the scorer 'model' needs a language model", hint="set `model`, as in the settings")
    return model_scorer(language_model)


def _embedder(model: str | None, embedder: Embedder | None) -> Embedder:
    if model is not None:
        require_extra("sentence-transformers", package="sentence_transformers", needed_by="the scorer")
        from stitch.embed.sentence_transformer import SentenceTransformerEmbedder

        return SentenceTransformerEmbedder(model)
    if embedder is None:
        raise SettingsError(
            "the scorer 'sentence-transformers' needs a model", hint="name one: a folder, or a model of the hub"
        )
    return embedder
