"""Fit the constants of the search again, each by leaving sets out: `python -m stitch.bench.fit_ranking`.

    python -m stitch.bench.fit_ranking                                     # on generated trips and debates
    python -m stitch.bench.fit_ranking --data locomo --data sgd_interleaved --only time --only speaker
    python -m stitch.bench.fit_ranking --data locomo ... --only time --only speaker --rounds 2 --kept DIR

Each constant of `retrieve/constants.py` is set to nothing, half, and twice what it is, all others as they are. For each
set, the value is taken that does best on all *other* sets, and what it gives on this one is told beside what the value
in use gives. A constant is worth changing if most sets gain by what the others chose.

With `--rounds`, the weights that are added to similarity (`bench/weighed.py`) are chosen anew, for all sets, and for
each set by all others: beginning with every weight at nothing, steps are taken along one after the other, and again, as
long as the mean of the sets that choose gains. So a part that does nothing for them is off. The table that comes of it
says what each set has with the weights in use (shipped), with those that the others chose (left out), with those that
all choose, the interval of shipped less left out, and which weights of the others cost it most. What `--json` prints,
saved in a file, gives `stitch bench results` its columns. With `--kept` memories are kept for the next run.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import fields, replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import click

from stitch.bench.data.came import load_came
from stitch.bench.data.sets import load_questions
from stitch.bench.data.types import DataSet
from stitch.bench.figures import print_json, print_table
from stitch.bench.generate.generation import SIZES, Size, generate
from stitch.bench.generate.trajectory import write_release
from stitch.bench.metrics.paired import PairedDifference, compare_paired
from stitch.bench.searched import Searched, held, taken_in
from stitch.bench.weighed import WEIGHTS, WeighedSet, weighed
from stitch.errors import InputError
from stitch.retrieve.constants import CHOSEN_ON, CONSTANTS, Constants
from stitch.retrieve.themes import ThemeConstants

Table = TypeVar("Table", Constants, ThemeConstants)

Recalls = Mapping[str, Mapping[float, float]]
"""By set, the recall that each value of a constant gives."""


class Choice(NamedTuple):
    """What comes of a value that all sets but one chose, on the one that was left out."""

    left_out: str
    value: float
    recall: float
    in_use: float
    """The recall with the value in use."""


def values_of(name: str, table: Constants = CONSTANTS, *, finely: bool = False) -> list[float]:
    """What a constant is tried with, the value in a table first; finely, also with what lies between.

    What is nothing in a table is tried with parts of what is in use.
    """
    held: float = getattr(table, name)
    used: float = held or getattr(CONSTANTS, name)
    factors = (0.5, 0.75, 4 / 3, 2.0) if finely else (0.5, 2.0)
    if isinstance(used, int):
        tried: list[float] = [used, *(max(1, int(used * factor)) for factor in factors)]
    else:
        tried = [held, 0.0, *(float(f"{used * factor:.3g}") for factor in factors), *([] if held else [used])]
    return list(dict.fromkeys(tried))


def recalls(sets: Sequence[Searched], name: str) -> Recalls:
    """What each value of a constant gives on each set, all other constants as they are."""
    tables = {value: with_value(CONSTANTS, name, value) for value in values_of(name)}
    return {each.name: {value: each.recall(table) for value, table in tables.items()} for each in sets}


def with_value(table: Table, name: str, value: Any) -> Table:
    """A table with another value of one constant."""
    return replace(table, **{name: value})


def choose(found: Recalls, *, in_use: float) -> list[Choice]:
    """For each set, the value that does best on the mean of all others, and what it gives on this one.

    Of equals the value in use is chosen, or else the one that was tried first.
    """
    choices = []
    for left_out, own in found.items():
        others = [recall for name, recall in found.items() if name != left_out]
        best = max(own, key=lambda value: (sum(recall[value] for recall in others), value == in_use))
        choices.append(Choice(left_out, best, own[best], own[in_use]))
    return choices


def climb(
    start: Table,
    names: Sequence[str],
    goodness: Callable[[Table], float],
    *,
    rounds: int,
    values: Callable[[str, Table], Sequence[float]],
    least_gain: float,
) -> Table:
    """Steps along one constant of a table after the other, each to the value that is best, until none is better.

    Args:
        start: The table to begin with.
        names: Of its constants.
        goodness: Of a table; more is better.
        rounds: How often the constants are gone through.
        values: What a constant is tried with, the value in the table first; of equals it stays.
        least_gain: What is better by less says nothing, and changes nothing.
    """
    table, best = start, goodness(start)
    for _ in range(rounds):
        before = table
        for name in names:
            for value in values(name, table)[1:]:
                tried = with_value(table, name, value)
                if (good := goodness(tried)) > best + least_gain:
                    table, best = tried, good
        if table == before:
            break
    return table


class Fitted(NamedTuple):
    """What a set has before and after weights are fitted."""

    set: str
    questions: int
    left_out: float
    """With the weights that all other sets chose."""
    shipped: float
    """With those in use."""
    all_choose: float
    """With those that all sets chose."""
    over_left_out: PairedDifference
    """Those in use less those that the others chose."""
    missed: dict[str, float]
    """What each of the others' weights costs here that cost most: what the one in use in its place would give back."""
    chosen: dict[str, float]
    """In what the table that the others chose differs from the one in use."""


class Fit:
    """Sets with what each table of constants gives on them, each table measured once.

    Args:
        sets: The sets.
    """

    def __init__(self, sets: Sequence[WeighedSet]) -> None:
        self.sets = sets
        self._weights = [sorted(own.weights) for own in sets]
        self._known: dict[tuple[int, tuple[float, ...]], float] = {}

    def recall(self, table: Constants, number: int) -> float:
        """The recall on a set."""
        key = number, tuple(getattr(table, name) for name in self._weights[number])
        if key not in self._known:
            self._known[key] = self.sets[number].recall(table)
        return self._known[key]

    def choose(self, names: Sequence[str], *, rounds: int, left_out: int | None = None) -> Constants:
        """The constants that all sets choose, or all but one."""
        judging = [number for number in range(len(self.sets)) if number != left_out]

        def goodness(table: Constants) -> float:
            return sum(self.recall(table, number) for number in judging) / len(judging)

        return climb(
            replace(CONSTANTS, **dict.fromkeys(names, 0.0)),  # type: ignore[arg-type]
            names,
            goodness,
            rounds=rounds,
            values=partial(values_of, finely=True),
            least_gain=LEAST_GAIN,
        )

    def report(self, all_choose: Constants, left_out: Sequence[Constants]) -> Iterator[Fitted]:
        """What each set has, with one table for all and with the one that its others chose."""
        for number, (own, chosen_by_others) in enumerate(zip(self.sets, left_out, strict=True)):
            over_left_out = compare_paired(own.scores(CONSTANTS), own.scores(chosen_by_others))
            if not isinstance(over_left_out, PairedDifference):
                raise InputError(f"no question of {own.name} names its evidence", hint="leave this --data out")
            yield Fitted(
                set=own.name,
                questions=len(own.questions),
                left_out=self.recall(chosen_by_others, number),
                shipped=self.recall(CONSTANTS, number),
                all_choose=self.recall(all_choose, number),
                over_left_out=over_left_out,
                missed=self._missed(chosen_by_others, number),
                chosen=_told(chosen_by_others),
            )

    def _missed(self, table: Constants, number: int) -> dict[str, float]:
        held = self.recall(table, number)
        gains = {
            name: round(self.recall(with_value(table, name, getattr(CONSTANTS, name)), number) - held, 4)
            for name in _told(table)
        }
        most = sorted(gains, key=lambda name: (-gains[name], name))[:_MOST_MISSED]
        return {name: gains[name] for name in most if gains[name] > 0}


_MOST_MISSED = 3


LEAST_GAIN = 0.0003
"""A mean over sets that is higher by less says nothing: it is one question of a small set."""


def generated(seed: int, *, size: Size = SIZES["S"]) -> list[DataSet]:
    """A trip and a debate of our own generator."""
    sets = []
    for domain in ("travel", "debate"):
        with tempfile.TemporaryDirectory() as folder:
            made = generate(domain, size, seed=f"fit {seed}")
            write_release([made], Path(folder) / domain, manifest={"seed": seed})
            sets.append(load_came(Path(folder) / domain))
    return sets


def _constants(only: Sequence[str], *, of: Sequence[str]) -> list[str]:
    for name in only:
        if name not in of:
            raise InputError(f"no constant {name!r} is fitted so", hint=f"one of {', '.join(of)}")
    return list(only or of)


def _told(table: Constants) -> dict[str, float]:
    """In what a table differs from the one in use."""
    return {
        each.name: getattr(table, each.name)
        for each in fields(Constants)
        if getattr(table, each.name) != getattr(CONSTANTS, each.name)
    }


def _show_values(sets: Sequence[Searched], names: Sequence[str], *, as_json: bool) -> None:
    chosen_on = {field.name: field.metadata[CHOSEN_ON] for field in fields(Constants)}
    for name in names:
        used = float(getattr(CONSTANTS, name))
        found = recalls(sets, name)
        choices = choose(found, in_use=getattr(CONSTANTS, name))
        if as_json:
            left_out = [choice._asdict() for choice in choices]
            row = {"constant": name, "in_use": used, "chosen_on": chosen_on[name], "recall": found}
            click.echo(json.dumps({**row, "left_out": left_out}))
            continue
        click.echo(f"{name} = {used:g}, chosen on {chosen_on[name]}")
        for choice in choices:
            tried = ", ".join(f"{value:g}: {recall:.3f}" for value, recall in found[choice.left_out].items())
            click.echo(
                f"  {choice.left_out}: {choice.recall - choice.in_use:+.3f} with {choice.value:g},"
                f" which the others chose ({tried})"
            )


def _show_fit(sets: Sequence[WeighedSet], names: Sequence[str], *, rounds: int, as_json: bool) -> None:
    fit = Fit(sets)
    chosen = fit.choose(names, rounds=rounds)
    click.echo(f"stitch: all sets choose {_told(chosen)}", err=True)
    left_out = []
    for number, own in enumerate(sets):
        left_out.append(fit.choose(names, rounds=rounds, left_out=number))
        click.echo(f"stitch: without {own.name} they choose {_told(left_out[-1])}", err=True)
    rows = list(fit.report(chosen, left_out))
    if as_json:
        told = [{**row._asdict(), "over_left_out": row.over_left_out._asdict()} for row in rows]
        print_json({"weights": list(names), "all_choose": _told(chosen), "left_out": told})
        return
    shown = {row.set: {**row._asdict(), "over_left_out": row.over_left_out.difference} for row in rows}
    for row in shown.values():
        for name in ("set", "missed", "chosen"):
            del row[name]
    print_table(shown, title="Weights by leaving sets out")


@click.command()
@click.option("--data", "folders", multiple=True, type=click.Path(path_type=Path, exists=True, file_okay=False))
@click.option("--only", multiple=True, help="A constant, by its name in retrieve/constants.py; all by default.")
@click.option("--limit", type=click.IntRange(1), help="Use so many questions of a set.")
@click.option(
    "--rounds", type=click.IntRange(0), help="Choose the weights anew, going through them at most so many times."
)
@click.option("--kept", type=click.Path(path_type=Path, file_okay=False), help="Keep the memories in this folder.")
@click.option("--seed", type=int, default=0, show_default=True, help="Of what is generated where no data is named.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object a constant, or a set.")
def main(
    folders: Sequence[Path],
    only: Sequence[str],
    limit: int | None,
    rounds: int | None,
    kept: Path | None,
    seed: int,
    as_json: bool,
) -> None:
    """Tell of each constant of the search what other values would give, each set judged by what the others chose."""
    names = _constants(only, of=tuple(each.name for each in fields(Constants)) if rounds is None else WEIGHTS)
    sets = [load_questions(folder) for folder in folders] or generated(seed)
    if len({data.name for data in sets}) < max(2, len(sets)):
        raise InputError("fitting needs sets of at least two names", hint="give --data once for each set")
    if rounds is None:
        with ExitStack() as stack:
            searched = [stack.enter_context(taken_in(data.limited(limit), kept=kept)) for data in sets]
            _show_values(searched, names, as_json=as_json)
        return
    asked = []
    for data in sets:
        with held(data.limited(limit), kept=kept) as ingestor:
            asked.append(weighed(data.limited(limit), ingestor))
        click.echo(f"stitch: {data.name}, {len(asked[-1].questions)} questions", err=True)
    _show_fit(asked, names, rounds=rounds, as_json=as_json)


if __name__ == "__main__":
    main()
