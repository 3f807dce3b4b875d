"""Fit the constants of the lens of themes, by leaving sets out: `python -m stitch.bench.fit_themes --data SET ...`.

Each constant of `retrieve/themes/constants.py` is set to nothing, half, and twice what it is, all others as they are.
For each set, the value is taken that does best on all *other* sets, and what it gives on this one is told beside what
the value in use gives. What counts is the share of the evidence inside 512, 1,024, 2,048 and 4,096 tokens, on average.

With `--rounds`, steps are taken along one constant after the other, and again: once for all sets, and once for each set
by all others. The table that comes of it says what each set has with the constants in use, with those that the others
chose (left out), and with those that all chose (shipped).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

from stitch.bench.data.sets import load_questions
from stitch.bench.data.types import DataSet, Question
from stitch.bench.fit_ranking import Choice, choose, climb, with_value
from stitch.bench.metrics.budget_recall import BUDGETS, within_budget
from stitch.bench.metrics.recall import recall_at
from stitch.bench.metrics.scores import mean
from stitch.bench.searched import held, tenants_of
from stitch.core import RetrievalResult, SearchRequest
from stitch.errors import InputError
from stitch.retrieve.constants import CHOSEN_ON
from stitch.retrieve.context.deep import search_deep
from stitch.retrieve.question.form import form_of
from stitch.retrieve.themes import THEME_CONSTANTS, ThemeConstants, ThemesRetriever

if TYPE_CHECKING:
    from stitch.core import Hierarchy
    from stitch.retrieve import IntentRetriever
    from stitch.retrieve.themes.retriever import Hierarchies

_RANKED = ("pool", "least_pool", "tokens_a_step", "least_read_tokens")
FITTED = tuple(
    field.name
    for field in fields(ThemeConstants)
    if field.name not in ("head_share", "episodes", "in_vain_at_most", "least_gain", *_RANKED)
)
"""The constants of the choice; those of Stage II are of use with a gate alone, and those of the pool say how much is
ranked."""

LEAST_GAIN = 0.0005
"""A mean over sets that is higher by less says nothing."""


def values_of(name: str, table: ThemeConstants = THEME_CONSTANTS) -> list[float]:
    """What a constant is tried with, the value in a table first."""
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


class ThemedSet:
    """A set whose questions are answered with one table of constants after the other.

    Args:
        name: Of the set.
        lens: Answers.
        asked: Its questions, ranked.
        hierarchies: Of the tenants.
    """

    def __init__(self, name: str, *, lens: ThemesRetriever, asked: Sequence[Asked], hierarchies: Hierarchies) -> None:
        self.name, self.asked = name, asked
        self._lens, self._hierarchies = lens, hierarchies
        self._known: dict[ThemeConstants, float] = {}

    def answer(self, asked: Asked) -> RetrievalResult:
        """What the lens answers with the constants in use."""
        return self._lens.answer(asked.request, asked.ranked)

    def hierarchy_of(self, asked: Asked) -> Hierarchy:
        """The hierarchy in which a question is answered."""
        return self._hierarchies(asked.request.tenant)

    def recall(self, table: ThemeConstants) -> float:
        """The share of the evidence inside the budgets, on average over these and the questions."""
        if table not in self._known:
            lens = self._lens.with_constants(table)
            found = (_recall(lens.answer(each.request, each.ranked), each.question) for each in self.asked)
            self._known[table] = sum(found) / len(self.asked)
        return self._known[table]


def _recall(result: RetrievalResult, question: Question) -> float:
    tokens = {str(place): piece.tokens for place, piece in enumerate(result.pieces)}
    found = 0.0
    for budget in BUDGETS:
        kept = within_budget(list(tokens), tokens, budget=budget)
        shown = list(dict.fromkeys(step for place in kept for step in result.pieces[int(place)].steps))
        found += mean([recall_at(shown, question.evidence)]).value or 0.0
    return found / len(BUDGETS)


@contextmanager
def themed(data: DataSet, *, kept: Path | None = None) -> Iterator[ThemedSet]:
    """A set in a memory of its own, each trajectory a tenant's; in a folder where it is kept it is found again.

    Raises:
        InputError: No question names its evidence.
    """
    from stitch.embed import LexicalEncoder
    from stitch.retrieve import IntentRetriever, LocalFilterSelector, PieceCounter
    from stitch.themes import TenantThemes

    questions = [each for each in data.questions if each.evidence]
    if not questions:
        raise InputError(f"no question of {data.name} names its evidence", hint="leave this --data out")
    with held(data, kept=kept) as ingestor:
        themes = TenantThemes(journal=ingestor.journal, embedder=ingestor.embedder)
        counter = PieceCounter()
        steps = IntentRetriever(
            store=ingestor.store,
            selector=LocalFilterSelector(),
            embedder=ingestor.embedder,
            lexical=LexicalEncoder(),
            inventories=ingestor.inventory,
            counter=counter,
        )
        lens = ThemesRetriever(
            steps=steps, store=ingestor.store, embedder=ingestor.embedder, counter=counter, hierarchies=themes.of
        )
        tenants = {each.id: tenant for tenant, each in tenants_of(data)}
        yield ThemedSet(
            data.name,
            lens=lens,
            asked=[_ranked(each, steps, tenants[each.trajectory]) for each in questions],
            hierarchies=themes.of,
        )


def _ranked(question: Question, steps: IntentRetriever, tenant: str) -> Asked:
    request = SearchRequest(
        tenant=tenant,
        query=question.text,
        trajectory=question.trajectory,
        asked_at=question.asked_at,
        budget_tokens=max(BUDGETS),
    )
    depth = THEME_CONSTANTS.depth(form_of(question.text), budget_tokens=request.budget_tokens)
    return Asked(question, request, search_deep(steps, request, k=depth)[0])


def recalls(sets: Sequence[ThemedSet], name: str) -> Mapping[str, Mapping[float, float]]:
    """What each value of a constant gives on each set, all other constants as they are."""
    tables = {value: with_value(THEME_CONSTANTS, name, value) for value in values_of(name)}
    return {each.name: {value: each.recall(table) for value, table in tables.items()} for each in sets}


class Fitted(NamedTuple):
    """What a set has before and after constants are fitted."""

    name: str
    in_use: float
    left_out: float
    """With the constants that all other sets chose."""
    shipped: float
    """With those that all sets chose."""


def fitted(sets: Sequence[ThemedSet], names: Sequence[str], *, rounds: int) -> Iterator[tuple[str, ThemeConstants]]:
    """The constants that all sets choose, under an empty name, then those that all but each one choose, under its."""

    def chosen(judging: Sequence[ThemedSet]) -> ThemeConstants:
        return climb(
            THEME_CONSTANTS,
            names,
            lambda table: sum(each.recall(table) for each in judging) / len(judging),
            rounds=rounds,
            values=values_of,
            least_gain=LEAST_GAIN,
        )

    yield "", chosen(sets)
    for own in sets:
        yield own.name, chosen([each for each in sets if each is not own])


def _told(table: ThemeConstants) -> dict[str, float]:
    """In what a table differs from the one in use."""
    used = {each.name: getattr(THEME_CONSTANTS, each.name) for each in fields(ThemeConstants)}
    return {name: getattr(table, name) for name, value in used.items() if getattr(table, name) != value}


def _show_values(sets: Sequence[ThemedSet], names: Sequence[str], *, as_json: bool) -> None:
    chosen_on = {field.name: field.metadata[CHOSEN_ON] for field in fields(ThemeConstants)}
    for name in names:
        found = recalls(sets, name)
        choices = choose(found, in_use=getattr(THEME_CONSTANTS, name))
        if as_json:
            left_out = [choice._asdict() for choice in choices]
            click.echo(json.dumps({"constant": name, "recall": found, "left_out": left_out}))
            continue
        click.echo(f"{name} = {getattr(THEME_CONSTANTS, name):g}, chosen on {chosen_on[name]}")
        for choice in choices:
            click.echo(_row(choice, found[choice.left_out]))


def _row(choice: Choice, found: Mapping[float, float]) -> str:
    tried = ", ".join(f"{value:g}: {recall:.3f}" for value, recall in found.items())
    return (
        f"  {choice.left_out}: {choice.recall - choice.in_use:+.3f} with {choice.value:g},"
        f" which the others chose ({tried})"
    )


def _show_fit(sets: Sequence[ThemedSet], names: Sequence[str], *, rounds: int, as_json: bool) -> None:
    chosen = dict(fitted(sets, names, rounds=rounds))
    for name, table in chosen.items():
        click.echo(json.dumps({"left_out": name, "chosen": _told(table)} if name else {"shipped": _told(table)}))
    rows = [
        Fitted(each.name, each.recall(THEME_CONSTANTS), each.recall(chosen[each.name]), each.recall(chosen[""]))
        for each in sets
    ]
    if as_json:
        for row in rows:
            click.echo(json.dumps(row._asdict()))
        return
    click.echo("\n| set | in use | left out | shipped |\n|---|---:|---:|---:|")
    for row in rows:
        click.echo(f"| {row.name} | {row.in_use:.3f} | {row.left_out:.3f} | {row.shipped:.3f} |")


@click.command()
@click.option("--data", "folders", multiple=True, required=True,
              type=click.Path(path_type=Path, exists=True, file_okay=False), help="A set; at least two.")  # fmt: skip
@click.option("--only", multiple=True, help="A constant, by its name in retrieve/themes/constants.py; all by default.")
@click.option("--limit", type=click.IntRange(1), help="Use so many questions of a set, spread over their types.")
@click.option("--rounds", type=click.IntRange(1), help="Step along the constants so many times.")
@click.option("--kept", type=click.Path(path_type=Path, file_okay=False), help="Keep the memories in this folder.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object a constant, or a set.")
def main(
    folders: Sequence[Path],
    only: Sequence[str],
    limit: int | None,
    rounds: int | None,
    kept: Path | None,
    as_json: bool,
) -> None:
    """Tell of each constant of the lens of themes what other values give, each set judged by what others chose."""
    for name in only:
        if name not in FITTED:
            raise InputError(f"no constant {name!r}", hint=f"one of {', '.join(FITTED)}")
    sets = [load_questions(folder) for folder in folders]
    if len({data.name for data in sets}) < max(2, len(sets)):
        raise InputError("fitting needs sets of at least two names", hint="give --data once for each set")
    with ExitStack() as stack:
        asked = [stack.enter_context(themed(data.limited(limit), kept=kept)) for data in sets]
        names = list(only) or list(FITTED)
        if rounds is None:
            _show_values(asked, names, as_json=as_json)
        else:
            _show_fit(asked, names, rounds=rounds, as_json=as_json)


if __name__ == "__main__":
    main()
