"""`stitch generate`: new benchmark data."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import click

from stitch.bench.generate.environment import PLAIN, WORDINGS
from stitch.bench.generate.generation import SIZES, generate
from stitch.bench.generate.questions import GeneratedTrajectory, require_free, write_release
from stitch.bench.generate.realization import ModelWriter
from stitch.bench.metrics.evidence import TOKENIZER
from stitch.bench.models import configured_model
from stitch.errors import SettingsError
from stitch.lm import LanguageModel


@click.group()
def group() -> None:
    """Generate benchmark data."""


_SEED = click.option("--seed", type=int, default=0, show_default=True, help="The seed of the data.")
_OUT = click.option("--out", type=click.Path(file_okay=False, path_type=Path), required=True,
                    help="The folder to write to; must not hold data yet.")  # fmt: skip
_JSON = click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")


@group.command()
@click.option(
    "--domain", type=click.Choice(["travel", "debate"]), required=True, help="The subject of the trajectories."
)
@click.option("--size", type=click.Choice(sorted(SIZES)), default="S", show_default=True,
              help="About 23k (S), 137k (M) or 408k (L) tokens.")  # fmt: skip
@click.option(
    "--trajectories", type=click.IntRange(1, 1000), default=1, show_default=True, help="The number of trajectories."
)
@click.option("--wording", type=click.Choice(sorted(WORDINGS)), default=PLAIN.name, show_default=True,
              help="The wording: templates (plain), or the same plan as people talk (chat).")  # fmt: skip
@click.option("--model", "by_model", is_flag=True, help="Let the configured model (STITCH_MODEL) write the turns.")
@_SEED
@_OUT
@_JSON
def came(
    domain: str, size: str, seed: int, trajectories: int, out: Path, wording: str, by_model: bool, as_json: bool
) -> None:
    """Generate trajectories like those of CAME-Bench, with questions, in the format of its release.

    \b
    Example:
      stitch generate came --domain travel --size S --seed 1 --out came-travel-s
      stitch generate came --domain travel --size S --seed 1 --wording chat --out came-travel-chat
    """
    require_free(out)
    if by_model and wording != PLAIN.name:
        raise SettingsError("--wording and --model both say how people talk", hint="give one of them")
    model = configured_model() if by_model else None
    if by_model and model is None:
        raise SettingsError("--model needs a language model", hint="set STITCH_MODEL, for example openai/gpt-5-mini")
    write, writers = (ModelWriter(model), model.limits.concurrency) if model else (None, 1)
    made = [
        generate(domain, SIZES[size], seed=f"{size} {seed} {number}", write=write, writers=writers,
                 wording=WORDINGS[wording])
        for number in range(trajectories)
    ]  # fmt: skip
    settings = {"domain": domain, "size": size, "seed": seed, "trajectories": trajectories, "wording": wording}
    report = {**settings, **_figures(made, model)}
    write_release(made, out, manifest=report)
    if as_json:
        click.echo(json.dumps({**report, "out": str(out)}))
        return
    number = "one trajectory" if trajectories == 1 else f"{trajectories} trajectories"
    told = ", ".join(f"{report[name]:,} {name}" for name in ("turns", "tokens", "questions"))
    click.echo(f"wrote {number} to {out}: {told}")
    if model is not None:
        operations = sum(len(trajectory.storyboard.operations) for trajectory in made)
        share = f"{report['written_by_model']:,} of {operations:,} operations"
        click.echo(f"{share} are in the words of {model.name}, the others in those of templates", err=True)


def _figures(made: list[GeneratedTrajectory], model: LanguageModel | None) -> dict[str, Any]:
    """Counts of all parts, and of what a model wrote, with its cost."""
    figures, types = [trajectory.statistics() for trajectory in made], Counter[str]()
    for each in figures:
        types.update(each["questions_by_type"])
    told = {name: sum(each[name] for each in figures) for name in ("turns", "tokens", "questions")}
    told |= {"questions_by_type": dict(types), "per_trajectory": figures, "tokenizer": TOKENIZER}
    if model is not None:
        spent, written = model.ledger.total(), sum(trajectory.written for trajectory in made)
        told |= {"model": model.name, "written_by_model": written, "model_calls": spent.calls,
                 "model_tokens": spent.tokens, "model_cost_usd": spent.cost_usd}  # fmt: skip
    return told
