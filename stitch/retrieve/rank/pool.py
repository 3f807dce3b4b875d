"""What scorers are, what they see, and how their numbers become a ranking."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol, TypeVar

from stitch.core import Label, LabelVocabulary, MemorySnippet, RankingRule, ScoredSnippet, SearchRequest, Selection
from stitch.core.ranking import add_up
from stitch.retrieve.constants import CONSTANTS, Constants
from stitch.retrieve.question.hints import Hints
from stitch.retrieve.question.reading import Question

T = TypeVar("T")


class Candidate(NamedTuple):
    """A snippet that may become a hit, as the store found it."""

    snippet: MemorySnippet
    matched: frozenset[Label]
    """The labels of the filter that it carries, in canonical form."""
    density: float
    similarity: float


@dataclass(frozen=True, kw_only=True)
class Pool:
    """A question with all that may become hits: what every scorer sees.

    Attributes:
        request: The question as it was asked.
        question: As it is read.
        hints: What it says of speakers, time and order.
        selection: The labels that were chosen for it, and by whom.
        labels: The same labels in canonical form.
        vocabulary: Merges under which labels are compared.
        candidates: In no order that a scorer may rely on.
        density_of: How much matched labels count in this search.
        sure: Whether labels were chosen or licensed, and not only hinted at.
        of_runs: Whether the candidates are steps of an agent's runs.
        constants: What counts how much.
    """

    request: SearchRequest
    question: Question
    hints: Hints
    selection: Selection
    labels: frozenset[Label]
    vocabulary: LabelVocabulary
    candidates: Sequence[Candidate]
    density_of: Callable[[frozenset[Label]], float]
    sure: bool = False
    of_runs: bool = False
    constants: Constants = CONSTANTS
    _made: dict[Callable[[Pool], Any], Any] = field(default_factory=dict, init=False, compare=False, repr=False)

    def once(self, make: Callable[[Pool], T]) -> T:
        """What `make` gives of this pool, made at the first call: scorers that need the same share it."""
        if make not in self._made:
            self._made[make] = make(self)
        made: T = self._made[make]
        return made


class Scorer(Protocol):
    """Says one thing of every candidate for a question: one part of its score."""

    def __call__(self, pool: Pool) -> Sequence[float] | None:
        """Return one finite number a candidate, in their order, more for better; None if the question gives no cause.

        The number of a candidate does not depend on the order of the candidates, nor on other scorers.
        """


def rank(pool: Pool, scorers: Mapping[str, Scorer], rule: RankingRule, *, k: int) -> list[ScoredSnippet]:
    """The first `k` candidates under a rule, best first, each with all its parts.

    Only scorers whose part the rule names are asked; a part without a scorer counts 0.
    """
    said: dict[str, Sequence[float]] = {}
    for name in rule.parts:
        numbers = scorers[name](pool) if name in scorers else None
        if numbers is not None:
            said[name] = numbers

    def total(names: Sequence[str]) -> Sequence[float]:
        columns = [said[name] for name in names if name in said]
        if len(columns) == 1:
            return columns[0]
        return [add_up(row) for row in zip(*columns, strict=True)] or [0.0] * len(pool.candidates)

    totals = [[-number for number in total(names)] for names in (*rule.tiers, rule.summed)]
    places = [
        (one.snippet.trajectory, one.snippet.position, one.snippet.step, n) for n, one in enumerate(pool.candidates)
    ]
    best = [row[-1][-1] for row in sorted(zip(*totals, places, strict=True))[:k]]
    parts = list(zip(*said.values(), strict=True)) if said else [()] * len(pool.candidates)
    hits = []
    for n in best:
        snippet, matched, _, _ = pool.candidates[n]
        hits.append(ScoredSnippet(snippet, matched, dict(zip(said, parts[n], strict=False)), -totals[-1][n]))
    return hits
