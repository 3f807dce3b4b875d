"""`stitch bench`: the group whose subcommands load when they are called."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module

import click

COMMANDS: Mapping[str, tuple[str, str]] = {
    "retrieval": (
        "stitch.bench.suites.retrieval:command",
        "Find the evidence of questions, in any set of the generic format.",
    ),
    "came": ("stitch.bench.suites.came:command", "CAME-Bench: the release, the example, or a generated set."),
    "locomo": ("stitch.bench.suites.official:locomo", "The official LoCoMo file."),
    "longmemeval": ("stitch.bench.suites.official:longmemeval", "An official LongMemEval file."),
    "labels": ("stitch.bench.suites.labels:command", "Labels against gold, beside trivial baselines."),
    "rewrites": ("stitch.bench.suites.rewrites:command", "Resolved references against a person's rewrites."),
    "density-replay": ("stitch.bench.suites.density_replay:command", "Reproduce recorded density orders exactly."),
    "perf": ("stitch.bench.perf:command", "Speed and size."),
    "model": ("stitch.bench.model:command", "What labeling with a model costs, without a model."),
    "report": ("stitch.bench.report:command", "One HTML page of finished runs."),
    "results": ("stitch.bench.results:command", "Markdown tables of finished runs."),
}
"""Where each subcommand is, and what it does in one line."""


class BenchGroup(click.Group):
    """A group that imports a subcommand when it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names, in the order of `COMMANDS`."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the subcommand; None if there is none of this name."""
        if cmd_name not in COMMANDS:
            return None
        module, attribute = COMMANDS[cmd_name][0].split(":")
        command = getattr(import_module(module), attribute)
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the subcommands without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, summary) for name, (_, summary) in COMMANDS.items()])


@click.group(cls=BenchGroup, name="bench")
def group() -> None:
    """Measure retrieval, labels, speed and size.

    \b
    Example:
      stitch bench retrieval --data locomo --methods stitch,bm25
    """
