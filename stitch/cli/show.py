"""`stitch show`: the intent timeline."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import click

from stitch.console.options import json_option, known_trajectory, memory_options, opened_memory
from stitch.console.printing import draw_lanes, one_line, print_json
from stitch.core import LabelKind, ScopeSummary

if TYPE_CHECKING:
    from stitch.memory import Memory


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
            click.echo(f"       {one_line(step['text'], limit=100)}")
            for read in step["references"]:
                since = f", from step {read['antecedent']}" if read["antecedent"] is not None else ""
                read_as = f"{read['said']!r} reads {read['replacement']!r}"
                click.echo(f"       {read['number']}. {one_line(read_as, limit=100)} ({read['confidence']:.2f}{since})")
        click.echo()


def _timeline(memory: Memory, trajectory: str, *, with_steps: bool) -> dict[str, Any]:
    inventory = memory.inventory(trajectory)
    vocabulary = inventory.vocabulary()
    rows = []

    def read(kind: LabelKind, values: Iterable[str]) -> tuple[str, ...]:
        """Labels as lanes and questions read them: through the merges."""
        return tuple(dict.fromkeys(vocabulary.canonical(kind, value) for value in values))

    for step in memory.steps(trajectory) if with_steps else ():
        intent = step.labels.intent if step.labels else None
        rows.append(
            {
                "step": step.id,
                "position": step.position,
                "role": step.step.role,
                "state": step.state.value,
                "scope": vocabulary.canonical(LabelKind.SCOPE, intent.scope) if intent and intent.scope else None,
                "event_types": read(LabelKind.EVENT_TYPE, intent.event_types) if intent else (),
                "entity_types": read(LabelKind.ENTITY_TYPE, intent.entity_types) if intent else (),
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
