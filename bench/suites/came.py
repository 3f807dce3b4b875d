"""`stitch bench came`: CAME-Bench, in the release's format, without a model and with one.

Without a model: `answer_in_context`, the share of gold items that stand literally in the context inside the budget;
`evidence_recall`, the share of gold turns of which a part stands there; `entity_resolution_recall` (Appendix B) of what
the memory made of the turns. Precision, recall and F1 need answers, so they are null with the reason.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from stitch.bench.data.came import load_came
from stitch.bench.data.hub import download_release
from stitch.bench.data.types import DataSet
from stitch.bench.figures import print_decided_by, print_json, print_table
from stitch.bench.metrics.scores import mean
from stitch.bench.records import read_prepared
from stitch.bench.scoring import (
    answer_costs,
    came_measures,
    decided_by,
    diagnostics,
    entity_resolution,
    grouped,
    latency,
    paired_with,
    selection_failures,
    summarize,
    taken_in,
)
from stitch.bench.suites.running import Finished, Options, awaited_by, finished, suite_options, tell_awaited

PAIRED = ("answer_in_context", "evidence_recall", "f1")


def measure_came(data: DataSet, options: Options) -> dict[str, Any]:
    """Run the methods over CAME-Bench data and measure contexts and answers."""
    with finished("came", data, options, contexts=True) as done:
        return summarize_came(done)


def summarize_came(done: Finished) -> dict[str, Any]:
    """The figures of a finished run."""
    measures = came_measures()
    notes = read_prepared(done.folder)
    methods: dict[str, Any] = {}
    reasons = {name: {"all": reason} for name, reason in done.missing.items()}
    for name, records in done.records.items():
        row = summarize(records, measures)
        resolved = entity_resolution(notes, name)
        reasons[name] = {**row.reasons, **_unresolved(resolved, labeled=any(r.labels is not None for r in records))}
        methods[name] = {
            **row,
            "entity_resolution_recall": resolved,
            "context_tokens": mean(float(r.context_tokens) for r in records if r.context_tokens is not None).value,
            **latency(records),
            **answer_costs(records),
            "decided_by": decided_by(records),
            "label_diagnostics": diagnostics(records),
            "selection_failures": selection_failures(records),
            "by_domain": grouped(records, lambda record: record.domain, measures),
            "by_type": grouped(records, lambda record: record.type, measures),
        }
    methods |= dict.fromkeys(done.missing)
    first = "stitch" if "stitch" in done.records else next(iter(done.records), "")
    return {
        "data": done.manifest.settings.set,
        "trajectories": len({record.trajectory for records in done.records.values() for record in records}),
        "questions": max(map(len, done.records.values()), default=0),
        "budget_tokens": done.manifest.settings.budget_tokens,
        "methods": methods,
        "ingest": taken_in(notes, first),
        "paired": paired_with(first, done.records, measures, names=PAIRED),
        "reasons": reasons,
        **awaited_by(done),
    }


def _unresolved(resolved: float | None, *, labeled: bool) -> dict[str, str]:
    if resolved is not None:
        return {}
    why = "the data names no entity of its operations" if labeled else "the method resolves nothing"
    return {"entity_resolution_recall": why}


@click.command()
@click.option("--data", required=True, type=click.Path(path_type=Path), help="A folder of CAME-Bench data.")
@click.option("--download", is_flag=True, help="Fetch the official release into the folder first.")
@suite_options
def command(data: Path, download: bool, **given: Any) -> None:
    """Measure on CAME-Bench: the release (encoded or decoded), the published example, or a generated set.

    \b
    Example:
      stitch generate came --domain travel --size S --seed 1 --out travel-s
      stitch bench came --data travel-s --methods stitch,bm25
    """
    options = Options(**given)
    if download:
        download_release(data)
    figures = measure_came(load_came(data), options)
    if options.as_json:
        print_json(figures)
        return
    tell_awaited(figures)
    hidden = ("by_domain", "by_type", "decided_by", "label_diagnostics", "selection_failures")
    rows = {
        name: {key: value for key, value in row.items() if key not in hidden} if row else {}
        for name, row in figures["methods"].items()
    }
    print_table(rows, title=f"{figures['data']}: {figures['questions']} questions, {figures['budget_tokens']} tokens")
    print_decided_by(figures["methods"])
    for name, row in figures["methods"].items():
        if row and row["by_type"]:
            print_table(row["by_type"], title=name)
    missing = {reason for own in figures["reasons"].values() for reason in own.values()}
    click.echo("not scored: " + "; ".join(sorted(missing)) if missing else "everything was scored", err=True)
