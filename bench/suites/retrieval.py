"""The suites of retrieval: is what answers a question found, by each method, on any set and on CAME-Bench.

`stitch bench retrieval`, `came`, and a command for each of the published files. Without a model, CAME-Bench is measured
by `answer_in_context`, the share of gold items that stand literally in the context inside the budget;
`evidence_recall`, the share of gold turns of which a part stands there; `entity_resolution_recall` (Appendix B) of the
memory's texts. Precision, recall and F1 need answers, so they are null with the reason.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain
from pathlib import Path
from typing import Any

import click

from stitch.bench.data import official
from stitch.bench.data.came import load_came
from stitch.bench.data.codec import download_release
from stitch.bench.data.sets import load_questions
from stitch.bench.data.types import DataSet
from stitch.bench.figures import print_decided_by, print_table
from stitch.bench.metrics.scores import mean
from stitch.bench.records import Record, read_prepared
from stitch.bench.scoring import (
    answer_costs,
    answer_measures,
    by_budget,
    came_measures,
    decided_by,
    diagnostics,
    entity_resolution,
    grouped,
    latency,
    paired_with,
    retrieval_measures,
    selection_failures,
    summarize,
    taken_in,
)
from stitch.bench.suites.running import Finished, Options, finished, suite_options
from stitch.console.printing import print_json

PAIRED = {
    "retrieval": ("recall@10", "budget_recall", "accuracy"),
    "came": ("answer_in_context", "evidence_recall", "f1"),
}
"""The measures on which methods are compared question by question, by suite."""
_NOT_IN_ROWS = ("by_domain", "by_type", "decided_by", "label_diagnostics", "selection_failures", "recall_in", "all_in")


def measure_retrieval(data: DataSet, options: Options) -> dict[str, Any]:
    """Run the methods over a set and measure what they found."""
    with finished("retrieval", data, options, contexts=options.answers) as done:
        measures = retrieval_measures(done.manifest.settings.budget_tokens)
        measures |= answer_measures() if options.answers else {}

        def of_method(name: str, records: list[Record]) -> dict[str, Any]:
            by_type = grouped(records, lambda record: record.type, measures, further=by_budget)
            return {**by_budget(records), "by_type": by_type}

        return _summarized(done, measures, of_method) | {"set": data.name}


def measure_came(data: DataSet, options: Options) -> dict[str, Any]:
    """Run the methods over CAME-Bench data and measure contexts and answers."""
    with finished("came", data, options, contexts=True) as done:
        measures, notes = came_measures(), read_prepared(done.folder)

        def of_method(name: str, records: list[Record]) -> dict[str, Any]:
            return {
                "entity_resolution_recall": entity_resolution(notes, name),
                "context_tokens": mean(float(r.context_tokens) for r in records if r.context_tokens is not None).value,
                "by_domain": grouped(records, lambda record: record.domain, measures),
                "by_type": grouped(records, lambda record: record.type, measures),
            }

        figures = _summarized(done, measures, of_method)
        for name, records in done.records.items():
            if figures["methods"][name]["entity_resolution_recall"] is None:
                labeled = any(record.labels is not None for record in records)
                why = "the data names no entity of its operations" if labeled else "the method resolves nothing"
                figures["reasons"].setdefault(name, {})["entity_resolution_recall"] = why
        trajectories = {record.trajectory for records in done.records.values() for record in records}
        return figures | {"data": data.name, "trajectories": len(trajectories)}


def _summarized(
    done: Finished, measures: Any, of_method: Callable[[str, list[Record]], dict[str, Any]]
) -> dict[str, Any]:
    """The figures of a finished run."""
    settings, methods = done.manifest.settings, dict[str, Any]()
    reasons = {name: {"all": reason} for name, reason in done.missing.items()}
    for name, records in done.records.items():
        row = summarize(records, measures)
        if row.reasons:
            reasons[name] = row.reasons
        methods[name] = {
            **row,
            **latency(records),
            **answer_costs(records),
            **of_method(name, records),
            "decided_by": decided_by(records),
            "label_diagnostics": diagnostics(records),
            "selection_failures": selection_failures(records),
        }
    first = "stitch" if "stitch" in done.records else next(iter(done.records), "")
    paired = [name for name in PAIRED[settings.suite] if name in measures]
    return {
        "questions": max(map(len, done.records.values()), default=0),
        "budget_tokens": settings.budget_tokens,
        "methods": methods | dict.fromkeys(done.missing),
        "ingest": taken_in(read_prepared(done.folder), first),
        "paired": paired_with(first, done.records, measures, names=paired),
        "reasons": reasons,
        **({} if done.awaited is None else {"awaited": done.awaited}),
    }


def _show(figures: dict[str, Any]) -> None:
    """Print the figures as tables, and the differences that matter."""
    measured = {name: row for name, row in figures["methods"].items() if row}
    if waiting := figures.get("awaited"):
        click.echo(f"{waiting} replies are awaited: until they are in, what needs none is told of all questions")
    columns = [name for name in dict.fromkeys(chain(*measured.values())) if name not in _NOT_IN_ROWS]
    title = f"{figures.get('set', figures.get('data'))}: {figures['questions']} questions"
    rows = {name: row or {} for name, row in figures["methods"].items()}
    print_table(rows, title=f"{title}, {figures['budget_tokens']} tokens", columns=columns)
    print_decided_by(figures["methods"])
    for pair in figures["paired"]:
        click.echo(
            f"{pair['a']} - {pair['b']}, {pair['metric']}: {pair['difference']:+.3f} "
            f"[{pair['low']:+.3f}, {pair['high']:+.3f}], p = {pair['p']:.4f}"
        )
    (_show_budgets if "set" in figures else _show_types)(figures, measured)


def _show_budgets(figures: dict[str, Any], measured: dict[str, Any]) -> None:
    inside = {
        name: {f"{what} {tokens}": value for what in ("recall_in", "all_in") for tokens, value in row[what].items()}
        for name, row in measured.items()
    }
    print_table(inside, title="evidence inside so many tokens: the share of it, and whether all of it")


def _show_types(figures: dict[str, Any], measured: dict[str, Any]) -> None:
    for name, row in measured.items():
        print_table(row["by_type"], title=name)
    missing = {reason for own in figures["reasons"].values() for reason in own.values()}
    click.echo("not scored: " + "; ".join(sorted(missing)) if missing else "everything was scored", err=True)


def _suite(name: str, load: Callable[..., DataSet], data: str, text: str, example: str, **more: Any) -> click.Command:
    """The command of one kind of data: its loader, and what it is to be given; `more` are options of the loader."""
    measure = measure_came if name == "came" else measure_retrieval

    @suite_options
    def run(data: Path, **given: Any) -> None:
        loading = {key: given.pop(key) for key in more}
        figures = measure(load(data, **loading), Options(**given))
        if given["as_json"]:
            print_json(figures)
        else:
            _show(figures)

    for key, option in reversed(more.items()):
        run = click.option(f"--{key}", **option)(run)
    run = click.option("--data", required=True, type=click.Path(path_type=Path), help=data)(run)
    help_ = f"{text}\n\n\b\nExample:\n  {example}"
    return click.command(name, help=help_)(run)


def _came(folder: Path, *, download: bool) -> DataSet:
    if download:
        download_release(folder)
    return load_came(folder)


command = _suite(
    "retrieval", load_questions, "A folder of trajectories and questions.", "Find the evidence of questions.",
    "stitch bench retrieval --data locomo --methods stitch,stitch-unlabeled,bm25 --out runs/locomo",
)  # fmt: skip
came = _suite(
    "came", _came, "A folder of CAME-Bench data.",
    "Measure on CAME-Bench: the release (encoded or decoded), the published example, or a generated set.",
    "stitch generate came --domain travel --size S --seed 1 --out travel-s\n"
    "  stitch bench came --data travel-s --methods stitch,bm25",
    download={"is_flag": True, "help": "Fetch the official release into the folder first."},
)  # fmt: skip
locomo = _suite(
    "locomo", official.load_locomo, "The file locomo10.json.", "Find the evidence of LoCoMo's questions.",
    "stitch bench locomo --data locomo10.json --methods stitch,bm25",
)  # fmt: skip
longmemeval = _suite(
    "longmemeval", official.load_longmemeval, "A file longmemeval_*.json.",
    "Find the evidence of LongMemEval's questions.",
    "stitch bench longmemeval --data longmemeval_s.json --methods stitch,bm25",
)  # fmt: skip
longmemeval_v2 = _suite(
    "longmemeval-v2", official.load_longmemeval_v2, "The folder of the release.",
    "Answer LongMemEval-V2's questions; its files name no evidence, so that only answers are measured.",
    "stitch bench longmemeval-v2 --data longmemeval-v2 --tier small --answers",
    tier={"type": click.Choice(("small", "medium")), "default": "small", "show_default": True,
          "help": "Which haystack."},
)  # fmt: skip
ama = _suite(
    "ama", official.load_ama, "The episodes as JSON lines.",
    "Answer AMA-Bench's questions; its files name no evidence, so that only answers are measured.",
    "stitch bench ama --data ama-bench.jsonl --methods stitch,bm25 --answers",
)  # fmt: skip
who_and_when = _suite(
    "who-and-when", official.load_who_and_when, "A folder of runs, one JSON file each.",
    "Find the step that made a run of several agents fail, as Who&When names it.",
    "stitch bench who-and-when --data who_and_when --methods stitch,bm25",
)  # fmt: skip
state_bench = _suite(
    "state-bench", official.load_state_bench, "A folder a domain, a JSON file a run.",
    "Find the calls of runs and the last one on a thing, in STATE-Bench's trajectories.",
    "stitch bench state-bench --data state_bench --methods stitch,bm25",
)  # fmt: skip
