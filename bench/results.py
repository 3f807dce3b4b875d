"""`stitch bench results`: a page of the tables a reader asks for first, and every other figure as data beside it.

More than 400 lines because each table stands beside the text that says how to read it.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from textwrap import fill
from typing import Any

import click

from stitch.bench.data.files import read_json
from stitch.bench.figures import shown
from stitch.bench.metrics.budget_recall import BUDGETS
from stitch.bench.metrics.scores import mean
from stitch.bench.registry import METHODS
from stitch.bench.runs import Run, read_run
from stitch.bench.scoring import decided_by, grouped, precision_in
from stitch.core import DecidedBy
from stitch.errors import InputError

_COLUMNS = {
    "retrieval": (
        "recall@5",
        "recall@10",
        "recall@20",
        "all@10",
        "mrr",
        "ndcg@10",
        "budget_recall",
        "budget_precision",
    ),
    "came": ("answer_in_context", "answer_tied", "evidence_recall"),
}
_OF_ANSWERS = {"retrieval": ("accuracy", "token_f1", "bleu_1", "rouge_l"), "came": ("precision", "recall", "f1")}
_SMALLER_BUDGETS = (1024, 2048)
_COSTS = ("entity_resolution_recall", "context_tokens_p50", "search_p50_ms", "search_p95_ms", "answered",
          "scored", "unscored", "model_calls", "model_tokens", "model_cost_usd")  # fmt: skip
_OF_LABELS = (
    ("scope", "bcubed_f1"), ("scope", "bcubed_precision"), ("scope", "bcubed_recall"), ("scope", "switch_f1"),
    ("scope", "pk"), ("event_type", "v_measure"), ("event_type", "ari"), ("entity_type", "f1"),
)  # fmt: skip

_HELP_HEAD = ("set", "measure", "left out", "shipped", "stitch", "− stitch-unlabeled", "− bm25", "− hybrid", "labels",
              "precision", "tokens", "own words", "60 %")  # fmt: skip

Row = tuple[str | int | float, ...]


def render(runs: Sequence[Run], saved: Sequence[Mapping[str, Any]] = (), *, parts: Sequence[str] = ()) -> str:
    """The Markdown page of some runs, and of saved figures of labels, with further parts as they are."""
    lines = ["# Results", "", _about(runs)]
    if rows := list(_answers(runs)):
        lines += ["", "## Answers", "", _ANSWERED, ""]
        head = ["set", "method", "precision", "recall", "F1", "scored", "unscored", "calls", "tokens", "US$"]
        lines += [*_table(head, rows), *_told_of(runs)]
    if rows := list(_differences(runs, saved)):
        lines += ["", "## Do labels help?", "", _HELP, ""]
        lines += _table(_HELP_HEAD, rows)
    if runs:
        shown_methods = [name for name in METHODS if any(name in run.records for run in runs)]
        lines += ["", "## Every method", "", _EVERY, ""]
        lines += _table(["set", *(f"`{name}`" for name in shown_methods)], _every_method(runs, shown_methods))
        lines += ["", "## What contexts hold", "", _SPENT, ""]
        lines += _table(["set", *(f"`{name}`" for name in shown_methods)], _spent_by(runs, shown_methods))
        if rows := list(_holding_now(runs, shown_methods)):
            lines += ["", "## What holds now", "", _NOW, ""]
            lines += _table(["set", "type", *(f"`{name}`" for name in shown_methods)], rows)
        lines += ["", "## Which part labels had", "", _DECIDED, ""]
        head = ["set", "questions", "label density", "weighed labels", "no labels", "first ten differ"]
        lines += _table(head, list(_decided(runs)))
    lines += ["", "## The other figures", "", _DATA, ""]
    lines += _table(["file", "a row is"], [[f"`{name}.csv`", what] for name, what in _FILES.items()])
    for part in parts:
        lines += ["", part.strip()]
    return "\n".join(lines) + "\n"


def figures(runs: Sequence[Run], saved: Sequence[Mapping[str, Any]] = ()) -> dict[str, str]:
    """All figures as CSV, by the name of the file; the first line of each names its columns."""
    rows: dict[str, list[Row]] = {
        "sets": [("set", "suite", "command", "questions", "trajectories", "steps", "budget_tokens", "tokenizer",
                  "labels", "notes")],
        "methods": [("set", "method", "measure", "value", "low", "high")],
        "types": [("set", "measure", "type", "method", "value")],
        "selections": [("set", "figure", "value")],
        "labels": [("set", "labels", "kind", "measure", "value")],
        "known": [("set", "asked", "own_words", "some_words")],
        "left_out": [("set", "left_out", "shipped", "all_choose")],
    }  # fmt: skip
    for run in runs:
        rows["sets"].append(_set(run))
        rows["methods"] += _methods(run)
        rows["types"] += _types(run)
        name = run.manifest.settings.set
        rows["selections"] += [(name, figure, _digits(v)) for figure, v in run.diagnostics().get("stitch", {}).items()]
    for each in saved:
        name, read = next(kind for key, kind in _SAVED.items() if key in each)
        rows[name] += read(each)
    return {name: _csv(table) for name, table in rows.items() if len(table) > 1}


_WITHOUT_MODEL = """\
No language model took part. Labels are local, so precision, recall and F1 of generated answers are not here. """

_ABOUT = """\
Written by `stitch bench results` from run folders; do not edit. {models}Every method has the same
token budget; `full-context` alone reads 128,000 tokens. `recall@10` is the share of the evidence among the first ten
steps, `budget_recall` the share of which something stands in the context as a reader has it: what stands around steps
has its tokens, and a context that stops shows no more. `answer_in_context` is the share of the gold items that stand
literally in the context inside the budget, `answer_tied` of those that stand there with what ties them to the question:
whose, what for, when. Brackets are 95 %
bootstrap intervals over questions. Where a question asks for a list, the memories cut long steps to how they open and
the sentences that name something, with labels and without; the baselines show raw steps."""

_ANSWERED = """\
Macro averages over the questions that were scored, by the judge of the run; what could not be answered or judged is
counted beside them, and asked for again by the run's command. Calls, tokens and dollars are those of answers and
verdicts."""

_HELP = """\
`stitch` minus another method, question by question, on the measure that matters most for the set. *Precision* is the
share of the steps shown inside the budget that are evidence, *tokens* what the context takes (median). *Own words*: of
250 steps, the share that is among the first ten hits when asked for by its own first 40 words; *60 %*: by so many of
these words, drawn at random. *Left out*: recall@10 with the weights of the search that all other sets choose,
beginning with none, and *shipped*: with those in use; a dash where there is none to
leave out, for weights are fitted to evidence among the first hits, not to answers in a context, and longmemeval_s asks
what longmemeval_oracle does."""

_EVERY = """\
The measure of the first table, for every method. `stitch-no-…` leaves out one kind of label or the resolved
references, `stitch-unlabeled` all labels. `stitch-gold` has gold labels, `oracle` is the evidence itself. A dash: it
was not run."""

_SPENT = """\
Beside that measure: the share of the steps shown inside the budget that are evidence (a dash where a context is judged
by what it says), and the tokens that it takes (median)."""

_NOW = """\
The same measure for the questions that ask for the last of several values, such as a plan that was changed."""

_CHANGED = ("latest", "update", "state")
"""Parts of the names of the types of these questions."""

_DECIDED = """\
By what the order of the hits was decided (`decided_by`), as shares of the questions, and in how many of them the first
ten hits are others than without labels."""

_DATA = """\
They stand as CSV in `bench/results/`. Each set's row in `sets.csv` has the command that made its figures. Times are
those of a shared machine."""

_FILES = {
    "sets": "a set: the command, questions, trajectories, steps, budget and labels",
    "methods": "a measure of a method on a set, with its interval where there is one",
    "types": "the main measure of a method on one type of question",
    "selections": "how well the labels of the questions were chosen (Appendix D of the paper)",
    "labels": "a measure of labels against gold; `stitch bench labels --data FILE --json`; names never count",
    "known": "steps that are found by their own words; `stitch bench known-items --data SET --json`",
    "left_out": "a set by the weights that others choose; `python -m stitch.bench.fit ranking --rounds 4 --json`",
}


def _about(runs: Sequence[Run]) -> str:
    told = [
        f"`{run.manifest.settings.set}`: {', '.join(f'{what} by {who}' for what, who in run.models.items())}"
        for run in runs
        if run.models
    ]
    said = f"Language models took part in {'; '.join(told)}. " if told else _WITHOUT_MODEL
    return fill(_ABOUT.format(models=said), width=120)


def _answers(runs: Sequence[Run]) -> Iterator[list[str]]:
    """What became of the answers of each method, where a model gave some."""
    for run in runs:
        for method in run.records if run.answered else ():
            row = run.row(method)
            cells = [run.interval(method, measure) for measure in _OF_ANSWERS["came"] if measure in run.measures]
            if run.manifest.settings.suite != "came":
                cells = [None, None, run.interval(method, "accuracy")]
            told = [f"{each.value:.3f}" if each else "-" for each in cells]
            counts = (f"{row.get(name, 0):,}" for name in ("scored", "unscored", "model_calls", "model_tokens"))
            cost = row.get("model_cost_usd")
            price = "unknown" if cost is None else f"{cost:.4f}"
            yield [run.manifest.settings.set, f"`{method}`", *told, *counts, price]


def _told_of(runs: Sequence[Run]) -> Iterator[str]:
    """What labeling took, and why some answers are not scored."""
    for run in runs:
        if taken := run.labeling():
            cost = taken["model_cost_usd"]
            price = "at an unknown price" if cost is None else f"US$ {cost:.4f}"
            told = (
                f"Labels of `{run.manifest.settings.set}`: {taken['model_calls']:,} calls, {taken['model_tokens']:,}"
                f" tokens, {price}, for {taken['steps']:,} steps; {taken['stand_ins']:,} have labels that stand in,"
                f" {taken['unusable_replies']:,} replies were cut or of no use."
            )
            yield from ("", fill(told, width=120))
        if run.answered and (found := run.not_scored()):
            reasons = "; ".join(f"{reason} ({count})" for reason, count in found.items())
            yield from ("", fill(f"Not scored in `{run.manifest.settings.set}`: {reasons}.", width=120))


def _differences(runs: Sequence[Run], saved: Sequence[Mapping[str, Any]]) -> Iterator[list[str]]:
    """Where labels help, and where they do not."""
    known = {each["set"]: [f"{each[part]:.3f}" for part in ("own_words", "some_words")]
             for each in saved if "own_words" in each}  # fmt: skip
    fitted = {row["set"]: [f"{row[part]:.3f}" for part in ("left_out", "shipped")]
              for each in saved for row in each.get("left_out", ())}  # fmt: skip
    for run in runs:
        found = {row["b"]: row for row in run.differences() if row["metric"] == run.main}
        if not found:
            continue
        cells = [_difference(found.get(other)) for other in ("stitch-unlabeled", "bm25", "hybrid")]
        mine = run.interval("stitch", run.main)
        shown = f"{mine.value:.3f}" if mine else "-"
        name = run.manifest.settings.set
        none = ["-", "-"]
        yield [name, run.main, *fitted.get(name, none), shown, *cells, _verdict(found), *_spent(run),
               *known.get(name, none)]  # fmt: skip


def _spent(run: Run) -> Iterator[str]:
    """How much of what is shown inside the budget is evidence, and how many tokens that takes."""
    found = mean(precision_in(record, run.manifest.settings.budget_tokens) for record in run.records["stitch"])
    yield "-" if found.value is None else f"{found.value:.3f}"
    tokens = run.row("stitch")["context_tokens_p50"]
    yield "-" if tokens is None else f"{tokens:,.0f}"


def _difference(row: Mapping[str, Any] | None) -> str:
    return f"{row['difference']:+.3f} [{row['low']:+.3f}, {row['high']:+.3f}]" if row else "-"


def _verdict(found: Mapping[str, Mapping[str, Any]]) -> str:
    row = found.get("stitch-unlabeled")
    if row is None:
        return "-"
    if row["low"] > 0:
        return "help"
    return "**hurt**" if row["high"] < 0 else "no difference shown"


def _every_method(runs: Sequence[Run], methods: Sequence[str]) -> Iterator[list[str]]:
    for run in runs:
        intervals = [run.interval(method, run.main) if method in run.records else None for method in methods]
        yield [run.manifest.settings.set, *(f"{each.value:.3f}" if each else "-" for each in intervals)]


def _spent_by(runs: Sequence[Run], methods: Sequence[str]) -> Iterator[list[str]]:
    for run in runs:
        row = [run.manifest.settings.set]
        for method in methods:
            if method not in run.records:
                row.append("-")
                continue
            judged = "budget_precision" in run.measures
            precision = run.interval(method, "budget_precision") if judged else None
            tokens = run.row(method)["context_tokens_p50"]
            told = f"{precision.value:.3f}" if precision else "-", "-" if tokens is None else f"{tokens:,.0f}"
            row.append(" / ".join(told))
        yield row


def _holding_now(runs: Sequence[Run], methods: Sequence[str]) -> Iterator[list[str]]:
    for run in runs:
        found = {(name, method): value for _, _, name, method, value in _types(run)}
        for name in sorted({str(name) for name, _ in found if any(part in str(name) for part in _CHANGED)}):
            yield [run.manifest.settings.set, name, *(str(found.get((name, method), "-")) for method in methods)]


def _decided(runs: Sequence[Run]) -> Iterator[list[str]]:
    for run in runs:
        records = run.records.get("stitch", ())
        shares = decided_by(records)
        if shares is None:
            continue
        without = {record.question: record.steps[:10] for record in run.records.get("stitch-unlabeled", ())}
        others = [record.steps[:10] != without[record.question] for record in records if record.question in without]
        acted = f"{sum(others) / len(others):.2f}" if others else "-"
        cells = (f"{shares.get(way.value, 0.0):.2f}" for way in DecidedBy)
        yield [run.manifest.settings.set, str(len(records)), *cells, acted]


def _set(run: Run) -> Row:
    settings, steps = run.manifest.settings, {note.trajectory: note.steps for note in run.prepared}
    return (
        settings.set, settings.suite, run.manifest.command, len(run.questions), len(steps), sum(steps.values()),
        settings.budget_tokens, settings.tokenizer, settings.labels, "; ".join(run.manifest.notes),
    )  # fmt: skip


def _methods(run: Run) -> Iterator[Row]:
    name, suite = run.manifest.settings.set, run.manifest.settings.suite
    for method in run.records:
        for measure in (*_COLUMNS[suite], *(_OF_ANSWERS[suite] if run.answered else ())):
            if interval := run.interval(method, measure):
                bounds = (_digits(interval.low), _digits(interval.high)) if measure == run.main else ("", "")
                yield (name, method, measure, _digits(interval.value), *bounds)
        if suite == "retrieval":
            within = dict(zip(BUDGETS, run.recall_by_budget(method), strict=True))
            yield from ((name, method, f"recall in {b}", _digits(within[b]), "", "") for b in _SMALLER_BUDGETS)
        row = run.row(method)
        yield from ((name, method, cost, _digits(row[cost]), "", "") for cost in _COSTS if row.get(cost) is not None)


def _types(run: Run) -> Iterator[Row]:
    types = sorted({record.type for records in run.records.values() for record in records})
    for method in run.records if len(types) > 1 else ():
        groups = grouped(run.records[method], lambda record: record.type, {run.main: run.measures[run.main]})
        for name in types:
            if (value := groups.get(name, {}).get(run.main)) is not None:
                yield (run.manifest.settings.set, run.main, name, method, _digits(value))


def _labels(saved: Mapping[str, Any]) -> Iterator[Row]:
    for name, own in ((saved["labels"], saved), *saved["baselines"].items()):
        for kind, measure in _OF_LABELS:
            if (value := (own[kind] or {}).get(measure)) is not None:
                yield (saved["set"], name, kind, measure, _digits(value))
        if own.get("steps_per_s") is not None:
            yield (saved["set"], name, "", "steps_per_s", _digits(own["steps_per_s"]))


def _known(saved: Mapping[str, Any]) -> Iterator[Row]:
    yield tuple(saved[column] for column in ("set", "asked", "own_words", "some_words"))


def _left_out(saved: Mapping[str, Any]) -> Iterator[Row]:
    for row in saved["left_out"]:
        yield (row["set"], *(_digits(row[part]) for part in ("left_out", "shipped", "all_choose")))


_SAVED: Mapping[str, tuple[str, Callable[[Mapping[str, Any]], Iterator[Row]]]] = {
    "scope": ("labels", _labels),
    "own_words": ("known", _known),
    "left_out": ("left_out", _left_out),
}
"""By a field that a saved file has: the table of its figures, and what makes its rows."""


def _digits(value: float) -> str:
    return shown(value).replace(",", "")


def _csv(rows: Sequence[Row]) -> str:
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows(rows)
    return out.getvalue()


def _table(head: Sequence[str], rows: Iterator[list[str]] | Sequence[Sequence[str]]) -> Iterator[str]:
    yield "| " + " | ".join(head) + " |"
    yield "|---" + "|---:" * (len(head) - 1) + "|"
    for row in rows:
        yield "| " + " | ".join(row) + " |"


@click.command()
@click.argument("runs", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="RUN...")
@click.option("--out", type=click.Path(path_type=Path, dir_okay=False), help="The file to write; else standard output.")
def command(runs: tuple[Path, ...], out: Path | None) -> None:
    """Write a page of run folders, and of what `labels`, `known-items` and fits of the ranking print.

    These are files of what their option --json prints.

    Pages of Markdown (`.md`), for what other commands print, are put behind the tables as they are. With --out, every
    other figure is written as CSV into the folder `results` beside the page.

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
    if not isinstance(read, dict) or not _SAVED.keys() & read.keys():
        raise InputError(f"{str(path)!r} holds no figures that belong here", hint="save what --json prints")
    return read
