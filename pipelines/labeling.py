"""Labels made anew: in place by `stitch relabel`, elsewhere by `stitch label export` and `stitch label import`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import IO, Any

import click

from stitch.console.idle import labeled_by_model
from stitch.console.options import json_option, labeling_options, memory_options, opened_memory
from stitch.console.out_file import written_privately
from stitch.console.printing import counted, print_json, print_told
from stitch.console.progress import progress_drawn
from stitch.errors import InputError, ModelError, StepRejectedError, system_reason
from stitch.lifecycle.relabel import NumberedLine
from stitch.memory import Memory
from stitch.retrieve.kinds import is_local

_model = click.option(
    "--model", metavar="NAME", help="The labeler: a model, or any name for a person. The same in both commands."
)
_asks = click.option(
    "--asks/--no-asks", default=None, help="Also ask for questions that each step answers. The same in both."
)


@click.command()
@memory_options
@labeling_options
@json_option
@click.pass_context
def relabel(context: click.Context, /, *, as_json: bool, **settings: Any) -> None:
    """Label steps again in place whose labels another labeler made: local labels by a model, or the other way around.

    An interrupted run continues when the command is given again. Steps that the labeler cannot label keep or get local
    labels; if it could label none, the exit status is 6.

    \b
    Example:
      stitch relabel --memory trip.memory --model openai/gpt-5-mini --model-budget-tokens 200000
    """
    with opened_memory(**labeled_by_model(settings)) as memory, progress_drawn("labeling"):
        if settings["labels"] is None and not memory.uses_model:
            _spare_labels(memory)
        done = memory.lifecycle.relabel()
        spent = memory.ledger.labeling()
    value = {
        "trajectories": done.trajectories, "steps": done.steps, "relabeled": done.relabeled,
        "fallback_steps": done.steps - done.relabeled, "model_calls": spent.calls, "model_tokens": spent.tokens,
        "model_cost_usd": spent.cost_usd,
    }  # fmt: skip
    lines = [f"{done.relabeled} of {counted(steps=done.steps, trajectories=done.trajectories)} labeled anew"]
    if spent.calls:
        lines.append(f"model: {counted(calls=spent.calls)}, {counted(tokens=spent.tokens)}")
    print_told(value, *lines, as_json=as_json)
    if done.steps and not done.relabeled:
        click.echo("stitch: the model labeled nothing; every step keeps its labels", err=True)
        context.exit(ModelError.exit_code)


def _spare_labels(memory: Memory) -> None:
    """Refuse to replace labels that were paid for, or made by a person, by those that cost nothing, unasked."""
    corrected = {each.by for each in memory.lifecycle.corrections()}
    made = {name: steps for name, steps in memory.status().labeled_by.items() if not is_local(name)}
    for name in made.keys() - corrected:
        raise InputError(
            f"{counted(steps=made[name])} would lose the labels that {name!r} made",
            hint="name the model with --model, or give --labels local to replace them",
        )


@click.group()
def group() -> None:
    """Label windows of steps elsewhere: by a provider's batch API, at half its price, or by hand.

    Export, have the requests answered, import; then export again: the next window of a trajectory is ready when the one
    before it is imported. Steps keep the labels they have until then; what a person corrected stays.

    \b
    Example:
      stitch label export --memory trip.memory --model openai/gpt-5-mini --format openai --out requests.jsonl
      stitch label import replies.jsonl --memory trip.memory --model openai/gpt-5-mini
    """


@group.command("export")
@memory_options
@_model
@_asks
@click.option("--window", metavar="auto|N", help="The most steps in a request.  [default: auto]")
@click.option("--format", "form", type=click.Choice(["neutral", "openai"]), default="neutral", show_default=True,
              help="The format of the lines: our own, or that of OpenAI's batches.")  # fmt: skip
@click.option("--out", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE",
              help="The file to write.  [default: standard output]")  # fmt: skip
@json_option
def export_command(*, form: Any, out: Path | None, as_json: bool, **settings: Any) -> None:
    """Write the next window of each trajectory as a request, one line of JSON each.

    A line holds the prompt ("messages"), the steps, and the JSON schema of the reply. Without --out the lines go to
    standard output and the summary to standard error.

    \b
    Example:
      stitch label export --memory trip.memory --model ann --out requests.jsonl
    """
    from stitch.lm.batch import write_request
    from stitch.parts import offline_labeler

    labeler = offline_labeler(**_of_labeler(settings))
    with opened_memory(**_of_memory(settings)) as memory, _written(out) as file:
        handover = memory.lifecycle.handover(labeler)
        windows = steps = 0
        for window in handover.windows():
            file.write(write_request(window, form=form) + b"\n")
            windows, steps = windows + 1, steps + len(window.steps)
        waiting = handover.waiting()[1]
    if as_json and out is not None:
        print_json({"windows": windows, "steps": steps, "waiting_steps": waiting})
        return
    click.echo(
        f"{counted(windows=windows, steps=steps)}; {waiting} steps wait for labels in all",
        err=out is None,
    )


@group.command("import")
@click.argument("files", nargs=-1, required=True, type=click.Path(), metavar="FILE...")
@memory_options
@_model
@_asks
@json_option
@click.pass_context
def import_command(context: click.Context, /, *, files: tuple[str, ...], as_json: bool, **settings: Any) -> None:
    """Store the labels in the replies of FILEs (`-` for standard input), one line of JSON each.

    A line is {"id", "reply": {"readings": [...]}, "usage"?: {"prompt_tokens", "reply_tokens"}}, or as a batch of
    OpenAI returns it. What cannot be used is named with its line, and its window is exported again; everything else is
    stored, and the exit status is 3. The same file twice changes nothing.

    A line may also be the labels of one step: {"trajectory", "id", "scope", "event_types", "entity_types",
    "references": [{"phrase", "means"}], "summary", "asks", "words"}, of which all but the first two may be missing.

    \b
    Example:
      stitch label import replies.jsonl --memory trip.memory --model ann
    """
    from stitch.parts import offline_labeler

    labeler = offline_labeler(**_of_labeler(settings))
    with opened_memory(**_of_memory(settings)) as memory:
        handover = memory.lifecycle.handover(labeler)
        done = handover.take_in(_lines(files))
        waiting = handover.waiting()[1]
    for rejection in done.rejections:
        click.echo(f"stitch: {rejection.source}, line {rejection.line}: {rejection.reason}", err=True)
    rejections = [rejection.model_dump(exclude={"text"}) for rejection in done.rejections]
    value = {
        "windows": done.windows, "steps": done.steps, "repeated": done.repeated, "rejected": len(rejections),
        "rejections": rejections, "waiting_steps": waiting,
    }  # fmt: skip
    line = (
        f"{counted(windows=done.windows, steps=done.steps)} stored, {done.repeated} were in already,"
        f" {len(rejections)} rejected; {waiting} steps wait for labels"
    )
    print_told(value, line, as_json=as_json)
    if done.rejections:
        context.exit(StepRejectedError.exit_code)


def _of_labeler(settings: dict[str, Any]) -> dict[str, Any]:
    return {name: settings.get(name) for name in ("config", "model", "window", "asks")}


def _of_memory(settings: dict[str, Any]) -> dict[str, Any]:
    """A memory that is opened here has local labels, whatever the settings say: no model is called here."""
    from stitch.factory import is_elsewhere

    named = {name: settings[name] for name in ("config", "memory", "tenant")}
    return named if is_elsewhere(**named) else named | {"labels": "local", "filter": "local"}


def _written(out: Path | None) -> AbstractContextManager[IO[bytes]]:
    """The file, which is there when all of it is written, or standard output."""
    if out is None or out == Path("-"):
        return nullcontext(click.open_file("-", "wb"))
    return written_privately(out)


def _lines(files: tuple[str, ...]) -> Iterator[NumberedLine]:
    for name in files:
        try:
            with click.open_file(name, "rb") as lines:
                for number, line in enumerate(lines, start=1):
                    yield NumberedLine(name, number, line)
        except OSError as error:
            raise InputError(f"cannot read {name!r}: {system_reason(error)}", hint="name another file") from error
