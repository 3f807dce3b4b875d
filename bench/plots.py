"""Plots as SVG for a page: drawn by matplotlib, in colors that hold on light and on dark ground."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_INK = "#010203"
"""Stands for the text color of the page, which replaces it in the SVG."""
_COLORS = {
    "stitch": "#d1495b",
    "stitch-gold": "#c89b1d",
    "stitch-unlabeled": "#e08a96",
    "bm25": "#3f7cac",
    "dense": "#2a9d8f",
    "hybrid": "#8d6cab",
    "full-context": "#8a8a8a",
    "recent": "#a0a0a0",
    "oracle": "#6b8e23",
}
_OTHER = "#9a9a9a"


def color_of(method: str) -> str:
    """The color of a method, the same in every plot."""
    return _COLORS.get(method, _OTHER)


def lines(series: Mapping[str, Sequence[float]], *, x: Sequence[float], x_label: str, y_label: str, salt: str) -> str:
    """One line a method over a logarithmic axis, named in a legend."""
    with _figure(salt, legend=True) as (figure, axes):
        for method, values in series.items():
            style = "-" if method in _COLORS else ":"
            axes.plot(x, values, style, color=color_of(method), label=method, marker="o", markersize=3, linewidth=1.6)
        axes.set_xscale("log", base=2)
        axes.set_xticks(list(x), [f"{int(tick):,}" for tick in x])
        axes.minorticks_off()
        axes.set_ylim(0, 1.02)
        axes.set_xlabel(x_label)
        axes.set_ylabel(y_label)
        axes.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), frameon=False, labelcolor=_INK)
        return _svg(figure)


def scatter(points: Mapping[str, tuple[float, float]], *, x_label: str, y_label: str, salt: str) -> str:
    """One point a method, its name in a legend, over a logarithmic axis."""
    with _figure(salt, legend=True) as (figure, axes):
        for place, (method, (across, up)) in enumerate(points.items()):
            marker = "o^svDPX*"[place % 8]
            axes.scatter([across], [up], color=color_of(method), marker=marker, s=46, label=method, zorder=3)
        if all(across > 0 for across, _ in points.values()):
            axes.set_xscale("log")
        axes.set_ylim(0, 1.02)
        axes.set_xlabel(x_label)
        axes.set_ylabel(y_label)
        axes.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), frameon=False, labelcolor=_INK)
        return _svg(figure)


def bars(values: Mapping[str, tuple[float, float, float]], *, x_label: str, salt: str) -> str:
    """One bar a method with its interval, best first from above."""
    ordered = sorted(values.items(), key=lambda item: item[1][0])
    with _figure(salt, height=0.6 + 0.27 * len(ordered)) as (figure, axes):
        for place, (method, (mean, low, high)) in enumerate(ordered):
            axes.barh(place, mean, color=color_of(method), height=0.66)
            axes.plot([low, high], [place, place], color=_INK, linewidth=1.1)
        axes.set_yticks(range(len(ordered)), [method for method, _ in ordered])
        axes.set_xlim(0, 1.02)
        axes.set_xlabel(x_label)
        axes.grid(visible=False, axis="y")
        return _svg(figure)


@contextmanager
def _figure(salt: str, *, height: float = 3.4, legend: bool = False) -> Iterator[tuple[Figure, Axes]]:
    import matplotlib as mpl

    settings = {
        "svg.fonttype": "none",
        "svg.hashsalt": salt,
        "font.family": "sans-serif",
        "font.size": 9,
        "text.color": _INK,
        "axes.labelcolor": _INK,
        "axes.edgecolor": _INK,
        "xtick.color": _INK,
        "ytick.color": _INK,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.grid": True,
        "grid.alpha": 0.25,
        "grid.color": "#888888",
    }
    with mpl.rc_context(settings):
        from matplotlib.figure import Figure as NewFigure

        figure = NewFigure(figsize=(7.0 if legend else 6.2, height), layout="constrained")
        yield figure, figure.subplots()


def _svg(figure: Figure) -> str:
    out = io.StringIO()
    figure.savefig(out, format="svg", transparent=True, metadata={"Date": None})
    svg = out.getvalue()
    svg = svg[svg.index("<svg") :].replace(_INK, "currentColor")
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    # The size of the drawing is that of its place on the page.
    return re.sub(
        r'(<svg[^>]*?) width="[^"]*"', r"\1", re.sub(r'(<svg[^>]*?) height="[^"]*"', r"\1", svg, count=1), count=1
    )
