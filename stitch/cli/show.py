"""`stitch show`: the intent timeline."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from stitch.api.listing_models import Timeline, TimelineRequest
from stitch.api.models import MOST_PAGE_ITEMS
from stitch.api.operations import ask, made
from stitch.console.options import json_option, memory_options, opened_memory
from stitch.console.printing import draw_lanes, one_line, print_json

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
        wanted = memory.trajectories() if trajectory is None else [trajectory]
        shown = [_whole(memory, name, with_steps=steps or as_json) for name in wanted]
    if as_json:
        print_json({"trajectories": [timeline.model_dump(exclude={"next"}) for timeline in shown]})
        return
    for timeline in shown:
        click.echo(f"{timeline.trajectory}  ({timeline.length} steps)")
        click.echo(draw_lanes(timeline.scopes, length=timeline.length))
        for step in timeline.steps:
            labels = ", ".join([*step.event_types, *(f"[{name}]" for name in step.entity_types)])
            name = "" if step.step == str(step.position) else f"  (step {step.step})"
            apart = f"  {step.state}" if step.state in ("failed", "retired") else ""
            click.echo(f"  {step.position:>4} {step.role:<12.12} {step.scope or '-'}: {labels}{name}{apart}")
            click.echo(f"       {one_line(step.text, limit=100)}")
            for read in step.references:
                since = f", from step {read.antecedent}" if read.antecedent is not None else ""
                read_as = f"{read.said!r} reads {read.replacement!r}"
                click.echo(f"       {read.number}. {one_line(read_as, limit=100)} ({read.confidence:.2f}{since})")
        click.echo()


def _whole(memory: Memory, trajectory: str, *, with_steps: bool) -> Timeline:
    """The timeline of a trajectory, all pages in one."""
    request = made(TimelineRequest, trajectory=trajectory, steps=with_steps, limit=MOST_PAGE_ITEMS)
    timeline: Timeline = ask(memory, "timeline", request)
    page = timeline
    steps = list(page.steps)
    while page.next is not None:
        page = ask(memory, "timeline", request.model_copy(update={"after": page.next}))
        steps += page.steps
    return timeline.model_copy(update={"steps": tuple(steps)})
