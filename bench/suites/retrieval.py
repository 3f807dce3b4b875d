"""`stitch bench retrieval`: is the evidence of questions found, by each method, on any set in the generic format."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from stitch.bench.data.sets import load_questions
from stitch.bench.data.types import DataSet
from stitch.bench.figures import print_decided_by, print_json, print_table
from stitch.bench.records import read_prepared
from stitch.bench.scoring import (
    answer_costs,
    answer_measures,
    by_budget,
    decided_by,
    diagnostics,
    grouped,
    latency,
    paired_with,
    retrieval_measures,
    selection_failures,
    summarize,
    taken_in,
)
from stitch.bench.suites.running import Finished, Options, awaited_by, finished, suite_options, tell_awaited

PAIRED = ("recall@10", "budget_recall", "accuracy")
"""The measures on which methods are compared question by question."""


def measure_retrieval(data: DataSet, options: Options) -> dict[str, Any]:
    """Run the methods over a set and measure what they found."""
    with finished("retrieval", data, options, contexts=options.answers) as done:
        return summarize_retrieval(done)


def summarize_retrieval(done: Finished) -> dict[str, Any]:
    """The figures of a finished run."""
    measures = retrieval_measures(done.manifest.settings.budget_tokens)
    if done.manifest.settings.answerer is not None:
        measures |= answer_measures()
    methods: dict[str, Any] = {}
    reasons = {name: {"all": reason} for name, reason in done.missing.items()}
    for name, records in done.records.items():
        row = summarize(records, measures)
        if row.reasons:
            reasons[name] = row.reasons
        methods[name] = {
            **row,
            **by_budget(records),
            **latency(records),
            **answer_costs(records),
            "by_type": grouped(records, lambda record: record.type, measures, further=by_budget),
            "decided_by": decided_by(records),
            "label_diagnostics": diagnostics(records),
            "selection_failures": selection_failures(records),
        }
    methods |= dict.fromkeys(done.missing)
    first = "stitch" if "stitch" in done.records else next(iter(done.records), "")
    return {
        "set": done.manifest.settings.set,
        "questions": max(map(len, done.records.values()), default=0),
        "budget_tokens": done.manifest.settings.budget_tokens,
        "methods": methods,
        "ingest": taken_in(read_prepared(done.folder), first),
        "paired": paired_with(first, done.records, measures, names=[name for name in PAIRED if name in measures]),
        "reasons": reasons,
        **awaited_by(done),
    }


def show_retrieval(figures: dict[str, Any]) -> None:
    """Print the figures as a table, and the differences that matter."""
    tell_awaited(figures)
    flat = (
        "by_type",
        "decided_by",
        "label_diagnostics",
        "selection_failures",
        "recall_in",
        "all_in",
    )
    rows = {
        name: {key: value for key, value in row.items() if key not in flat} if row else {}
        for name, row in figures["methods"].items()
    }
    inside = {
        name: {
            f"{measure} {tokens}": row[measure][tokens]
            for measure in ("recall_in", "all_in")
            for tokens in row[measure]
        }
        for name, row in figures["methods"].items()
        if row
    }
    print_table(rows, title=f"{figures['set']}: {figures['questions']} questions, {figures['budget_tokens']} tokens")
    print_table(inside, title="evidence inside so many tokens: the share of it, and whether all of it")
    print_decided_by(figures["methods"])
    for pair in figures["paired"]:
        click.echo(
            f"{pair['a']} - {pair['b']}, {pair['metric']}: {pair['difference']:+.3f} "
            f"[{pair['low']:+.3f}, {pair['high']:+.3f}], p = {pair['p']:.4f}"
        )


def run_retrieval(data: DataSet, options: Options) -> None:
    """Measure and print."""
    figures = measure_retrieval(data, options)
    if options.as_json:
        print_json(figures)
    else:
        show_retrieval(figures)


@click.command()
@click.option("--data", required=True, type=click.Path(path_type=Path), help="A folder of trajectories and questions.")
@suite_options
def command(data: Path, **given: Any) -> None:
    """Find the evidence of questions.

    \b
    Example:
      stitch bench retrieval --data locomo --methods stitch,stitch-unlabeled,bm25 --out runs/locomo
    """
    run_retrieval(load_questions(data), Options(**given))
