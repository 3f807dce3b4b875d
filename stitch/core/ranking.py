"""Label-density ranking: the definition (§2.3). Stores compute the same; tests compare them with this."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from enum import Enum
from typing import NamedTuple

from stitch.core.intent import ContextualIntent, IntentFilter, Label, LabelKind, LabelVocabulary
from stitch.core.snippets import MemorySnippet

_NO_MERGES = LabelVocabulary()


class DensityCount(str, Enum):
    """What density counts."""

    VALUES = "values"
    """Matched label values: the paper's "cardinality of their overlap"."""
    KINDS = "kinds"
    """Kinds of which at least one label matches: the authors' code."""


class ScoredSnippet(NamedTuple):
    """A snippet with the reason for its place in the ranking."""

    snippet: MemorySnippet
    density: float
    """Number of matched labels; with weights, their sum."""
    matched: frozenset[Label]
    """The labels of the filter that this snippet carries, in canonical form."""
    similarity: float


def match(
    intent: ContextualIntent, labels: frozenset[Label], vocabulary: LabelVocabulary = _NO_MERGES
) -> frozenset[Label]:
    """The labels of the filter that `intent` carries, after merges."""
    if not labels:
        return frozenset()
    return frozenset(map(vocabulary.canonical_label, intent.labels())) & labels


def density(
    matched: frozenset[Label],
    *,
    count: DensityCount = DensityCount.VALUES,
    weights: Mapping[Label, float] | None = None,
) -> float:
    """How much of the filter is matched.

    Args:
        matched: What `match` returned.
        count: Whether values or kinds are counted.
        weights: What each label counts, 1 where it is not named. Ignored for `DensityCount.KINDS`.
    """
    if count is DensityCount.KINDS:
        return float(len({label.kind for label in matched}))
    if weights is None:
        return float(len(matched))
    return math.fsum(weights.get(label, 1.0) for label in matched)  # a plain sum would depend on the order of the set


def rank_by_label_density(
    candidates: Iterable[tuple[MemorySnippet, float]],
    intent_filter: IntentFilter,
    *,
    vocabulary: LabelVocabulary = _NO_MERGES,
    count: DensityCount = DensityCount.VALUES,
    weights: Mapping[Label, float] | None = None,
    k: int | None = None,
) -> list[ScoredSnippet]:
    """Rank snippets strictly by how many labels they share with the filter, and only then by similarity.

    Ties of density and similarity are broken by trajectory, position and step, so the order is total.

    Args:
        candidates: Snippets with their similarity to the question.
        intent_filter: F_q. If it is empty, similarity alone decides.
        vocabulary: Merges under which labels are compared; labels of the filter are read through it too.
        count: Whether values or kinds are counted.
        weights: See `density`.
        k: How many to return; all if None.

    Returns:
        The ranking, best first. A snippet without any matched label stands below all that have one, and is not
        dropped: density is a priority, not a gate.
    """
    labels = frozenset(map(vocabulary.canonical_label, intent_filter.labels()))
    scored = []
    for snippet, similarity in candidates:
        matched = match(snippet.intent, labels, vocabulary)
        scored.append(ScoredSnippet(snippet, density(matched, count=count, weights=weights), matched, similarity))
    scored.sort(key=ranking_key)
    return scored if k is None else scored[:k]


def ranking_key(scored: ScoredSnippet) -> tuple[float, float, str, int, str]:
    """The sort key of the ranking: smaller is better."""
    snippet = scored.snippet
    return (-scored.density, -scored.similarity, snippet.trajectory, snippet.position, snippet.step)


def matched_by_kind(matched: Iterable[Label]) -> dict[str, list[str]]:
    """Matched labels as plain lists under `scope`, `event_type` and `entity_type` (and `target` if there is one)."""
    kinds: dict[str, list[str]] = {kind.value: [] for kind in LabelKind if kind is not LabelKind.TARGET}
    for label in sorted(matched):
        kinds.setdefault(label.kind.value, []).append(label.value)
    return kinds
