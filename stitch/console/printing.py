"""Output of commands: text on one line, JSON, and the scopes of a trajectory as lanes over its steps."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import click
import orjson

from stitch.core import PHASE_MARK, ScopeSummary, goal_of
from stitch.errors import StoreError
from stitch.lifecycle.traces import Proof
from stitch.server.operations.costs import Costs
from stitch.server.operations.steps import ScopeSpans

_COLORS = ("cyan", "magenta", "yellow", "green", "blue", "red")
_NAME_WIDTH = 28


def one_line(text: str, *, limit: int = 140) -> str:
    """The beginning of a text on one line, for a person: blanks are single, other control characters are gone."""
    line = " ".join("".join(mark if mark.isprintable() else " " for mark in text).split())
    return line if len(line) <= limit else line[: limit - 1] + "…"


def counted(**numbers: int) -> str:
    """Numbers with their nouns, which are given as plurals: `3 steps of 1 trajectory`."""
    return " of ".join(f"{number} {_singular(noun) if number == 1 else noun}" for noun, number in numbers.items())


def _singular(noun: str) -> str:
    return f"{noun[:-3]}y" if noun.endswith("ies") else noun[:-1]


def print_json(value: Any) -> None:
    """Print one JSON object to standard output."""
    click.echo(orjson.dumps(value, option=orjson.OPT_INDENT_2 | orjson.OPT_SERIALIZE_NUMPY).decode())


def print_told(value: Any, *lines: str, as_json: bool) -> None:
    """Print an outcome to standard output: as one JSON object if that is asked for, else in lines for a person."""
    if as_json:
        print_json(value)
    else:
        for line in lines:
            click.echo(line)


def draw_lanes(scopes: Sequence[ScopeSpans | ScopeSummary], *, length: int, width: int = 60) -> str:
    """Return one line a scope: its name, `━` where it is pursued, `·` while it waits to be resumed, and its spans."""
    width = min(width, max(length, 1))
    lines, above = [], ""
    for number, scope in enumerate(sorted(scopes, key=lambda scope: scope.spans[0])):
        lane = [" "] * width
        first, last = scope.spans[0][0], scope.spans[-1][1]
        for column in range(_column(first, length, width), _column(last, length, width) + 1):
            lane[column] = "·"
        for start, end in scope.spans:
            for column in range(_column(start, length, width), _column(end, length, width) + 1):
                lane[column] = "━"
        name, above = _short(scope.name, above=above), goal_of(scope.name)
        spans = ", ".join(f"{start}-{end}" if end > start else f"{start}" for start, end in scope.spans)
        lane_text = click.style("".join(lane), fg=_COLORS[number % len(_COLORS)])
        lines.append(f"  {name:<{_NAME_WIDTH}} {lane_text} {spans if len(spans) <= 40 else spans[:39] + '…'}")
    return "\n".join(lines)


def _short(name: str, *, above: str) -> str:
    """The name of a scope in a lane: of a phase, the goal is cut and not the phase, and not said again below itself."""
    goal, mark, phase = name.partition(PHASE_MARK)
    if not mark:
        return one_line(name, limit=_NAME_WIDTH)
    tail = one_line(f"{mark.strip()} {phase}", limit=_NAME_WIDTH - 4)
    return f"  {tail}" if goal == above else f"{one_line(goal, limit=_NAME_WIDTH - 1 - len(tail))} {tail}"


def _column(position: int, length: int, width: int) -> int:
    return min(width - 1, position * width // max(length, 1))


def cost_lines(costs: Costs, *, most: int = 1 << 30) -> Iterator[str]:
    """Table of the costs of language models; of trajectories only the `most` expensive ones."""
    dear = sorted(costs.trajectories.items(), key=lambda item: -item[1].tokens)[:most]
    groups = {"total": {"": costs.total}, "models": costs.models, "stages": costs.stages, "trajectories": dict(dear)}
    for kind, group in groups.items():
        yield kind
        for name, totals in group.items():
            cost = "cost unknown" if totals.cost_usd is None else f"${totals.cost_usd:.4f}"
            lost = f", {totals.unusable} replies cut or of no use" if totals.unusable else ""
            yield f"  {name or '-':<32} {totals.calls:>7} calls {totals.tokens:>10} tokens  {cost}{lost}"
    if len(dear) < len(costs.trajectories):
        yield f"  and {len(costs.trajectories) - len(dear)} more: `stitch ledger` lists them"
    for mean, what in ((costs.a_step, "a labeled step"), (costs.a_question, "a question whose labels were chosen")):
        if mean is not None:
            yield f"{what}: {mean.calls:.3f} calls, {mean.tokens:.0f} tokens"
    for reason, count in sorted(costs.total.rejected.items()):
        yield f"references of replies left out: {count}, {reason}"


def print_proof(proof: Proof, say: Callable[..., None], *, of: str = "them", others: str = "other steps") -> int:
    """Print what an erasure left of `of`, and what `others` say too; returns the exit status."""
    say(
        f"proof: all files were searched for {proof.traces} texts, names and ids"
        f" of {of} ({proof.said_elsewhere} of which {others} say too): {len(proof.found)} files hold any"
    )
    for found in proof.found:
        say(f"  {found}")
    for place in proof.not_searched:
        say(f"not searched: {place}")
    return StoreError.exit_code if proof.found else 0
