"""`stitch bench results`: a page of the tables a reader asks for first, and every figure as data beside it."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from textwrap import fill
from typing import Any

import click

from stitch.bench.figures import shown
from stitch.bench.metrics.evidence import BUDGETS
from stitch.bench.metrics.scores import Interval
from stitch.bench.registry import METHODS
from stitch.bench.runs import Run, price, read_run

_ABOUT = """\
Written by `stitch bench results` from run folders; do not edit. {models} Every method has the same token budget;
`full-context` alone reads 128,000 tokens. `recall@10` is the share of the evidence among the first ten steps,
`budget_recall` the share of which something stands in the context as a reader has it. `answer_in_context` is the share
of the gold items that stand literally in the context inside the budget. Brackets are 95 % bootstrap intervals over
questions. Every figure stands in `results/figures.csv` beside this page."""

_SETS = "What was run: the budget is in tokens, and notes say what was left out or repaired."

_ANSWERED = """\
Macro averages over the questions that were scored, by the judge of the run; what could not be answered or judged is
counted beside them, and asked for again by the run's command. Calls, tokens and dollars are those of answers and
verdicts."""

_HELP = "`stitch` minus another method, question by question, on the measure that matters most for the set."

_EVERY = """\
The measure of the first table, then the share of the steps shown inside the budget that are evidence (a dash where a
context is judged by what it says), and the tokens that the context takes (median). `stitch-unlabeled` is the same
memory without labels, `stitch-gold` has gold labels, `oracle` is the evidence itself."""


def render(runs: Sequence[Run], *, parts: Sequence[str] = ()) -> str:
    """The Markdown page of some runs, with further parts as they are."""
    told = "; ".join(
        f"`{run.set}`: {', '.join(f'{w} by {m}' for w, m in run.models.items())}" for run in runs if run.models
    )
    said = f"Language models took part in {told}." if told else "No language model took part; labels are local."
    lines = ["# Results", "", fill(_ABOUT.format(models=said), width=120)]
    sets = "set | questions | trajectories | steps | budget | tokenizer | labels | command | notes"
    answers = "set | method | precision | recall | F1 | scored | unscored | calls | tokens | US$"
    helps = "set | measure | stitch | − stitch-unlabeled | − bm25 | − hybrid | labels"
    methods = [name for name in METHODS if any(name in run.records for run in runs)]
    for title, about, head, rows in (
        ("Answers", _ANSWERED, answers, list(_answers(runs))),
        ("Do labels help?", _HELP, helps, list(_differences(runs))),
        ("Every method", _EVERY, " | ".join(["set", *(f"`{name}`" for name in methods)]), _every_method(runs, methods)),
        ("Sets", _SETS, sets, list(_sets(runs))),
    ):
        if rows:
            rule = "|---" + "|---:" * head.count(" | ") + "|"
            lines += [
                "",
                f"## {title}",
                "",
                about,
                "",
                f"| {head} |",
                rule,
                *(f"| {' | '.join(row)} |" for row in rows),
            ]
            lines += _told_of(runs) if title == "Answers" else []
    for part in parts:
        lines += ["", part.strip()]
    return "\n".join(lines) + "\n"


def _answers(runs: Sequence[Run]) -> Iterator[list[str]]:
    """The answers of each method, where a model gave some."""
    for run in runs:
        for method in run.records if run.answered else ():
            row, own = run.rows[method], run.intervals[method]
            of_set = [own[name] for name in ("precision", "recall", "f1")] if run.suite == "came" else None
            cells = map(_mean, of_set or [None, None, own["accuracy"]])
            counts = (f"{row.get(name, 0):,}" for name in ("scored", "unscored", "model_calls", "model_tokens"))
            yield [run.set, f"`{method}`", *cells, *counts, price(row.get("model_cost_usd"))]


def _told_of(runs: Sequence[Run]) -> Iterator[str]:
    """The cost of labeling, and why some answers are not scored."""
    for run in runs:
        told = [f"Labels of `{run.set}`: {run.labeling}"] if run.labeling else []
        told += [f"Not scored in `{run.set}`: {run.not_scored}."] if run.answered and run.not_scored else []
        for each in told:
            yield from ("", fill(each, width=120))


def _differences(runs: Sequence[Run]) -> Iterator[list[str]]:
    """Where labels help, and where they do not."""
    for run in (run for run in runs if run.first == "stitch"):
        found = {row["b"]: row for row in run.differences if row["metric"] == run.main}
        if found:
            cells = [_difference(found.get(other)) for other in ("stitch-unlabeled", "bm25", "hybrid")]
            mine, verdict = _mean(run.intervals["stitch"][run.main]), _verdict(found.get("stitch-unlabeled"))
            yield [run.set, run.main, mine, *cells, verdict]


def _difference(row: Mapping[str, Any] | None) -> str:
    return f"{row['difference']:+.3f} [{row['low']:+.3f}, {row['high']:+.3f}]" if row else "-"


def _verdict(row: Mapping[str, Any] | None) -> str:
    if row is None:
        return "-"
    return "help" if row["low"] > 0 else "**hurt**" if row["high"] < 0 else "no difference shown"


def _mean(interval: Interval | None) -> str:
    return f"{interval.value:.3f}" if interval else "-"


def _every_method(runs: Sequence[Run], methods: Sequence[str]) -> list[list[str]]:
    def cell(run: Run, method: str) -> str:
        own, tokens = run.intervals[method], run.rows[method]["context_tokens_p50"]
        told = "-" if tokens is None else f"{tokens:,.0f}"
        return f"{_mean(own.get(run.main))} / {_mean(own.get('budget_precision'))} / {told}"

    return [[run.set, *(cell(run, method) if method in run.records else "-" for method in methods)] for run in runs]


def _sets(runs: Sequence[Run]) -> Iterator[list[str]]:
    for run in runs:
        own = run.manifest.settings
        counts = (f"{count:,}" for count in (len(run.questions), len(run.steps), sum(run.steps.values()),
                                             own.budget_tokens))  # fmt: skip
        command = f"`{run.manifest.command}`" if run.manifest.command else "-"
        yield [run.set, *counts, own.tokenizer, own.labels, command, "; ".join(run.manifest.notes) or "-"]


def figures(runs: Sequence[Run]) -> str:
    """All figures as CSV, one a line: of all questions, or of those of a type; an interval where there is one."""
    out = io.StringIO()
    rows = csv.writer(out, lineterminator="\n")
    rows.writerow(("set", "method", "measure", "type", "value", "low", "high"))
    for row in (row for run in runs for row in _of_run(run) if row[4] is not None):
        rows.writerow([*row[:4], *("" if value is None else shown(value).replace(",", "") for value in row[4:])])
    return out.getvalue()


def _of_run(run: Run) -> Iterable[tuple[Any, ...]]:
    for method, own in run.intervals.items():
        for measure, interval in own.items():
            yield (run.set, method, measure, "", *(interval or (None, None, None)))
        if run.suite == "retrieval":
            for budget, value in zip(BUDGETS, run.recall_by_budget(method), strict=True):
                yield (run.set, method, f"recall in {budget}", "", value, None, None)
        for name, value in run.rows[method].items():
            yield (run.set, method, name, "", value, None, None)
        for kind, row in run.by_type[method].items() if len(run.by_type[method]) > 1 else ():
            yield (run.set, method, run.main, kind, row[run.main], None, None)


@click.command()
@click.argument("runs", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="RUN...")
@click.option("--out", type=click.Path(path_type=Path, dir_okay=False), help="The file to write; else standard output.")
def command(runs: tuple[Path, ...], out: Path | None) -> None:
    """Write a page of the tables of run folders.

    Pages of Markdown (`.md`), for what other commands print, are put behind the tables as they are. With --out, every
    figure is written as CSV into `results/figures.csv` beside the page.

    \b
    Example:
      stitch bench results runs/locomo bench/results/trees.md --out bench/RESULTS.md
    """
    pages = [path.read_text(encoding="utf-8") for path in runs if path.suffix == ".md"]
    found = [read_run(path) for path in runs if path.suffix != ".md"]
    text = render(found, parts=pages)
    if out is None:
        click.echo(text, nl=False)
        return
    out.write_text(text, encoding="utf-8")
    folder = out.parent / "results"
    folder.mkdir(exist_ok=True)
    (folder / "figures.csv").write_text(figures(found), encoding="utf-8")
