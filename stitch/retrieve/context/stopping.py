"""Early stopping: a context may end before its budget does."""

from __future__ import annotations

from collections.abc import Sequence

from stitch.core import ScoredSnippet

STOPPED = "stop"
"""What is said of a context that ended, in the trace of its answer."""


def leading(hits: Sequence[ScoredSnippet], *, share: float) -> tuple[ScoredSnippet, ...]:
    """The hits, in their order, whose score is at least this share of the best one's; all if none is above 0."""
    least = share * max((hit.score for hit in hits), default=0.0)
    return tuple(hit for hit in hits if hit.score >= least) if least > 0 else tuple(hits)


def densest(hits: Sequence[ScoredSnippet]) -> tuple[ScoredSnippet, ...]:
    """The hits, in their order, with the best density or one label less, and with one at least; all if none has any."""
    least = max(1.0, max((hit.density for hit in hits), default=0.0) - 1.0)
    return tuple(hit for hit in hits if hit.density >= least) or tuple(hits)
