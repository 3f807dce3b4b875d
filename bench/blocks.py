"""What a method shows of a question, as blocks: what covers the answer, and how dense evidence is (xMemory §5.2).

A block is a text that the method shows: a step, or less. The words of the gold answer are looked for in it; a question
whose answer is not covered counts for neither figure, and the share of covered ones is told beside them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import mean
from typing import Any, NamedTuple

from stitch.bench.figures import Figures
from stitch.bench.metrics.coverage import coverage
from stitch.bench.metrics.evidence_density import evidence_density
from stitch.bench.metrics.scores import Unscored
from stitch.bench.records import Record
from stitch.core import Trajectory, with_calls

DENSE_TOKENS = 1024
"""Density is that of the blocks inside so many tokens."""


class Blocks(NamedTuple):
    """What a method shows, best first."""

    texts: tuple[str, ...]
    tokens: tuple[int, ...]

    def inside(self, budget: int) -> list[str]:
        """Those that fit a budget; one that does not fit what is left is passed over."""
        kept = []
        for text, cost in zip(self.texts, self.tokens, strict=True):
            if cost <= budget:
                budget -= cost
                kept.append(text)
        return kept


def step_texts(trajectory: Trajectory) -> dict[str, str]:
    """What each step says, by id."""
    return {str(step.id): with_calls(step.content, step.tool_calls) for step in trajectory.steps}


def measure_blocks(answer: str | None, blocks: Blocks) -> dict[str, Any]:
    """The fields of a record that tell of blocks; empty without an answer."""
    if answer is None:
        return {}
    covered = coverage(answer, blocks.texts, tokens=blocks.tokens)
    dense = evidence_density(answer, blocks.inside(DENSE_TOKENS))
    return {
        "covers": None if isinstance(covered, Unscored) else tuple(covered),
        "density": None if isinstance(dense, Unscored) else tuple(dense),
    }


def block_figures(records: Sequence[Record]) -> Mapping[str, float | None]:
    """Blocks and tokens that cover the answer, the share of answers that are, and the share of blocks with evidence."""
    row = Figures()
    asked = [record for record in records if record.density is not None]
    covered = [record.covers for record in asked if record.covers is not None]
    nothing = Unscored("no answer has words of its own") if not asked else Unscored("no answer is covered")
    row.put("covered", len(covered) / len(asked) if asked else nothing)
    row.put("cover_blocks", mean(blocks for blocks, _ in covered) if covered else nothing)
    row.put("cover_tokens", mean(tokens for _, tokens in covered) if covered else nothing)
    for place, name in enumerate(("one_hit", "two_hit", "multi_hit")):
        row.put(name, mean(record.density[place] for record in asked if record.density) if asked else nothing)
    return dict(row)
