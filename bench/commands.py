"""`stitch bench`: the group whose subcommands load when they are called."""

from __future__ import annotations

from collections.abc import Mapping

import click

from stitch.console.lazy import LazyGroup

COMMANDS: Mapping[str, tuple[str, str]] = {
    "retrieval": (
        "stitch.bench.suites.retrieval:command",
        "Find the evidence of questions, in any set of the generic format.",
    ),
    "came": ("stitch.bench.suites.retrieval:came", "CAME-Bench: the release, the example, or a generated set."),
    "locomo": ("stitch.bench.suites.retrieval:locomo", "The official LoCoMo file."),
    "longmemeval": ("stitch.bench.suites.retrieval:longmemeval", "An official LongMemEval file."),
    "longmemeval-v2": ("stitch.bench.suites.retrieval:longmemeval_v2", "The official files of LongMemEval-V2."),
    "ama": ("stitch.bench.suites.retrieval:ama", "The official file of AMA-Bench."),
    "who-and-when": ("stitch.bench.suites.retrieval:who_and_when", "The official files of Who&When."),
    "state-bench": ("stitch.bench.suites.retrieval:state_bench", "The trajectories of STATE-Bench."),
    "labels": ("stitch.bench.suites.labels:command", "Labels against gold, beside trivial baselines."),
    "known-items": ("stitch.bench.known_items:command", "Steps that are asked for by their own words."),
    "clocks": ("stitch.bench.clocks:command", "Newest statements first, and the day that is asked for."),
    "density-replay": ("stitch.bench.suites.density_replay:command", "Reproduce recorded density orders exactly."),
    "trees": ("stitch.bench.trees.suite:command", "Path queries on trees, edits, and requests in words."),
    "themes": ("stitch.bench.themes:command", "Themes: their sizes, what is moved, what a step costs."),
    "redaction": ("stitch.bench.redaction:command", "Secrets that are taken out, and harmless texts that are changed."),
    "perf": ("stitch.bench.perf:command", "Speed and size."),
    "stream": ("stitch.bench.stream:command", "Accepting, searching meanwhile, and growing."),
    "serve": ("stitch.bench.serving:command", "Searches and adds over HTTP beside the same in process."),
    "judges": ("stitch.bench.suites.judges:command", "How far a judge agrees with recorded judgements."),
    "model": ("stitch.bench.model:command", "What labeling with a model costs, without a model."),
    "report": ("stitch.bench.report:command", "One HTML page of finished runs."),
    "results": ("stitch.bench.results:command", "Markdown tables of finished runs."),
}
"""Where each subcommand is, and what it does in one line."""


@click.group(cls=LazyGroup, commands=COMMANDS, name="bench")
def group() -> None:
    """Measure retrieval, labels, speed and size.

    \b
    Example:
      stitch bench retrieval --data locomo --methods stitch,bm25
    """
