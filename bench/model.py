"""Costs of working with a model, without one: calls, tokens, our own time.

Answers come from rules, so that only what this library adds is measured. The text is that of a generated CAME-Bench
trip of size S.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from stitch.bench.figures import print_table
from stitch.bench.generate.generation import SIZES, generate
from stitch.console.options import json_option
from stitch.console.printing import print_json
from stitch.core import Labeler, Step
from stitch.testing.known import KnownCompletion, read_known

if TYPE_CHECKING:
    from stitch.lm import LanguageModel, Ledger

_WAYS = ("windowed", "without asks", "stepwise")


def came_steps(seed: str = "model") -> list[Step]:
    """The steps of a generated trip of the benchmark's size."""
    turns = generate("travel", SIZES["S"], seed=seed).turns
    return [Step(id=turn.id, role=turn.role, content=turn.content) for turn in turns]


def by_rules() -> LanguageModel:
    """A model in whose place rules answer."""
    from stitch.lm import LanguageModel
    from stitch.testing.model import ScriptedCompletion
    from stitch.testing.rules import compact, reply_by_rules

    return LanguageModel("rules", completion=ScriptedCompletion(compact(reply_by_rules)))


@contextmanager
def provider_by_rules() -> Iterator[str]:
    """The address of a provider on this machine that answers by rule."""
    from stitch.testing.model import LoopbackProvider
    from stitch.testing.rules import reply_by_rules

    with LoopbackProvider(reply_by_rules) as provider:
        yield provider.base_url


def measure_labeler(labeler: Labeler, steps: Sequence[Step], *, ledger: Ledger) -> dict[str, float]:
    """Calls, tokens and our own time a step over one trajectory."""
    began, count = time.thread_time(), len(steps)
    labeler.begin("trip").label(list(steps))
    spent, cpu_s = ledger.total(), time.thread_time() - began
    calls = (f"{call.name}{json.dumps(dict(call.arguments))}" for step in steps for call in step.tool_calls)
    own = (sum(len(step.content) for step in steps) + sum(map(len, calls))) / 4 / count
    return {
        "calls_per_step": round(spent.calls / count, 4),
        "tokens_per_step": round(spent.tokens / count, 1),
        "cpu_ms_per_step": round(1_000 * cpu_s / count, 3),
        "prompt_tokens_per_step": round(spent.prompt_tokens / count, 1),
        "own_tokens_per_step": round(own, 1),
        "beyond_own_tokens_per_step": round(spent.tokens / count - own, 1),
    }


def labeler_of(way: str, model: LanguageModel, *, asks: bool) -> Labeler:
    """The labeler that goes one of the ways, and asks for what steps are found by or not."""
    from stitch.embed import StaticEmbedder
    from stitch.label.local import LocalLabeler
    from stitch.label.model.stepwise import StepwiseLabeler
    from stitch.label.model.windowed import WindowedLabeler

    if way == "stepwise":
        return StepwiseLabeler(model, embedder=StaticEmbedder(), fallback=LocalLabeler(), asks=asks)
    return WindowedLabeler(model, fallback=LocalLabeler(), asks=asks)


def measure_material(data: Path, *, known: Sequence[Path], ways: Sequence[str]) -> dict[str, dict[str, float]]:
    """Calls and tokens a step of labeling each trajectory of a set of questions, or of CAME-Bench, in each way."""
    from stitch.bench.data.came import load_came
    from stitch.bench.data.sets import load_questions, trajectories_in
    from stitch.label.model.quoting import shown_text
    from stitch.lm import LanguageModel

    labels, found = read_known(known), {}
    loaded = (load_questions if trajectories_in(data) else load_came)(data)
    for trajectory in loaded.trajectories:
        own = labels.get(trajectory.id, {})
        shown = [(shown_text(step), own.get(str(step.id), {})) for step in trajectory.steps]
        for way in ways:
            asks = way == "windowed"
            model = LanguageModel("known", completion=KnownCompletion(shown, asks=asks))
            labeler = labeler_of(way, model, asks=asks)
            found[f"{trajectory.id}, {way}"] = measure_labeler(labeler, trajectory.steps, ledger=model.ledger)
    return found


@click.command()
@click.option("--data", type=click.Path(exists=True, file_okay=False, path_type=Path),
              help="Only what labeling each trajectory of this set costs, of questions or of CAME-Bench.")  # fmt: skip
@click.option("--known", multiple=True, type=click.Path(exists=True, dir_okay=False, path_type=Path), metavar="FILE",
              help="Labels with which a model answers there, as JSON lines; else rules answer.")  # fmt: skip
@click.option("--way", "ways", multiple=True, type=click.Choice(_WAYS), default=_WAYS[:2], show_default=True,
              help="How it labels there.")  # fmt: skip
@json_option
def command(data: Path | None, known: tuple[Path, ...], ways: tuple[str, ...], as_json: bool) -> None:
    """Measure what a model costs beside the model: calls, tokens, our own time.

    \b
    Example:
      stitch bench model --json
      stitch bench model --data strangers --known labels.jsonl --known asks.jsonl
    """
    measured: dict[str, Any]
    if data is not None:
        measured, title = measure_material(data, known=known, ways=ways), f"{data.name}: four letters a token"
    else:
        measured, title = _measured(), "costs beside the model"
    if as_json:
        print_json(measured)
        return
    print_table(measured, title=title)


def _measured() -> dict[str, Any]:
    steps, found = came_steps(), {}
    for way in ("windowed", "stepwise"):
        model = by_rules()
        found[way] = measure_labeler(labeler_of(way, model, asks=True), steps, ledger=model.ledger)
    return found
