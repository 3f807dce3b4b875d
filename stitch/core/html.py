"""Values as a notebook shows them: tables, and scopes as lanes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import NamedTuple

MOST_LANES = 40
"""Lanes of one drawing; of more, those that begin first."""

_WIDTH, _LANE, _NAME = 640, 18, 200
"""Pixels of a drawing, of the height of a lane, and of the names before the lanes."""


class Lane(NamedTuple):
    """A named line with stretches on it."""

    name: str
    spans: Sequence[tuple[int, int]]
    """First and last place of each."""


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table of plain texts."""
    head = "".join(f"<th>{escape(each)}</th>" for each in heads)
    body = "".join(
        "<tr>" + "".join(f'<td style="text-align:left">{escape(cell)}</td>' for cell in row) + "</tr>" for row in rows
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def lanes(drawn: Sequence[Lane]) -> str:
    """Lanes one below the other as an SVG, over the places from 0 to the last."""
    shown = sorted(drawn, key=lambda lane: lane.spans[0] if lane.spans else (0, 0))[:MOST_LANES]
    places = 1 + max((last for lane in shown for _, last in lane.spans), default=0)
    unit = (_WIDTH - _NAME) / places
    parts = []
    for number, lane in enumerate(shown):
        top = number * _LANE
        name = escape(lane.name)
        parts.append(
            f'<text x="{_NAME - 6}" y="{top + 13}" text-anchor="end" font-size="11">'
            f"{escape(_short(lane.name))}<title>{name}</title></text>"
        )
        for first, last in lane.spans:
            x, width = _NAME + first * unit, max(2.0, (last - first + 1) * unit - 1)
            parts.append(
                f'<rect x="{x:.1f}" y="{top + 3}" width="{width:.1f}" height="{_LANE - 6}" rx="2"'
                f' fill="hsl({number * 47 % 360},55%,55%)"><title>{name}: {first} to {last}</title></rect>'
            )
    height = len(shown) * _LANE
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{height}" fill="currentColor">'
        f"{''.join(parts)}</svg>"
    )


def _short(name: str, *, most: int = 30) -> str:
    return name if len(name) <= most else name[: most - 1] + "…"
