"""Outcomes of requests, compared with gold."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from stitch.bench.trees.sets import Request

PARTS = ("exact", "semantic", "mixed", "version")
"""Of requests: see `Request.part`."""


class Outcome(NamedTuple):
    """The outcome of a request."""

    request: Request
    found: frozenset[str]
    milliseconds: float

    @property
    def precision(self) -> float:
        """The share of what was found that is right."""
        counted = self.found - self.request.may
        return len(counted & self.request.must) / len(counted) if counted else float(not self.request.must)

    @property
    def recall(self) -> float:
        """The share of what is right that was found."""
        return len(self.found & self.request.must) / len(self.request.must) if self.request.must else 1.0

    @property
    def f1(self) -> float:
        """Their harmonic mean."""
        together = self.precision + self.recall
        return 2 * self.precision * self.recall / together if together else 0.0

    @property
    def exact(self) -> bool:
        """Whether all that is right was found, and nothing that is wrong."""
        return self.request.must <= self.found <= self.request.must | self.request.may


def mean_of(values: Iterable[float]) -> float | None:
    """The mean, to four places; None of nothing."""
    kept = list(values)
    return round(sum(kept) / len(kept), 4) if kept else None
