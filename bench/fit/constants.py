"""Constants of a table chosen by sets that are left out in turn, one constant after the other as long as it helps."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any, NamedTuple, TypeVar

import click

from stitch.bench.figures import print_table
from stitch.errors import InputError

Table = TypeVar("Table", bound=Any)
"""A frozen dataclass of constants."""


class Problem(NamedTuple):
    """What is to be chosen, and how good a choice is."""

    in_use: Any
    """The table that ships."""
    start: Any
    """The table to begin with."""
    names: Sequence[str]
    """Of the constants that may change."""
    values: Callable[[str, Any], Sequence[Any]]
    """Values to try a constant with, the one in the table first; of equals it stays."""
    least_gain: float
    """What is better by less says nothing, and changes nothing."""
    goodness: Mapping[str, Callable[[Any], float]]
    """By set, how good a table is there; more is better."""


class Chosen(NamedTuple):
    """A set by the constants in use, by those that all others choose, and by those that all choose."""

    set: str
    shipped: float
    left_out: float
    all_choose: float


def climb(problem: Problem, judging: Sequence[str], *, rounds: int) -> Any:
    """The table that these sets choose: steps along one constant after the other, until none is better."""

    def mean(table: Any) -> float:
        return sum(problem.goodness[name](table) for name in judging) / len(judging)

    table, best = problem.start, mean(problem.start)
    for _ in range(rounds):
        before = table
        for name in problem.names:
            for value in problem.values(name, table)[1:]:
                tried = replace(table, **{name: value})
                if (good := mean(tried)) > best + problem.least_gain:
                    table, best = tried, good
        if table == before:
            break
    return table


def told(problem: Problem, table: Any) -> dict[str, Any]:
    """The constants in which a table differs from the one in use."""
    used = asdict(problem.in_use)
    return {name: value for name, value in asdict(table).items() if value != used[name]}


def only(names: Sequence[str], of: Sequence[str]) -> list[str]:
    """The constants that are named; all if none is.

    Raises:
        InputError: One of them is none of these.
    """
    for name in names:
        if name not in of:
            raise InputError(f"no constant {name!r} is fitted so", hint=f"one of {', '.join(of)}")
    return list(names or of)


def fit_constants(problem: Problem, *, rounds: int, as_json: bool) -> list[Chosen]:
    """Choose constants on all sets and on all but each one, and print what each set has by either."""
    sets = list(problem.goodness)
    every = climb(problem, sets, rounds=rounds)
    click.echo(f"stitch: all sets choose {told(problem, every)}", err=True)
    rows, tables = [], {}
    for name in sets:
        tables[name] = climb(problem, [other for other in sets if other != name], rounds=rounds)
        click.echo(f"stitch: without {name} they choose {told(problem, tables[name])}", err=True)
        good = problem.goodness[name]
        rows.append(Chosen(name, good(problem.in_use), good(tables[name]), good(every)))
    if as_json:
        left_out = [{**row._asdict(), "chosen": told(problem, tables[row.set])} for row in rows]
        click.echo(json.dumps({"all_choose": told(problem, every), "left_out": left_out}))
    else:
        columns = ("shipped", "left_out", "all_choose")
        print_table({row.set: {name: getattr(row, name) for name in columns} for row in rows}, title="Leaving sets out")
    return rows
