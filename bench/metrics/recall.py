"""Evidence recall at k: |first k ∩ gold| / |gold|; and whether the first k hold all of it."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from stitch.bench.metrics.scores import Score, Unscored

NO_EVIDENCE = Unscored("no evidence is named")


def recall_at(ranking: Sequence[str], gold: Collection[str], *, k: int | None = None) -> Score:
    """The share of gold steps among the first `k` of the ranking (the whole ranking if None)."""
    wanted = set(gold)
    if not wanted:
        return NO_EVIDENCE
    return len(wanted.intersection(ranking[:k])) / len(wanted)


def precision_of(ranking: Sequence[str], gold: Collection[str]) -> Score:
    """The share of the ranking that is gold; 0 of an empty one."""
    wanted = set(gold)
    if not wanted:
        return NO_EVIDENCE
    return len(wanted.intersection(ranking)) / (len(ranking) or 1)


def all_at(ranking: Sequence[str], gold: Collection[str], *, k: int | None = None) -> Score:
    """1 if all gold steps are among the first `k`, else 0."""
    found = recall_at(ranking, gold, k=k)
    return found if isinstance(found, Unscored) else float(found == 1.0)
