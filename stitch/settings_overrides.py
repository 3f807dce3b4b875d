"""Types of the settings that a caller may name: a type checker finds one that is misspelled.

Those of `stitch.config.Settings`, where each is explained; a test compares the two. None is as if it were not given.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from typing_extensions import TypedDict

if TYPE_CHECKING:
    from pydantic import SecretStr

    from stitch.config import ServeOptions
    from stitch.core import DensityCount, DspyLanguageModel, PromptModule, Ranking
    from stitch.core.retention import RetentionRule
    from stitch.store.connection import QdrantOptions


class GivenSettings(TypedDict, total=False):
    """The settings but for where the memory is and whose."""

    key: SecretStr | str | None
    labels: Literal["local", "model"] | None
    filter: Literal["auto", "local", "model"] | None
    filter_by_kind: bool | None
    retriever: str | None
    statements: Literal["local", "model"] | None
    relevance: Literal["words", "model"] | None
    k: int | None
    budget_tokens: int | None
    ranking: Ranking | Literal["auto", "strict", "weighed"] | None
    density: DensityCount | Literal["values", "kinds"] | None
    embedder: str | None
    embedder_model: str | None
    embedder_precision: Literal["int8"] | None
    embedder_threads: int | None
    vectors: Literal["with", "after"] | None
    embedder_url: str | None
    embedder_key: SecretStr | str | None
    embedder_dimension: int | None
    qdrant_key: SecretStr | str | None
    qdrant_timeout_s: float | None
    collection: str | None
    qdrant: QdrantOptions | Mapping[str, Any] | None
    server_payload: Literal["full", "minimal", "none", "readable"] | None
    journal: str | None
    workers: bool | None
    max_step_chars: int | None
    recall_log: int | None
    redact_secrets: bool | None
    redact: Literal["detect-secrets"] | Callable[[str], str] | None
    share: bool | None
    power_safe: bool | None
    retention: Sequence[RetentionRule | Mapping[str, Any]] | None
    model: str | None
    lm: DspyLanguageModel | None
    lm_cache: bool | None
    base_url: str | None
    model_key: SecretStr | str | None
    stepwise: bool | None
    asks: bool | None
    window: int | Literal["auto"] | None
    label_program: str | PromptModule | None
    filter_program: str | PromptModule | None
    answer_program: str | PromptModule | None
    path_program: str | PromptModule | None
    statement_program: str | PromptModule | None
    model_budget_tokens: int | None
    model_budget_usd: float | None
    price_prompt: float | None
    price_reply: float | None
    model_timeout_s: float | None
    model_retries: int | None
    model_concurrency: int | None
    offline: bool | None
    serve: ServeOptions | Mapping[str, Any] | None
