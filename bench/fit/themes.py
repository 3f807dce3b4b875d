"""The constants of the lens of themes, chosen by sets that are left out in turn.

What counts is the share of the evidence inside 512, 1,024, 2,048 and 4,096 tokens, on average. Steps are ranked once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import fields
from pathlib import Path
from typing import NamedTuple

import click

from stitch.bench.data.types import DataSet, Question
from stitch.bench.fit.constants import Problem, fit_constants, only
from stitch.bench.fit.memories import DATA, KEPT, LIMIT, held, load_sets, request_for, retriever_over, tenants_of
from stitch.bench.metrics.evidence import BUDGETS, recall_at, within_budget
from stitch.bench.metrics.scores import mean
from stitch.core import RetrievalResult, SearchRequest
from stitch.errors import InputError
from stitch.retrieve import PieceCounter
from stitch.retrieve.context.deep import search_deep
from stitch.retrieve.question.form import form_of
from stitch.retrieve.themes import THEME_CONSTANTS, ThemeConstants, ThemesRetriever

_OTHERS = ("pool", "least_pool", "tokens_a_step",
           "least_read_tokens")  # fmt: skip
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


class Asked(NamedTuple):
    """A question with the steps that were ranked for it, of which the lens reads."""

    question: Question
    request: SearchRequest
    ranked: RetrievalResult


@contextmanager
def themed(data: DataSet, *, kept: Path | None = None) -> Iterator[Callable[[ThemeConstants], float]]:
    """The recall of a set by a table of constants.

    Raises:
        InputError: No question names its evidence.
    """
    from stitch.themes import TenantThemes

    questions = [each for each in data.questions if each.evidence]
    if not questions:
        raise InputError(f"no question of {data.name} names its evidence", hint="leave this --data out")
    with held(data, kept=kept) as ingestor:
        steps = retriever_over(ingestor)
        lens = ThemesRetriever(
            steps=steps,
            store=ingestor.store,
            embedder=ingestor.embedder,
            counter=PieceCounter(),
            hierarchies=TenantThemes(journal=ingestor.journal, embedder=ingestor.embedder).of,
        )
        tenants, asked = tenants_of(data), []
        for question in questions:
            request = request_for(question, tenants, budget_tokens=max(BUDGETS))
            depth = THEME_CONSTANTS.depth(form_of(question.text), budget_tokens=max(BUDGETS))
            asked.append(Asked(question, request, search_deep(steps, request, k=depth)[0]))
        known: dict[ThemeConstants, float] = {}

        def recall(table: ThemeConstants) -> float:
            if table not in known:
                own = lens.with_constants(table)
                known[table] = sum(_recall(own.answer(a.request, a.ranked), a.question) for a in asked) / len(asked)
            return known[table]

        yield recall


def _recall(result: RetrievalResult, question: Question) -> float:
    tokens = {str(place): piece.tokens for place, piece in enumerate(result.pieces)}
    found = 0.0
    for budget in BUDGETS:
        kept = within_budget(list(tokens), tokens, budget=budget)
        shown = list(dict.fromkeys(step for place in kept for step in result.pieces[int(place)].steps))
        found += mean([recall_at(shown, question.evidence)]).value or 0.0
    return found / len(BUDGETS)


@click.command()
@DATA
@click.option("--only", "names", multiple=True, help="A constant, by its name in retrieve/themes/constants.py.")
@LIMIT
@click.option("--rounds", type=click.IntRange(1), default=2, show_default=True, help="Go through them so often.")
@KEPT
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(
    folders: Sequence[Path], names: Sequence[str], limit: int | None, rounds: int, kept: Path | None, as_json: bool
) -> None:
    """Choose the constants of the lens of themes anew, and tell what each set has by those that all others choose."""
    chosen = only(names, FITTED)
    with ExitStack() as stack:
        goodness = {data.name: stack.enter_context(themed(data, kept=kept)) for data in load_sets(folders, limit=limit)}
        problem = Problem(THEME_CONSTANTS, THEME_CONSTANTS, chosen, values_of, LEAST_GAIN, goodness)
        fit_constants(problem, rounds=rounds, as_json=as_json)
