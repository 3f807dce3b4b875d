"""The constants of the lens of themes, chosen by sets that are left out in turn.

What counts is the share of the evidence inside 512, 1,024, 2,048 and 4,096 tokens, on average. Steps are ranked once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import fields
from functools import cache
from pathlib import Path

from stitch.bench.data.types import DataSet, Question
from stitch.bench.fit import held as sets
from stitch.bench.metrics.evidence import BUDGETS, recall_at, within_budget
from stitch.bench.metrics.scores import mean
from stitch.core import RetrievalResult
from stitch.errors import InputError
from stitch.retrieve import PieceCounter
from stitch.retrieve.context.deep import search_deep
from stitch.retrieve.question import form_of
from stitch.retrieve.themes import THEME_CONSTANTS, ThemeConstants, ThemesRetriever

_OTHERS = ("pool", "least_pool", "tokens_a_step", "least_read_tokens")
FITTED = tuple(field.name for field in fields(ThemeConstants) if field.name not in _OTHERS)
"""The constants of the choice of sentences; others say how much is ranked."""
LEAST_GAIN = 0.0005


def values_of(name: str, table: ThemeConstants) -> list[float]:
    """Values to try a constant with, the one in a table first."""
    used: float = getattr(table, name)
    if isinstance(used, int):
        return list(dict.fromkeys([used, max(1, used // 2), used * 2]))
    most = 1.0 if name.endswith("share") else float("inf")
    if name == "half_lexical" or name.endswith("_steps"):  # is divided by
        return [used, used / 2, used * 2]
    halved, doubled = float(f"{used / 2:.3g}"), float(f"{used * 2:.3g}")
    # Of a share that is more than a half, what is left over is halved.
    return list(dict.fromkeys([used, 0.0, halved, doubled if doubled < most else float(f"{(1 + used) / 2:.3g}")]))


@contextmanager
def themed(data: DataSet, kept: Path | None) -> Iterator[Callable[[ThemeConstants], float]]:
    """The recall of a set by a table of constants.

    Raises:
        InputError: No question names its evidence.
    """
    from stitch.themes import TenantThemes

    questions = [each for each in data.questions if each.evidence]
    if not questions:
        raise InputError(f"no question of {data.name} names its evidence", hint="leave this --data out")
    with sets.held(data, kept=kept) as ingestor:
        steps = sets.retriever_over(ingestor)
        lens = ThemesRetriever(
            steps=steps,
            store=ingestor.store,
            embedder=ingestor.embedder,
            counter=PieceCounter(),
            hierarchies=TenantThemes(journal=ingestor.journal, embedder=ingestor.embedder).of,
        )
        tenants, asked = sets.tenants_of(data), []
        for question in questions:
            request = sets.request_for(question, tenants, budget_tokens=max(BUDGETS))
            depth = THEME_CONSTANTS.depth(form_of(question.text), budget_tokens=max(BUDGETS))
            asked.append((question, request, search_deep(steps, request, k=depth)[0]))

        @cache
        def recall(table: ThemeConstants) -> float:
            own = lens.with_constants(table)
            return sum(_recall(own.answer(request, ranked), each) for each, request, ranked in asked) / len(asked)

        yield recall


def _recall(result: RetrievalResult, question: Question) -> float:
    tokens = {str(place): piece.tokens for place, piece in enumerate(result.pieces)}
    found = 0.0
    for budget in BUDGETS:
        kept = within_budget(list(tokens), tokens, budget=budget)
        shown = list(dict.fromkeys(step for place in kept for step in result.pieces[int(place)].steps))
        found += mean([recall_at(shown, question.evidence)]).value or 0.0
    return found / len(BUDGETS)


command = sets.constants_command(
    sets.Problem(THEME_CONSTANTS, False, FITTED, values_of, LEAST_GAIN),
    measured=themed,
    rounds=2,
    text="Choose the constants of the lens of themes anew, and tell what each set has by those that all others choose.",
)
