"""`stitch forget`: correct, retire, erase, expire."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from stitch.api.maintenance_models import ExpireRequest, ExpireResponse
from stitch.api.models import ForgetRequest
from stitch.api.operations import ask, made
from stitch.cli.correct import command as correct
from stitch.console.options import json_option, memory_options, opened_memory
from stitch.console.printing import print_json
from stitch.errors import InputError, StoreError

if TYPE_CHECKING:
    from stitch.api.models import ProofModel

Command = TypeVar("Command", bound=Callable[..., Any])

_NONE = "no step is what was named; `stitch show --steps` and `stitch labels` say what there is"

_SECONDS = {"m": 60, "h": 3600, "d": 86_400, "w": 604_800}


def _selecting(command: Command) -> Command:
    options = (
        click.option("--trajectory", metavar="ID", help="Steps of this trajectory."),
        click.option("--step", metavar="ID", help="This step of the trajectory."),
        click.option("--scope", metavar="NAME", help="Steps of this thematic scope."),
        click.option("--event-type", metavar="NAME", help="Steps of this event type."),
        click.option("--older-than", metavar="AGE", help="Steps accepted longer ago than 90d (or w, h, m)."),
        click.option("--all", "everything", is_flag=True, help="All steps of the tenant."),
        click.option("--dry-run", is_flag=True, help="Only say how many steps these are."),
        click.option("--trust-clock", is_flag=True, help="Go by --older-than though the clock may have jumped ahead."),
    )
    for option in reversed(options):
        command = option(command)
    return command


@click.group()
def group() -> None:
    """Correct steps, retire them from retrieval, or erase them. Only ever of one tenant.

    \b
    Example:
      stitch forget correct 12 --trajectory trip-1 --scope "day 2" --memory trip.memory
      stitch forget retire --event-type chat --older-than 90d --memory trip.memory
      stitch forget erase --trajectory trip-1 --dry-run --memory trip.memory
      stitch forget expire --dry-run --config stitch.yaml --memory trip.memory
    """


group.add_command(correct, "correct")


@group.command()
@memory_options
@_selecting
@click.option("--reason", metavar="TEXT", default="", help="Why; goes into the receipts.")
@json_option
def retire(*, as_json: bool, dry_run: bool, trust_clock: bool, reason: str, **arguments: Any) -> None:
    """Take steps out of retrieval for good, and keep them in the journal for audit.

    If no step was accepted for more than a year and fewer would be old enough without it, the clock may have jumped
    ahead: nothing is done by --older-than, until --trust-clock says that it is right.

    \b
    Example:
      stitch forget retire --event-type chat --older-than 90d --memory trip.memory
    """
    request, settings = _request("retire", arguments, dry_run=dry_run, trust_clock=trust_clock, reason=reason)
    with opened_memory(**settings) as memory:
        retired = ask(memory, "forget", request)
    steps = retired.steps
    if as_json:
        print_json(retired.model_dump(exclude_unset=True))
    else:
        click.echo(f"{steps} steps would be retired" if dry_run else f"{steps} steps are retired")
    if not steps:
        click.echo(f"stitch: {_NONE}, or all of them are retired", err=True)


@group.command()
@memory_options
@_selecting
@json_option
@click.pass_context
def erase(context: click.Context, /, *, as_json: bool, dry_run: bool, trust_clock: bool, **arguments: Any) -> None:
    """Erase steps everywhere in the memory, and what other steps have from them; then search every file for them.

    The exit status is 5 if a trace of them is left. Copies made earlier, such as backups, are not touched. If no step
    was accepted for more than a year and fewer would be old enough without it, the clock may have jumped ahead: nothing
    is done by --older-than, until --trust-clock says that it is right.

    \b
    Example:
      stitch forget erase --trajectory trip-1 --dry-run --memory trip.memory
      stitch forget erase --trajectory trip-1 --memory trip.memory
    """
    request, settings = _request("erase", arguments, dry_run=dry_run, trust_clock=trust_clock)
    with opened_memory(**settings) as memory:
        erased = ask(memory, "forget", request)
    if as_json:
        print_json(erased.model_dump(exclude_unset=True))
    elif dry_run:
        click.echo(f"{erased.steps} steps would be erased")
    else:
        click.echo(f"{erased.steps} steps of {erased.trajectories} trajectories are erased")
        if erased.steps:
            _print_proof(erased.proof)
    if not erased.steps:
        nothing = "" if dry_run else "; nothing was erased, and nothing searched for"
        click.echo(f"stitch: {_NONE}{nothing}", err=True)
    if erased.proof and erased.proof.found:
        context.exit(StoreError.exit_code)


@group.command()
@memory_options
@click.option("--dry-run", is_flag=True, help="Only say how many steps each rule concerns.")
@click.option("--trust-clock", is_flag=True, help="Apply the rules though the clock may have jumped ahead.")
@json_option
@click.pass_context
def expire(context: click.Context, /, *, as_json: bool, dry_run: bool, trust_clock: bool, **arguments: Any) -> None:
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
    with opened_memory(**arguments) as memory:
        expiry: ExpireResponse = ask(memory, "expire", ExpireRequest(dry_run=dry_run, trust_clock=trust_clock))
    proof = expiry.proof
    if as_json:
        print_json(expiry.model_dump())
    else:
        for rule in expiry.rules:
            kind = "of any event type" if rule.event_type is None else f"of event type {rule.event_type}"
            done = f"{'would be' if dry_run else 'are'} {rule.action}d"
            late = f"; {rule.waiting} more wait for their labels" if rule.waiting else ""
            click.echo(f"{rule.steps} steps {kind} older than {rule.older_than_days:g} days {done}{late}")
        if proof:
            _print_proof(proof)
    if expiry.silent_days and dry_run:
        click.echo(
            f"stitch: no step was accepted in {expiry.silent_days} days, without which less would expire: the clock may"
            " have jumped",
            err=True,
        )
    if expiry.to_come:
        click.echo(f"stitch: {expiry.to_come} steps were accepted at a time to come: they expire late", err=True)
    if not expiry.rules:
        click.echo("stitch: the settings have no retention rules; see `stitch forget expire --help`", err=True)
    if proof and proof.found:
        context.exit(StoreError.exit_code)


def _print_proof(proof: ProofModel) -> None:
    click.echo(
        f"proof: all files were searched for {proof.traces} texts, names and ids"
        f" of them ({proof.said_elsewhere} of which other steps say too): {len(proof.found)} files hold any"
    )
    for found in proof.found:
        click.echo(f"  {found}")
    for place in proof.not_searched:
        click.echo(f"not searched: {place}")


def _request(action: str, arguments: dict[str, Any], **options: Any) -> tuple[ForgetRequest, dict[str, Any]]:
    """What the options ask for, and the options that are left."""
    age = arguments.pop("older_than")
    names = ("trajectory", "step", "scope", "event_type", "everything")
    chosen = {name: arguments.pop(name) for name in names}
    before = None if age is None else time.time() - _age_s(age)
    return made(ForgetRequest, action=action, **chosen, accepted_before=before, **options), arguments


def _age_s(age: str) -> float:
    if not (found := re.fullmatch(r"(\d+(?:\.\d+)?)([mhdw])", age.strip())):
        raise InputError(f"age {age!r} is not understood", hint="write 30m, 12h, 90d or 6w")
    return float(found[1]) * _SECONDS[found[2]]
