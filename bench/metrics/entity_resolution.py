"""Entity resolution recall: the share of implicit references spelled out in the memory (Appendix B, Eq. 1).

ERR = Σ V(e_i, m_i) / |T_gold|, where V is 1 if the gold entity e_i of operation i stands in the text of snippet m_i,
after lower-casing and trimming blanks.
"""

from __future__ import annotations

from collections.abc import Iterable

from stitch.bench.metrics.scores import Mean, Unscored, mean

NO_SNIPPET = Unscored("no snippet")


def surfaces(entity: str, snippet: str) -> bool:
    """V(e, m): whether the entity's name stands in the snippet; blanks and letter case do not count."""
    name = " ".join(entity.lower().split())
    return bool(name) and name in " ".join(snippet.lower().split())


def entity_resolution_recall(operations: Iterable[tuple[str, str | None]]) -> Mean:
    """The share of operations whose entity is named in the snippet.

    Args:
        operations: Gold entity and text of the snippet for each operation; None where there is no snippet, which is
            unscored rather than wrong.
    """
    return mean(NO_SNIPPET if snippet is None else float(surfaces(entity, snippet)) for entity, snippet in operations)
