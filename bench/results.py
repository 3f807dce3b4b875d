"""`stitch bench results`: a page of the tables a reader asks for first, and every figure as data beside it."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from textwrap import fill
from typing import Any

import click

from stitch.bench.data.files import read_json
from stitch.bench.figures import shown
from stitch.bench.metrics.evidence import BUDGETS
from stitch.bench.metrics.paired import Interval
from stitch.bench.registry import METHODS
from stitch.bench.runs import Run, price, read_run
from stitch.bench.scoring import grouped
from stitch.errors import InputError

_COLUMNS = {
    "retrieval": ("recall@5", "recall@10", "recall@20", "all@10", "mrr", "ndcg@10", "budget_recall", "budget_precision",
                  "accuracy", "token_f1", "bleu_1", "rouge_l"),
    "came": ("answer_in_context", "evidence_recall", "precision", "recall", "f1"),
}  # fmt: skip
_COSTS = ("entity_resolution_recall", "context_tokens_p50", "search_p50_ms", "search_p95_ms", "answered",
          "scored", "unscored", "model_calls", "model_tokens", "model_cost_usd")  # fmt: skip
_OF_LABELS = (
    ("scope", "bcubed_f1"), ("scope", "bcubed_precision"), ("scope", "bcubed_recall"), ("scope", "switch_f1"),
    ("scope", "pk"), ("event_type", "v_measure"), ("event_type", "ari"), ("entity_type", "f1"),
)  # fmt: skip
_HEADS = {
    "sets": ("set", "suite", "command", "questions", "trajectories", "steps", "budget_tokens", "tokenizer", "labels",
             "notes"),
    "methods": ("set", "method", "measure", "value", "low", "high"),
    "types": ("set", "measure", "type", "method", "value"),
    "labels": ("set", "labels", "kind", "measure", "value"),
    "known": ("set", "asked", "own_words", "some_words"),
    "left_out": ("set", "left_out", "shipped", "all_choose"),
}  # fmt: skip
"""The columns of each file of figures."""
_SAVED = {"scope": "labels", "own_words": "known", "left_out": "left_out"}
"""The file of saved figures, by a field that tells them."""

Row = Sequence[str | int | float]
Saved = Sequence[Mapping[str, Any]]

_ABOUT = """\
Written by `stitch bench results` from run folders; do not edit. {models} Every method has the same token budget;
`full-context` alone reads 128,000 tokens. `recall@10` is the share of the evidence among the first ten steps,
`budget_recall` the share of which something stands in the context as a reader has it. `answer_in_context` is the share
of the gold items that stand literally in the context inside the budget. Brackets are 95 % bootstrap intervals over
questions. Every figure stands as CSV in `results/` beside this page."""

_ANSWERED = """\
Macro averages over the questions that were scored, by the judge of the run; what could not be answered or judged is
counted beside them, and asked for again by the run's command. Calls, tokens and dollars are those of answers and
verdicts."""

_HELP = """\
`stitch` minus another method, question by question, on the measure that matters most for the set. *Own words*: of 250
steps, the share that is among the first ten hits when asked for by its own first 40 words. *Left out*: recall@10 with
the weights of the search that all other sets choose, beginning with none, and *shipped*: with those in use."""

_EVERY = """\
The measure of the first table, then the share of the steps shown inside the budget that are evidence (a dash where a
context is judged by what it says), and the tokens that the context takes (median). `stitch-unlabeled` searches without
labels, `stitch-gold` has gold labels, `oracle` is the evidence itself."""


def render(runs: Sequence[Run], saved: Saved = (), *, parts: Sequence[str] = ()) -> str:
    """The Markdown page of some runs, and of saved figures, with further parts as they are."""
    told = "; ".join(
        f"`{run.set}`: {', '.join(f'{w} by {m}' for w, m in run.models.items())}" for run in runs if run.models
    )
    said = f"Language models took part in {told}." if told else "No language model took part; labels are local."
    lines = ["# Results", "", fill(_ABOUT.format(models=said), width=120)]
    answers = ("set", "method", "precision", "recall", "F1", "scored", "unscored", "calls", "tokens", "US$")
    helps = ("set", "measure", "left out", "shipped", "stitch", "− stitch-unlabeled", "− bm25", "− hybrid", "labels",
             "own words")  # fmt: skip
    methods = [name for name in METHODS if any(name in run.records for run in runs)]
    for title, about, head, rows in (
        ("Answers", _ANSWERED, answers, list(_answers(runs))),
        ("Do labels help?", _HELP, helps, list(_differences(runs, saved))),
        ("Every method", _EVERY, ("set", *(f"`{name}`" for name in methods)), list(_every_method(runs, methods))),
    ):
        if rows:
            lines += ["", f"## {title}", "", about, "", *_table(head, rows)]
            lines += _told_of(runs) if title == "Answers" else []
    for part in parts:
        lines += ["", part.strip()]
    return "\n".join(lines) + "\n"


def figures(runs: Sequence[Run], saved: Saved = ()) -> dict[str, str]:
    """All figures as CSV, by the name of the file; the first line of each names its columns."""
    rows: dict[str, list[Row]] = {name: [head] for name, head in _HEADS.items()}
    for run in runs:
        rows["sets"].append(_set(run))
        rows["methods"] += _methods(run)
        rows["types"] += _types(run)
    for each in saved:
        rows[_kind_of(each)] += _saved_rows(each)
    return {name: _csv(table) for name, table in rows.items() if len(table) > 1}


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


def _differences(runs: Sequence[Run], saved: Saved) -> Iterator[list[str]]:
    """Where labels help, and where they do not."""
    known = {each["set"]: f"{each['own_words']:.3f}" for each in saved if "own_words" in each}
    fitted = {row["set"]: [f"{row[part]:.3f}" for part in ("left_out", "shipped")]
              for each in saved for row in each.get("left_out", ())}  # fmt: skip
    for run in runs:
        found = {row["b"]: row for row in run.differences() if row["metric"] == run.main}
        if found:
            cells = [_difference(found.get(other)) for other in ("stitch-unlabeled", "bm25", "hybrid")]
            mine, verdict = _mean(run.intervals["stitch"][run.main]), _verdict(found.get("stitch-unlabeled"))
            of_fit = fitted.get(run.set, ("-", "-"))
            yield [run.set, run.main, *of_fit, mine, *cells, verdict, known.get(run.set, "-")]


def _difference(row: Mapping[str, Any] | None) -> str:
    return f"{row['difference']:+.3f} [{row['low']:+.3f}, {row['high']:+.3f}]" if row else "-"


def _verdict(row: Mapping[str, Any] | None) -> str:
    if row is None:
        return "-"
    return "help" if row["low"] > 0 else "**hurt**" if row["high"] < 0 else "no difference shown"


def _mean(interval: Interval | None) -> str:
    return f"{interval.value:.3f}" if interval else "-"


def _every_method(runs: Sequence[Run], methods: Sequence[str]) -> Iterator[list[str]]:
    def cell(run: Run, method: str) -> str:
        own, tokens = run.intervals[method], run.rows[method]["context_tokens_p50"]
        told = [
            _mean(own.get(run.main)),
            _mean(own.get("budget_precision")),
            "-" if tokens is None else f"{tokens:,.0f}",
        ]
        return " / ".join(told)

    for run in runs:
        yield [run.set, *(cell(run, method) if method in run.records else "-" for method in methods)]


def _set(run: Run) -> Row:
    settings, steps = run.manifest.settings, {note.trajectory: note.steps for note in run.prepared}
    return (
        settings.set, settings.suite, run.manifest.command, len(run.questions), len(steps), sum(steps.values()),
        settings.budget_tokens, settings.tokenizer, settings.labels, "; ".join(run.manifest.notes),
    )  # fmt: skip


def _methods(run: Run) -> Iterator[Row]:
    for method, own in run.intervals.items():
        for measure in _COLUMNS[run.suite]:
            if interval := own.get(measure):
                bounds = (_digits(interval.low), _digits(interval.high)) if measure == run.main else ("", "")
                yield (run.set, method, measure, _digits(interval.value), *bounds)
        if run.suite == "retrieval":
            within = zip(BUDGETS, run.recall_by_budget(method), strict=True)
            yield from ((run.set, method, f"recall in {b}", _digits(value), "", "") for b, value in within)
        costs = ((cost, run.rows[method].get(cost)) for cost in _COSTS)
        yield from ((run.set, method, cost, _digits(value), "", "") for cost, value in costs if value is not None)


def _types(run: Run) -> Iterator[Row]:
    types = sorted({record.type for record in run.every})
    for method in run.records if len(types) > 1 else ():
        groups = grouped(run.records[method], lambda record: record.type, {run.main: run.measures[run.main]})
        values = ((name, groups.get(name, {}).get(run.main)) for name in types)
        yield from ((run.set, run.main, name, method, _digits(value)) for name, value in values if value is not None)


def _kind_of(saved: Mapping[str, Any]) -> str:
    """The file of saved figures; empty if they are none that belong here."""
    return next((kind for field, kind in _SAVED.items() if field in saved), "")


def _saved_rows(saved: Mapping[str, Any]) -> Iterator[Row]:
    kind = _kind_of(saved)
    if kind == "known":
        yield tuple(saved[column] for column in _HEADS[kind])
    elif kind == "left_out":
        for row in saved[kind]:
            yield (row["set"], *(_digits(row[part]) for part in _HEADS[kind][1:]))
    else:
        for name, own in ((saved["labels"], saved), *saved["baselines"].items()):
            for part, measure in _OF_LABELS:
                if (value := (own[part] or {}).get(measure)) is not None:
                    yield (saved["set"], name, part, measure, _digits(value))


def _digits(value: float) -> str:
    return shown(value).replace(",", "")


def _csv(rows: Sequence[Row]) -> str:
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows(rows)
    return out.getvalue()


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(head)} |"
    yield "|---" + "|---:" * (len(head) - 1) + "|"
    yield from (f"| {' | '.join(row)} |" for row in rows)


@click.command()
@click.argument("runs", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="RUN...")
@click.option("--out", type=click.Path(path_type=Path, dir_okay=False), help="The file to write; else standard output.")
def command(runs: tuple[Path, ...], out: Path | None) -> None:
    """Write a page of run folders, and of what `labels`, `known-items` and fits of the ranking print.

    These are files of what their option --json prints.

    Pages of Markdown (`.md`), for what other commands print, are put behind the tables as they are. With --out, every
    figure is written as CSV into the folder `results` beside the page.

    \b
    Example:
      stitch bench results runs/locomo labels-star.json bench/results/trees.md --out bench/RESULTS.md
    """
    found = [read_run(path) for path in runs if path.is_dir()]
    pages = [path for path in runs if path.suffix == ".md"]
    saved = [_saved(path) for path in runs if not path.is_dir() and path not in pages]
    text = render(found, saved, parts=[path.read_text(encoding="utf-8") for path in pages])
    if out is None:
        click.echo(text, nl=False)
        return
    out.write_text(text, encoding="utf-8")
    folder = out.parent / "results"
    folder.mkdir(exist_ok=True)
    for name, table in figures(found, saved).items():
        (folder / f"{name}.csv").write_text(table, encoding="utf-8")


def _saved(path: Path) -> Mapping[str, Any]:
    read = read_json(path)
    if not isinstance(read, dict) or not _kind_of(read):
        raise InputError(f"{str(path)!r} holds no figures that belong here", hint="save what --json prints")
    return read
