"""`stitch show`: the intent timeline."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from stitch.console.options import json_option, known_trajectory, memory_options, opened_memory, print_json
from stitch.core import ScopeSummary

if TYPE_CHECKING:
    from stitch.memory import Memory

_COLORS = ("cyan", "magenta", "yellow", "green", "blue", "red")
_NAME_WIDTH = 28


@click.command()
@memory_options
@click.option("--trajectory", metavar="ID", help="Which trajectory; all if none is named.")
@click.option("--steps/--no-steps", default=False, help="List the steps with their labels and references.")
@json_option
def command(as_json: bool, trajectory: str | None, steps: bool, **arguments: Any) -> None:
    """Draw the scopes of a trajectory as lanes over its steps: where each began, was left, and was resumed.

    \b
    Example:
      stitch show --memory trip.memory --trajectory trip-1 --steps
    """
    with opened_memory(**arguments) as memory:
        named = known_trajectory(memory, trajectory)
        wanted = memory.trajectories() if named is None else [named]
        shown = [_timeline(memory, name, with_steps=steps or as_json) for name in wanted]
    if as_json:
        print_json({"trajectories": [{**timeline, "scopes": _spans(timeline["scopes"])} for timeline in shown]})
        return
    for timeline in shown:
        click.echo(f"{timeline['trajectory']}  ({timeline['length']} steps)")
        click.echo(draw_lanes(timeline["scopes"], length=timeline["length"]))
        for step in timeline["steps"]:
            labels = ", ".join([*step["event_types"], *(f"[{name}]" for name in step["entity_types"])])
            name = "" if step["step"] == str(step["position"]) else f"  (step {step['step']})"
            apart = f"  {step['state']}" if step["state"] in ("failed", "retired") else ""
            click.echo(f"  {step['position']:>4} {step['role']:<12.12} {step['scope'] or '-'}: {labels}{name}{apart}")
            click.echo(f"       {_one_line(step['text'])}")
            for read in step["references"]:
                since = f", from step {read['antecedent']}" if read["antecedent"] is not None else ""
                read_as = f"{read['said']!r} reads {read['replacement']!r}"
                click.echo(f"       {read['number']}. {_one_line(read_as)} ({read['confidence']:.2f}{since})")
        click.echo()


def _timeline(memory: Memory, trajectory: str, *, with_steps: bool) -> dict[str, Any]:
    inventory = memory.inventory(trajectory)
    rows = []
    for step in memory.steps(trajectory) if with_steps else ():
        intent = step.labels.intent if step.labels else None
        rows.append(
            {
                "step": step.id,
                "position": step.position,
                "role": step.step.role,
                "state": step.state.value,
                "scope": intent.scope if intent else None,
                "event_types": intent.event_types if intent else (),
                "entity_types": intent.entity_types if intent else (),
                "text": step.step.content,
                "references": [
                    {"number": number, "said": step.step.content[read.start : read.end], **read.model_dump()}
                    for number, read in enumerate(step.labels.references if step.labels else (), 1)
                ],
            }
        )
    return {
        "trajectory": trajectory,
        "length": inventory.steps,
        "scopes": inventory.scopes,
        "steps": rows,
    }


def _spans(scopes: Sequence[ScopeSummary]) -> list[dict[str, Any]]:
    return [{"name": scope.name, "steps": scope.steps, "spans": scope.spans} for scope in scopes]


def draw_lanes(scopes: Sequence[ScopeSummary], *, length: int, width: int = 60) -> str:
    """Return one line a scope: its name, `━` where it is pursued, `·` while it waits to be resumed, and its spans."""
    width = min(width, max(length, 1))
    lines = []
    for number, scope in enumerate(sorted(scopes, key=lambda scope: scope.spans[0])):
        lane = [" "] * width
        first, last = scope.spans[0][0], scope.spans[-1][1]
        for column in range(_column(first, length, width), _column(last, length, width) + 1):
            lane[column] = "·"
        for start, end in scope.spans:
            for column in range(_column(start, length, width), _column(end, length, width) + 1):
                lane[column] = "━"
        name = scope.name if len(scope.name) <= _NAME_WIDTH else scope.name[: _NAME_WIDTH - 1] + "…"
        spans = ", ".join(f"{start}-{end}" if end > start else f"{start}" for start, end in scope.spans)
        lane_text = click.style("".join(lane), fg=_COLORS[number % len(_COLORS)])
        lines.append(f"  {name:<{_NAME_WIDTH}} {lane_text} {spans if len(spans) <= 40 else spans[:39] + '…'}")
    return "\n".join(lines)


def _column(position: int, length: int, width: int) -> int:
    return min(width - 1, position * width // max(length, 1))


def _one_line(text: str, *, limit: int = 100) -> str:
    line = " ".join(text.split())
    return line if len(line) <= limit else line[: limit - 1] + "…"
