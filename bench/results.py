"""Tables of runs in Markdown: what a suite prints in the end, and `stitch bench results` of finished runs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from stitch.bench.figures import shown
from stitch.bench.metrics.scores import Interval
from stitch.bench.runs import Run, read_run

_ABOUT = "Brackets are 95 % bootstrap intervals over questions; a dash was not scored."
_COSTS = {
    "context_tokens_p50": "tokens of a context", "search_p50_ms": "ms a search", "scored": "answers scored",
    "unscored": "unscored", "model_calls": "calls", "model_tokens": "tokens", "model_cost_usd": "US$",
}  # fmt: skip
"""What stands behind the measures, with its head; calls, tokens and dollars are those of answers and verdicts."""


def render(runs: Sequence[Run]) -> str:
    """The Markdown page of some runs."""
    lines = [_ABOUT]
    for run in runs:
        head, rows = table_of(run)
        lines += ["", f"## {run.set}", "", *(f"- {line}" for line in told_of(run)), "", _row(head)]
        lines += [f"|---{'|---:' * (len(head) - 1)}|", *map(_row, rows)]
    return "\n".join(lines) + "\n"


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def told_of(run: Run) -> Iterator[str]:
    """Lines on a run: its command, its data, its models, its notes."""
    own = run.manifest.settings
    yield f"`{run.manifest.command or run.suite}`"
    yield (
        f"{len(run.questions)} questions, {len(run.steps)} trajectories, {sum(run.steps.values()):,} steps;"
        f" a context has {own.budget_tokens:,} tokens ({own.tokenizer})"
    )
    by_model = ", ".join(f"{what} by {who}" for what, who in run.models.items())
    yield by_model or f"no language model took part; labels by {own.labels}"
    yield from run.manifest.notes
    if run.labeling:
        yield f"labels: {run.labeling}"
    if reasons := {reason for row in run.means.values() for reason in row.reasons.values()}:
        yield f"not scored: {'; '.join(sorted(reasons))}"


def table_of(run: Run) -> tuple[list[str], list[list[str]]]:
    """The head, and a row a method: its measures, how far the first method is above it, and what it took."""
    names = [name for name in run.measures if any(own[name] for own in run.intervals.values())]
    costs = [name for name in _COSTS if any(row.get(name) is not None for row in run.rows.values())]
    above = {row["b"]: row for row in run.differences if row["metric"] == run.main}
    head = ["method", *names, f"{run.first} is above it in {run.main} by", *(_COSTS[name] for name in costs)]
    return head, [
        [method, *(_interval(own[name]) for name in names), _difference(above.get(method)),
         *(shown(run.rows[method].get(name)) for name in costs)]
        for method, own in run.intervals.items()
    ]  # fmt: skip


def _interval(interval: Interval | None) -> str:
    return f"{interval.value:.3f} [{interval.low:.3f}, {interval.high:.3f}]" if interval else "-"


def _difference(row: Mapping[str, Any] | None) -> str:
    return f"{row['difference']:+.3f} [{row['low']:+.3f}, {row['high']:+.3f}]" if row else "-"


@click.command()
@click.argument("runs", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="RUN...")
def command(runs: tuple[Path, ...]) -> None:
    """Print a table of each run, whose folder was given with --out.

    \b
    Example:
      stitch bench results runs/locomo runs/travel-s > results.md
    """
    click.echo(render([read_run(path) for path in runs]), nl=False)
