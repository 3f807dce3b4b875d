"""How figures leave a suite: rounded, with null and a reason for what was not scored, on standard output."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

import click
import orjson

from stitch.bench.metrics.scores import Mean, Score, Unscored

DIGITS = 6


class Figures(dict[str, Any]):
    """Figures of one table row; what was not scored is null, and `reasons` says why."""

    def __init__(self, **values: Score | Mean | int | None) -> None:
        super().__init__()
        self.reasons: dict[str, str] = {}
        for name, value in values.items():
            self.put(name, value)

    def put(self, name: str, value: Score | Mean | int | None) -> None:
        """Add a figure."""
        if isinstance(value, Unscored):
            self[name] = None
            self.reasons[name] = value.reason
        elif isinstance(value, Mean):
            self[name] = None if value.value is None else round(value.value, DIGITS)
            if value.value is None:
                self.reasons[name] = ", ".join(value.reasons) or "nothing was scored"
            elif value.unscored:
                why = ", ".join(f"{reason} ({count})" for reason, count in value.reasons.items())
                self.reasons[name] = f"{value.unscored} of {value.scored + value.unscored} are not scored: {why}"
        else:
            self[name] = round(value, DIGITS) if isinstance(value, float) else value


def plain(figures: Mapping[str, float]) -> dict[str, float]:
    """Figures with whole numbers whole, and four digits of the others."""
    return {name: int(value) if value == int(value) else round(value, 4) for name, value in figures.items()}


def print_json(value: Mapping[str, Any]) -> None:
    """Print one JSON object to standard output."""
    click.echo(orjson.dumps(value, option=orjson.OPT_INDENT_2 | orjson.OPT_SERIALIZE_NUMPY).decode())


def print_table(rows: Mapping[str, Mapping[str, Any]], *, title: str, columns: list[str] | None = None) -> None:
    """Print figures as a table to standard output: one row a name, one column a figure."""
    from rich.console import Console
    from rich.table import Table

    columns = columns or list(dict.fromkeys(name for figures in rows.values() for name in figures))
    table = Table(title=title, title_justify="left", header_style="bold")
    table.add_column("")
    for column in columns:
        table.add_column(column.replace("_", " "), justify="right")  # a name of several words breaks between them
    for name, figures in rows.items():
        table.add_row(name, *(shown(figures.get(column)) for column in columns))
    width = None if sys.stdout.isatty() else 200
    Console(width=width).print(table)


def shown(value: Any) -> str:
    """A figure as a person reads it: three digits, `-` for what was not scored."""
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{value:.3f}" if abs(value) < 100 else f"{value:,.0f}"
    return str(value)


def print_decided_by(methods: Mapping[str, Mapping[str, Any] | None]) -> None:
    """Print for each method on which share of the questions labels decided, were weighed, or were absent."""
    for name, row in methods.items():
        if row and row["decided_by"]:
            shares = ", ".join(f"{way} {share:.3f}" for way, share in row["decided_by"].items())
            click.echo(f"{name}, ranked by: {shares}")
