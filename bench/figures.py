"""Figures as they leave a suite: rounded, with null and a reason for what was not scored, on standard output."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

from stitch.bench.metrics.scores import Mean, Score, Unscored

DIGITS = 6


class Figures(dict[str, Any]):
    """Figures of one table row; what was not scored is null, and `reasons` says why."""

    def __init__(self, **values: Score | Mean | int | None) -> None:
        super().__init__()
        self.reasons: dict[str, str] = {}
        for name, value in values.items():
            number, reason = _told(value)
            self[name] = round(number, DIGITS) if isinstance(number, float) else number
            if reason:
                self.reasons[name] = reason


def _told(value: Score | Mean | int | None) -> tuple[float | None, str]:
    """A figure, and why it is not scored, or not all of it."""
    if isinstance(value, Unscored):
        return None, value.reason
    if not isinstance(value, Mean):
        return value, ""
    if value.value is None:
        return None, ", ".join(value.reasons) or "nothing was scored"
    why = ", ".join(f"{reason} ({count})" for reason, count in value.reasons.items())
    every = value.scored + value.unscored
    return value.value, f"{value.unscored} of {every} are not scored: {why}" if value.unscored else ""


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
    Console(width=None if sys.stdout.isatty() else 200).print(table)


def shown(value: Any) -> str:
    """A figure as a person reads it: three digits, `-` for what was not scored."""
    if isinstance(value, float):
        return f"{value:.3f}" if abs(value) < 100 else f"{value:,.0f}"
    return "-" if value is None else str(value)
