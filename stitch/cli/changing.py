"""Commands that change what a memory holds: `stitch add`, `correct` and `forget`."""

from __future__ import annotations

import sys
import time
from functools import partial
from typing import Any

import click

from stitch.console.options import Say, age_s, answering, json_option, memory_options, opened_memory, together
from stitch.console.printing import counted, one_line, print_proof, print_told
from stitch.errors import InputError
from stitch.server.operations import upkeep
from stitch.text.dates import day_of

_NONE = "no step is what was named; `stitch show --steps` and `stitch labels` say what there is"


@click.command()
@click.argument("text")
@memory_options
@click.option("--trajectory", metavar="ID", default="notes", show_default=True, help="The trajectory to append to.")
@click.option("--role", metavar="NAME", default="user", show_default=True, help="The speaker.")
@click.option("--id", "step_id", metavar="ID", help="The id of the step; the same id again changes nothing.")
@click.option("--timestamp", metavar="TIME", help="The time of the step.  [default: now]")
@json_option
def add(
    *, text: str, trajectory: str, role: str, step_id: str | None, timestamp: str | None, as_json: bool, **settings: Any
) -> None:
    """Store TEXT as one step, durably; a search finds it at once. `-` reads TEXT from standard input.

    \b
    Example:
      stitch add "The hotel in Porto is Casa Azul." --memory trip.memory
      stitch search "Which hotel is in Porto?" --memory trip.memory -k 1
    """
    if text == "-":
        text = sys.stdin.read()
    if timestamp is not None and not timestamp.isdecimal() and day_of(timestamp) is None:
        hint = "write it as 2026-03-01T12:00, or as Unix seconds"
        raise InputError(f"timestamp {timestamp!r} is no time with a date", hint=hint)
    step = {"role": role, "content": text, "id": step_id, "timestamp": timestamp}
    with opened_memory(must_exist=False, **settings) as memory:
        given = {name: value for name, value in step.items() if value is not None}
        receipt = memory.add(given, trajectory=trajectory)
    known = " already, and nothing was changed" if receipt.repeated else ""
    told = f"step {receipt.step} of {receipt.trajectory} is {receipt.state.value}{known}"
    print_told(receipt.model_dump(mode="json"), told, as_json=as_json)
    for each in receipt.redacted:
        click.echo(f"stitch: redacted before anything was written: {each.kind} {each.count}", err=True)


def _corrected(given: dict[str, Any]) -> dict[str, Any]:
    kinds = ("scope", "event_types", "entity_types")
    labels = {name: list(value) if isinstance(value, tuple) else value for name in kinds if (value := given[name])}
    return {**given, "labels": labels, "asks": given["asks"] or None}


@answering(upkeep.correct, fields=_corrected)
@click.argument("step")
@click.option("--trajectory", metavar="ID", help="The trajectory of the step; needed if several have this id.")
@click.option("--text", metavar="TEXT", help="The right text.")
@click.option("--scope", metavar="NAME", help="The right thematic scope.")
@click.option("--event", "--event-type", "event_types", metavar="NAME", multiple=True, help="The right event types.")
@click.option(
    "--entity", "--entity-type", "entity_types", metavar="NAME", multiple=True, help="The right key entity types."
)
@click.option(
    "--undo-reference", "undo", metavar="N|all", multiple=True,
    help="Undo the N-th reference that `stitch show --steps` lists, or all.",
)  # fmt: skip
@click.option(
    "--ask", "asks", metavar="TEXT", multiple=True,
    help="A question that the step answers, in other words; repeatable. An empty one removes all.",
)  # fmt: skip
@click.option("--by", metavar="NAME", default="person", show_default=True, help="The author of the correction.")
def correct(told: upkeep.Corrected, say: Say, step: str, **_: Any) -> None:
    """Replace the text or the labels of STEP, or undo references; its history keeps the earlier versions.

    Corrected labels stay when a memory is labeled again. `stitch optimize --train DIR` learns from them.

    \b
    Example:
      stitch correct 12 --trajectory trip-1 --scope "day 2" --event "ask price" --memory trip.memory
      stitch correct 12 --trajectory trip-1 --undo-reference 1 --memory trip.memory
      stitch correct 12 --trajectory trip-1 --ask "what was paid for the room" --memory trip.memory
    """
    versions = "version is" if told.revisions == 1 else "versions are"
    say(f"step {step} of {told.trajectory} is corrected; {told.revisions} earlier {versions} kept")


def _are(number: int) -> str:
    return "is" if number == 1 else "are"


@click.group()
def forget() -> None:
    """Correct steps, retire them from retrieval and put them back, or erase them; always of one tenant.

    \b
    Example:
      stitch forget correct 12 --trajectory trip-1 --scope "day 2" --memory trip.memory
      stitch forget retire --event-type chat --older-than 90d --memory trip.memory
      stitch forget unretire --event-type chat --memory trip.memory
      stitch forget erase --trajectory trip-1 --dry-run --memory trip.memory
      stitch forget expire --dry-run --config stitch.yaml --memory trip.memory
    """


forget.add_command(correct, "correct")

_naming = together(
    click.option("--trajectory", metavar="ID", help="Steps of this trajectory."),
    click.option("--step", metavar="ID", help="This step of the trajectory."),
    click.option("--scope", metavar="NAME", help="Steps of this thematic scope."),
    click.option("--event-type", metavar="NAME", help="Steps of this event type."),
    click.option("--older-than", metavar="AGE", help="Steps accepted longer ago than 90d (or w, h, m)."),
    click.option("--all", "everything", is_flag=True, help="All steps of the tenant."),
    click.option("--dry-run", is_flag=True, help="Count the steps, and change nothing."),
)
_selecting = together(
    _naming,
    click.option("--trust-clock", is_flag=True, help="Apply --older-than though the clock may have jumped ahead."),
)


def _chosen(given: dict[str, Any], *, action: str) -> dict[str, Any]:
    before = None
    if (age := given["older_than"]) is not None:
        if (seconds := age_s(age)) is None:
            raise InputError(f"age {age!r} is not understood", hint="write 30m, 12h, 90d or 6w")
        before = time.time() - seconds
    return {**given, "action": action, "accepted_before": before}


def _name_meant(told: upkeep.Forgotten, say: Say) -> None:
    for trajectory, steps in (told.meant or {}).items():
        say(f"  {steps:>5}  {one_line(trajectory)}")


@answering(upkeep.forget, group=forget, fields=partial(_chosen, action="retire"), exclude_unset=True)
@_selecting
@click.option("--reason", metavar="TEXT", default="", help="The reason, for the receipts.")
def retire(told: upkeep.Forgotten, say: Say, dry_run: bool, **_: Any) -> None:
    """Retire steps: take them out of retrieval, and keep them in the journal; `stitch forget unretire` restores them.

    If no step was accepted for more than a year and fewer would be old enough without it, the clock may have jumped
    ahead: nothing is done by --older-than, until --trust-clock says that it is right.

    \b
    Example:
      stitch forget retire --event-type chat --older-than 90d --memory trip.memory
    """
    say(f"{counted(steps=told.steps)} {'would be' if dry_run else _are(told.steps)} retired")
    _name_meant(told, say)
    if not told.steps:
        click.echo(f"stitch: {_NONE}, or all of them are retired", err=True)


@answering(upkeep.forget, group=forget, fields=partial(_chosen, action="unretire"), exclude_unset=True)
@_naming
@click.option("--by", metavar="NAME", default="person", show_default=True, help="The author of the change.")
def unretire(told: upkeep.Forgotten, say: Say, dry_run: bool, **_: Any) -> None:
    """Put retired steps back into retrieval, as they were; `stitch history` keeps that they were out.

    Those that are not retired are left alone; a dry run counts them too.

    \b
    Example:
      stitch forget unretire --trajectory trip-1 --step 12 --memory trip.memory
    """
    say(f"{counted(steps=told.steps)} {_are(told.steps)} {'meant' if dry_run else 'put back'}")
    _name_meant(told, say)
    if not told.steps:
        click.echo(f"stitch: {_NONE}, or none of them is retired", err=True)


@answering(upkeep.forget, group=forget, fields=partial(_chosen, action="erase"), exclude_unset=True)
@_selecting
def erase(told: upkeep.Forgotten, say: Say, dry_run: bool, **_: Any) -> int:
    """Erase steps everywhere in the memory, and what other steps have from them; then search every file for them.

    The exit status is 5 if a trace of them is left. Copies made earlier, such as backups, are not touched. If no step
    was accepted for more than a year and fewer would be old enough without it, the clock may have jumped ahead: nothing
    is done by --older-than, until --trust-clock says that it is right.

    \b
    Example:
      stitch forget erase --trajectory trip-1 --dry-run --memory trip.memory
      stitch forget erase --trajectory trip-1 --memory trip.memory
    """
    if dry_run:
        say(f"{counted(steps=told.steps)} would be erased")
        _name_meant(told, say)
    else:
        say(f"{counted(steps=told.steps, trajectories=told.trajectories or 0)} {_are(told.steps)} erased")
    if not told.steps:
        nothing = "" if dry_run else "; nothing was erased, and nothing searched for"
        click.echo(f"stitch: {_NONE}{nothing}", err=True)
    return print_proof(told.proof, say) if told.steps and told.proof else 0


@answering(upkeep.expire, group=forget)
@click.option("--dry-run", is_flag=True, help="Count the steps of each rule, and change nothing.")
@click.option("--trust-clock", is_flag=True, help="Apply the rules though the clock may have jumped ahead.")
def expire(told: upkeep.Expired, say: Say, dry_run: bool, **_: Any) -> int:
    """Retire or erase what is older than the rules of the settings allow.

    A rule is {older_than_days, action: retire or erase, event_type?}; `retention:` in the YAML file is a list of them.
    Age counts from when the memory accepted a step, by its own clock. Run it when you like, such as once a day. If no
    step was accepted for more than a year and less would expire without it, the clock may have jumped ahead: nothing is
    done, until --trust-clock says that it is right.

    \b
    Example:
      stitch forget expire --dry-run --config stitch.yaml --memory trip.memory
      stitch forget expire --config stitch.yaml --memory trip.memory
    """
    for rule in told.rules:
        kind = "of any event type" if rule.event_type is None else f"of event type {rule.event_type}"
        done = f"{'would be' if dry_run else _are(rule.steps)} {rule.action}d"
        late = f"; {rule.waiting} more wait for their labels" if rule.waiting else ""
        say(f"{counted(steps=rule.steps)} {kind} older than {rule.older_than_days:g} days {done}{late}")
    if told.silent_days and dry_run:
        click.echo(
            f"stitch: no step was accepted in {told.silent_days} days, without which less would expire: the clock may"
            " have jumped",
            err=True,
        )
    if told.to_come:
        click.echo(f"stitch: {told.to_come} steps were accepted at a time in the future: they expire late", err=True)
    if not told.rules:
        click.echo("stitch: the settings have no retention rules; see `stitch forget expire --help`", err=True)
    return print_proof(told.proof, say) if told.proof else 0
