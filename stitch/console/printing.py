"""What commands print: text on one line, JSON, and the scopes of a trajectory as lanes over its steps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click
import orjson

from stitch.api.listing_models import ScopeSpans
from stitch.core import ScopeSummary

_COLORS = ("cyan", "magenta", "yellow", "green", "blue", "red")
_NAME_WIDTH = 28


def one_line(text: str, *, limit: int = 140) -> str:
    """The beginning of a text on one line, for a person: blanks are single, other control characters are gone."""
    line = " ".join("".join(mark if mark.isprintable() else " " for mark in text).split())
    return line if len(line) <= limit else line[: limit - 1] + "…"


def print_json(value: Any) -> None:
    """Print one JSON object to standard output."""
    click.echo(orjson.dumps(value, option=orjson.OPT_INDENT_2 | orjson.OPT_SERIALIZE_NUMPY).decode())


def draw_lanes(scopes: Sequence[ScopeSpans | ScopeSummary], *, length: int, width: int = 60) -> str:
    """Return one line a scope: its name, `━` where it is pursued, `·` while it waits to be resumed, and its spans."""
    width = min(width, max(length, 1))
    lines = []
    for number, scope in enumerate(sorted(scopes, key=lambda scope: scope.spans[0])):
        lane = [" "] * width
        first, last = scope.spans[0][0], scope.spans[-1][1]
        for column in range(_column(first, length, width), _column(last, length, width) + 1):
            lane[column] = "·"
        for start, end in scope.spans:
            for column in range(_column(start, length, width), _column(end, length, width) + 1):
                lane[column] = "━"
        name = one_line(scope.name, limit=_NAME_WIDTH)
        spans = ", ".join(f"{start}-{end}" if end > start else f"{start}" for start, end in scope.spans)
        lane_text = click.style("".join(lane), fg=_COLORS[number % len(_COLORS)])
        lines.append(f"  {name:<{_NAME_WIDTH}} {lane_text} {spans if len(spans) <= 40 else spans[:39] + '…'}")
    return "\n".join(lines)


def _column(position: int, length: int, width: int) -> int:
    return min(width - 1, position * width // max(length, 1))
