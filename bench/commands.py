"""`stitch bench`: the group whose subcommands load when they are called."""

from __future__ import annotations

from collections.abc import Mapping

import click

from stitch.console.lazy import LazyGroup

COMMANDS: Mapping[str, tuple[str, str]] = {
    "retrieval": ("stitch.bench.suites.retrieval:command", "Evidence of questions, in any set of the generic format."),
    "came": ("stitch.bench.suites.retrieval:came", "CAME-Bench: the release, the example, or a generated set."),
    "locomo": ("stitch.bench.suites.retrieval:locomo", "The official LoCoMo file."),
    "longmemeval": ("stitch.bench.suites.retrieval:longmemeval", "An official LongMemEval file."),
    "labels": ("stitch.bench.suites.labels:command", "Labels against gold, beside trivial baselines."),
    "trees": ("stitch.bench.trees.suite:command", "Path queries on trees, and requests in words."),
    "perf": ("stitch.bench.perf:command", "Speed and size."),
    "stream": ("stitch.bench.stream:command", "Accepting, searching meanwhile, and growing."),
    "cluster": ("stitch.bench.cluster:command", "A memory that workers label."),
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
