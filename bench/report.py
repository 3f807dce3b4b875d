"""`stitch bench report`: one HTML page of finished runs, to be read anywhere; `report.html` is its template."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from stitch.bench import scoring
from stitch.bench.figures import shown
from stitch.bench.metrics.evidence import BUDGETS
from stitch.bench.metrics.scores import Interval, scored
from stitch.bench.records import Answered, Record
from stitch.bench.runs import Run, read_run
from stitch.errors import require_extra
from stitch.retrieve.explain import in_words

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


QUESTIONS_SHOWN = 100
_STEPS_SHOWN = 10
_LONG_ID = 20

Table = dict[str, Any]
"""Arguments of the template's macro `table`."""


def render(runs: list[Run], *, questions: int = QUESTIONS_SHOWN) -> str:
    """The page of some runs; the same runs give the same page."""
    from jinja2 import Environment

    template = Path(__file__).with_name("report.html").read_text(encoding="utf-8")
    told = [
        {
            **{name: getattr(run, name) for name in ("manifest", "models", "questions", "answered", "labeling")},
            "title": f"{run.set} ({run.suite})",
            "tables": list(_tables(run)),
            "plots": list(_plots(run, salt=f"run{place}")),
            "differing": list(_differing(run, questions)),
        }
        for place, run in enumerate(runs)
    ]
    return Environment(autoescape=True, trim_blocks=True).from_string(template).render(runs=told, questions=questions)


def _tables(run: Run) -> Iterator[Table]:
    names = [name for name in run.measures if any(own[name] for own in run.intervals.values())]
    missing = ", ".join(name for name in run.measures if name not in names)
    yield _table(
        {method: {name: _interval(own[name]) for name in names} for method, own in run.intervals.items()},
        f"All methods.{f' Not scored, for want of a model: {missing}.' if missing else ''}",
    )
    below = f"Not scored, and asked for again by the command of the run: {run.not_scored}." if run.not_scored else ""
    costs = {method: {name: own for name, own in row.items() if own} for method, row in run.rows.items()}
    yield _table(costs, "Contexts, times and costs.") | {"below": below}
    if run.differences:
        head = ["pair", "measure", "difference", "95 % interval", "p", "questions"]
        yield {"head": head, "rows": [_pair(row) for row in run.differences], "caption": "Paired differences"}
    yield from _by_type(run)
    yield from _of_labels(run)


def _of_labels(run: Run) -> Iterator[Table]:
    for make, caption in (
        (scoring.diagnostics, "Labels selected for questions, against the gold steps (Appendix D)"),
        (scoring.selection_failures, "Labels of wrongly answered questions: share of question and kind (Appendix D.2)"),
    ):
        if made := {method: row for method, records in run.records.items() if (row := make(records))}:
            yield _table(made, caption)


def _by_type(run: Run) -> Iterator[Table]:
    counts = {name: row["questions"] for own in run.by_type.values() for name, row in own.items()}
    if len(counts) > 1:
        by_type = {
            method: {f"{name or 'none'} ({count})": own.get(name, {}).get(run.main) for name, count in counts.items()}
            for method, own in run.by_type.items()
        }
        yield _table(by_type, f"{run.main} by type", best=True)


def _pair(row: Mapping[str, Any]) -> list[Any]:
    mark = "good" if row["low"] > 0 else "bad" if row["high"] < 0 else "soft"
    between = f"[{row['low']:+.3f}, {row['high']:+.3f}]"
    difference = (f"{row['difference']:+.3f}", mark)
    return [f"{row['a']} − {row['b']}", row["metric"], difference, between, f"{row['p']:.4f}", str(row["pairs"])]


def _table(rows: Mapping[str, Mapping[str, Any]], caption: str, *, best: bool = False) -> Table:
    """A table of figures, one row a method; the row of `stitch` is set off, and the best figure of a column, if so."""
    head = list(dict.fromkeys(chain(*rows.values())))
    highest = {name: max((row.get(name) or 0.0 for row in rows.values()), default=0.0) for name in head if best}
    cells = [
        [method, *((shown(own.get(name)), "best" if own.get(name) == highest.get(name, ...) else "") for name in head)]
        for method, own in rows.items()
    ]
    return {"head": ["method", *head], "rows": cells, "caption": caption, "first": "stitch"}


def _interval(interval: Interval | None) -> str:
    return f"{interval.value:.3f} [{interval.low:.2f}, {interval.high:.2f}]" if interval else "-"


def _plots(run: Run, *, salt: str) -> Iterator[tuple[str, str]]:
    known = {method: interval for method, own in run.intervals.items() if (interval := own[run.main]) is not None}
    yield bars(known, x_label=run.main, salt=f"{salt}a"), f"{run.main} of every method, with 95 % intervals."
    recall = {method: run.recall_by_budget(method) for method in run.records}
    drawn = lines(recall, x=BUDGETS, x_label="budget (tokens)", y_label="evidence recall", salt=f"{salt}b")
    yield drawn, "Evidence recall in contexts of so many tokens."
    speeds = {method: (run.rows[method]["search_p50_ms"] or 0.0, own.value) for method, own in known.items()}
    drawn = scatter(speeds, x_label="search, median (ms)", y_label=run.main, salt=f"{salt}c")
    yield drawn, f"{run.main} against the time of a search, its context included."


def _differing(run: Run, limit: int) -> Iterator[dict[str, Any]]:
    """The questions on which the methods differ most, the first of them first."""
    by_question: dict[str, dict[str, Record]] = {}
    for method, records in run.records.items():
        for record in records:
            by_question.setdefault(record.question, {})[method] = record
    measure = run.measures[run.main]

    def spread(name: str) -> float:
        known = scored(measure(record) for method, record in by_question[name].items() if method != "oracle")
        return max(known) - min(known) if known else 0.0

    answers = ["answer", "verdict"] if run.answered else []
    head = ["method", run.main, *answers, "labels of the question", f"first {_STEPS_SHOWN} steps (gold in green)"]
    for name in sorted(by_question, key=lambda name: (-spread(name), name))[:limit]:
        own = by_question[name]
        yield {
            "one": next(iter(own.values())),
            "head": head,
            "rows": [_row(run, method, record) for method, record in own.items()],
        }


def _row(run: Run, method: str, record: Record) -> dict[str, Any]:
    score = scored([run.measures[run.main](record)])
    return {
        "method": method,
        "score": shown(score[0]) if score else "-",
        **_verdict(record.answered),
        "labels": [f"{kind}: {value}" for kind, values in (record.labels or {}).items() for value in values],
        "steps": [
            {
                # The end of a long id is what tells it from the others.
                "name": step if len(step) <= _LONG_ID else f"…{step[-_LONG_ID // 2 :]}",
                "gold": step in record.evidence,
                "why": in_words(record.parts[step]) if record.parts.get(step) else "",
                "matched": [value for values in record.matched.get(step, {}).values() for value in values],
            }
            for step in record.steps[:_STEPS_SHOWN]
        ],
    }


def _verdict(own: Answered | None) -> dict[str, str]:
    """The answer, and what the judge said of it and why; of one that is not scored, what went wrong."""
    if own is None:
        return {"answer": "-", "verdict": "-"}
    answer = "-" if own.answer is None else own.answer
    if own.correct is None:
        return {"answer": answer, "verdict": own.reason or "not judged"}
    slots = f" of {own.given} given" if own.given is not None else ""
    return {"answer": answer, "verdict": f"{own.correct} right{slots}", "reason": own.reason}


@click.command()
@click.argument("runs", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="RUN...")
@click.option("--out", type=click.Path(path_type=Path, dir_okay=False), default="report.html", show_default=True,
              help="The page to write.")  # fmt: skip
@click.option("--questions", type=click.IntRange(min=0), default=QUESTIONS_SHOWN, show_default=True,
              help="How many questions of a run can be looked into.")  # fmt: skip
def command(runs: tuple[Path, ...], out: Path, questions: int) -> None:
    """Write one HTML page of finished runs; a run is the folder given with --out.

    \b
    Example:
      stitch bench retrieval --data locomo --methods all --out runs/locomo
      stitch bench report runs/locomo --out locomo.html
    """
    for package in ("matplotlib", "jinja2"):
        require_extra("bench", package=package, needed_by="`stitch bench report`")
    html = render([read_run(folder) for folder in runs], questions=questions)
    out.write_text(html, encoding="utf-8")
    click.echo(f"stitch: {out} ({len(html) // 1024} KB)", err=True)
