"""Plots as SVG for a page: drawn by matplotlib, in colors that hold on light and on dark ground."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from stitch.bench.metrics.paired import Interval

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_INK = "#010203"
"""Stands for the text color of the page, which replaces it in the SVG."""
_COLORS = {
    "stitch": "#d1495b", "stitch-gold": "#c89b1d", "stitch-unlabeled": "#e08a96", "bm25": "#3f7cac", "dense": "#2a9d8f",
    "hybrid": "#8d6cab", "full-context": "#8a8a8a", "recent": "#a0a0a0", "oracle": "#6b8e23",
}  # fmt: skip
_STYLE = {
    "svg.fonttype": "none", "font.family": "sans-serif", "font.size": 9, "axes.spines.top": False,
    "axes.spines.right": False, "axes.grid": True, "grid.alpha": 0.25, "grid.color": "#888888",
    **dict.fromkeys(("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color"), _INK),
}  # fmt: skip


def _color_of(method: str) -> str:
    return _COLORS.get(method, "#9a9a9a")


def lines(series: Mapping[str, Sequence[float]], *, x: Sequence[float], x_label: str, y_label: str, salt: str) -> str:
    """One line a method over a logarithmic axis, named in a legend."""

    def draw(axes: Axes) -> None:
        for method, values in series.items():
            style = "o-" if method in _COLORS else "o:"
            axes.plot(x, values, style, color=_color_of(method), label=method, markersize=3, linewidth=1.6)
        axes.set_xscale("log", base=2)
        axes.set_xticks(list(x), [f"{int(tick):,}" for tick in x])
        axes.minorticks_off()

    return _svg(draw, salt=salt, xlabel=x_label, ylabel=y_label, ylim=(0, 1.02))


def scatter(points: Mapping[str, tuple[float, float]], *, x_label: str, y_label: str, salt: str) -> str:
    """One point a method, its name in a legend, over a logarithmic axis."""

    def draw(axes: Axes) -> None:
        for place, (method, (across, up)) in enumerate(points.items()):
            axes.scatter([across], [up], color=_color_of(method), marker="o^svDPX*"[place % 8], s=46, label=method)
        if all(across > 0 for across, _ in points.values()):
            axes.set_xscale("log")

    return _svg(draw, salt=salt, xlabel=x_label, ylabel=y_label, ylim=(0, 1.02))


def bars(values: Mapping[str, Interval], *, x_label: str, salt: str) -> str:
    """One bar a method with its interval, best first from above."""
    ordered = sorted(values.items(), key=lambda item: item[1].value)

    def draw(axes: Axes) -> None:
        for place, (method, own) in enumerate(ordered):
            axes.barh(place, own.value, color=_color_of(method), height=0.66)
            axes.plot([own.low, own.high], [place, place], color=_INK, linewidth=1.1)
        axes.set_yticks(range(len(ordered)), [method for method, _ in ordered])
        axes.grid(visible=False, axis="y")

    return _svg(draw, salt=salt, height=0.6 + 0.27 * len(ordered), legend=False, xlabel=x_label, xlim=(0, 1.02))


def _svg(draw: Callable[[Axes], None], *, salt: str, height: float = 3.4, legend: bool = True, **axes_set: Any) -> str:
    import matplotlib as mpl

    with mpl.rc_context({**_STYLE, "svg.hashsalt": salt}):
        from matplotlib.figure import Figure

        figure, out = Figure(figsize=(7.0 if legend else 6.2, height), layout="constrained"), io.StringIO()
        axes = figure.subplots()
        draw(axes)
        axes.set(**axes_set)
        if legend:
            axes.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), frameon=False, labelcolor=_INK)
        figure.savefig(out, format="svg", transparent=True, metadata={"Date": None})
    svg = re.sub(r"<metadata>.*?</metadata>", "", out.getvalue(), flags=re.DOTALL).replace(_INK, "currentColor")
    head, rest = svg[svg.index("<svg") :].split(">", 1)
    # The size of the drawing is that of its place on the page.
    return re.sub(r' (?:width|height)="[^"]*"', "", head) + ">" + rest
