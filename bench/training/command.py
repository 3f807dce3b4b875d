"""`stitch optimize`: compile the prompts of one part of the library on examples, and judge what came of it."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from stitch.bench.training.sources import TARGETS, open_task
from stitch.console.ending import Terminated, status_of
from stitch.console.idle import refuse_idle
from stitch.console.options import json_option, model_options
from stitch.console.printing import print_json
from stitch.console.progress import progress_drawn
from stitch.core.progress import Progress
from stitch.errors import BudgetSpentError, InputError

if TYPE_CHECKING:
    from stitch.label.model.compiled import Scores
    from stitch.pipelines.optimize.compiling import Compilation
    from stitch.pipelines.optimize.estimates import OptimizingEstimate
    from stitch.pipelines.optimize.tasks import Task

_NAMES = ("bootstrap", "mipro", "gepa", "simba")

NOT_ADOPTED = 1
"""The exit status when what was compiled is worse and was not kept."""


@click.command()
@click.argument("target")
@click.option(
    "--train",
    required=True,
    metavar="DATA",
    type=click.Path(path_type=Path),
    help="Labeled trajectories, questions with evidence, CAME-Bench, a memory, or a tree with requests.",
)
@click.option(
    "--valid",
    metavar="DATA",
    type=click.Path(path_type=Path),
    help="Other examples to judge by.  [default: a third of --train]",
)
@click.option("--optimizer", metavar="NAME", default="bootstrap", show_default=True, help=f"{', '.join(_NAMES)}.")
@click.option("--out", metavar="FILE", type=click.Path(path_type=Path), help="[default: TARGET.program.json]")
@click.option(
    "--limit",
    type=click.IntRange(min=2),
    default=40,
    show_default=True,
    help="The most examples to learn from, and to judge by.",
)
@click.option("--reflection-model", metavar="NAME", help="Another model, which proposes instructions and reflects.")
@click.option(
    "--log",
    metavar="FOLDER",
    type=click.Path(path_type=Path, file_okay=False),
    help="Keep a log; the same command continues from it, and pays nothing twice.",
)
@click.option("--budget-calls", type=click.IntRange(min=1), metavar="N", help="The most calls of the model.")
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of the random choices.")
@click.option("--dry-run", is_flag=True, help="Estimate the cost, and do nothing.")
@model_options
@click.option("--tenant", metavar="NAME", help="The tenant whose corrections are used, where --train is a memory.")
@click.option("--config", metavar="FILE", type=click.Path(), help="A YAML file of settings.")
@json_option
@click.pass_context
def command(
    context: click.Context, /, *, target: str, train: Path, valid: Path | None, optimizer: str, out: Path | None,
    limit: int, seed: int, dry_run: bool, tenant: str | None, as_json: bool, reflection_model: str | None,
    log: Path | None, budget_calls: int | None, **settings: Any,
) -> None:  # fmt: skip
    """Compile the prompts of TARGET: windowed, stepwise, filter, answerer, path or statements.

    What comes of it is judged on examples that were held back, and kept only if it is not worse there. It is used by
    naming its file: --program, or label_program, filter_program, answer_program, path_program, statement_program in
    the settings.

    \b
    Example:
      stitch optimize windowed --train star.jsonl.gz --optimizer gepa --model openai/gpt-5-mini --dry-run
      stitch optimize windowed --train star.jsonl.gz --optimizer gepa --model openai/gpt-5-mini --out window.json
      stitch ingest trip.jsonl --memory trip.memory --labels model --model openai/gpt-5-mini --program window.json
    """
    file = out or Path(f"{target}.program.json")
    _check(target, optimizer, file=file, writes=not dry_run)

    from stitch.parts import model_for
    from stitch.pipelines.optimize.compiling import compile_program
    from stitch.pipelines.optimize.estimates import estimate
    from stitch.pipelines.optimize.splitting import take

    model = model_for(**settings)
    if budget_calls is not None:
        model.limits = replace(model.limits, budget_calls=budget_calls)
    with ExitStack() as stack:
        stack.callback(model.close)
        proposer = model_for(**{**settings, "model": reflection_model}) if reflection_model else None
        if proposer is not None:
            stack.callback(proposer.close)
        task, parts = open_task(target, train, valid=valid, tenant=tenant, seed=seed, stack=stack)
        lessons, held_back = take(parts.train, limit, seed=seed), take(parts.held_back, limit, seed=seed)
        cost = estimate(task, lessons, held_back=held_back, optimizer=optimizer)
        if dry_run:
            _print_estimate(cost, as_json=as_json)
            return
        try:
            with progress_drawn():
                runs = Progress("examples run", of=cost.runs)
                made = compile_program(
                    task, lessons, held_back=held_back, optimizer=optimizer, model=model, proposer=proposer, seed=seed,
                    on_run=runs.advance, log=log,
                )  # fmt: skip
        except BudgetSpentError as error:
            kept = "nothing was kept" if log is None else f"the replies so far are kept in {str(log)!r}"
            hint = f"{kept}; it takes about {cost.model_tokens} tokens, see --dry-run; --limit N takes less"
            raise BudgetSpentError(error.message, hint=hint) from error
        except (KeyboardInterrupt, Terminated) as ended:
            again = "the same command goes on" if log else "nothing was kept, and the same command begins anew"
            click.echo(f"stitch: interrupted; {again}", err=True)
            context.exit(status_of(ended))
    if not _finish(made, task, file=file, as_json=as_json):
        context.exit(NOT_ADOPTED)


def _check(target: str, optimizer: str, *, file: Path, writes: bool) -> None:
    for what, name, known in (("target", target, TARGETS), ("optimizer", optimizer, _NAMES)):
        if name not in known:
            raise InputError(f"there is no {what} {name!r}", hint=f"name one of {', '.join(known)}")
    if optimizer == "bootstrap":
        refuse_idle("reflection_model", reason="bootstrap proposes no instructions", hint="name another --optimizer")
    if writes and file.exists():
        raise InputError(f"the file {str(file)!r} is there already", hint="name another with --out")
    if not file.parent.is_dir():
        raise InputError(f"there is no folder {str(file.parent)!r}", hint="make it, or name another file with --out")


def _print_estimate(cost: OptimizingEstimate, *, as_json: bool) -> None:
    if as_json:
        print_json(cost.model_dump())
        return
    click.echo(
        f"{cost.target} by {cost.optimizer}: about {cost.model_calls} calls of the model and {cost.model_tokens} tokens"
        f" to learn from {cost.train_examples} examples and to judge on {cost.held_back_examples}"
    )


def _finish(made: Compilation, task: Task, *, file: Path, as_json: bool) -> bool:
    """Write and report what came of it; False if it is not to be used."""
    from stitch.label.model.compiled import write_compiled

    written: Path | None = file
    if not made.changed:
        written = None
    elif not made.adopted:  # what is worse is kept aside
        names = (f"{file.stem}.rejected{n or ''}{file.suffix}" for n in range(1000))
        written = next((aside for name in names if not (aside := file.with_name(name)).exists()), None)
    if written is not None:
        write_compiled(written, made.compiled, plain=task.program())
    _report(made, task.target, written if made.adopted else None, as_json=as_json)
    if not made.changed or not made.adopted:
        click.echo(_why_not(made, written), err=True)
        return False
    if not made.decision.told:
        few = (
            f"{made.compiled.provenance.held_back_examples} examples held back are too few to decide"
            if made.decision.too_few
            else "the examples held back cannot tell it from what it replaces"
        )
        click.echo(f"stitch: {few} (p = {made.decision.p:.3f}); give more with --valid or --limit", err=True)
    return True


def _why_not(made: Compilation, aside: Path | None) -> str:
    advice = "\n  next: try another --optimizer or --seed, or give more examples with --train"
    if not made.changed:
        nothing = "stitch: nothing that was tried does better, so the prompts stay as they are, and no file was written"
        return nothing + advice
    why = (
        "does as well on the examples held back, but its longer prompts cost more than that"
        if made.cost_alone
        else "is worse on the examples held back"
    )
    kept = f", and is kept aside in {aside}" if aside is not None else ""
    return f"stitch: the compiled program {why}, and was not kept{kept}{advice}"


def _report(made: Compilation, target: str, file: Path | None, *, as_json: bool) -> None:
    source = made.compiled.provenance
    told = {
        "target": target,
        **source.model_dump(exclude={"dspy", "stitch", "data_sha256"}),
        "adopted": made.adopted,
        "changed": made.changed,
        "cost_alone": made.cost_alone,
        "too_few_to_decide": made.decision.too_few,
        "out": None if file is None else str(file),
        "recalled_calls": made.recalled_calls,
    }
    if as_json:
        print_json(told)
        return
    cost = "" if source.model_cost_usd is None else f", ${source.model_cost_usd:.4f}"
    paid = f", {made.recalled_calls} of the calls paid for before" if made.recalled_calls else ""
    click.echo(f"{target} by {source.optimizer}: learned from {source.train_examples} examples,"
               f" judged on {source.held_back_examples} others")  # fmt: skip
    click.echo(f"before: {_scores(source.before)}")
    click.echo(f"after:  {_scores(source.after)}")
    click.echo(f"model:  {source.model_calls} calls, {source.model_tokens} tokens{cost}{paid}")
    if file is not None:
        click.echo(f"kept in {file}; use it with --program {file}")


def _scores(scores: Scores) -> str:
    parts = ", ".join(f"{name} {value:.3f}" for name, value in scores.parts.items())
    return f"{scores.score:.3f} ({parts}), {scores.prompt_tokens} tokens of prompt"
