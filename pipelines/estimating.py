"""Estimated costs of labeling some input with a model, before any of it is stored: `stitch ingest --dry-run`."""

from __future__ import annotations

from collections.abc import Iterable
from math import ceil
from typing import Any

import click
from pydantic import BaseModel

from stitch.console.printing import print_json
from stitch.core import Rejection, SourcedStep, Step


class LabelingEstimate(BaseModel):
    """Estimated costs of labeling some input with a model."""

    trajectories: int
    steps: int
    model_calls: int
    model_tokens: int
    model_cost_usd: float | None = None
    """None if the price of the model is not known."""
    statement_calls: int = 0
    """So many calls at most read what steps assert, beside those; none of them for steps that assert nothing."""


def estimate(
    items: Iterable[SourcedStep | Rejection], *, config: str | None = None, **settings: Any
) -> LabelingEstimate:
    """Say what labeling will cost by the settings; nothing is stored and no model is called."""
    from stitch.config import load_settings
    from stitch.label.model import StepwiseLabeler, WindowedLabeler
    from stitch.parts import labeler_for
    from stitch.themes.asking import WINDOW_STEPS

    labeler = labeler_for(config=config, **settings)
    trajectories: dict[str, list[Step]] = {}
    for item in items:
        if not isinstance(item, Rejection):
            trajectories.setdefault(item.trajectory, []).append(item.step)
    calls = asked = told = 0
    price = None
    if isinstance(labeler, StepwiseLabeler | WindowedLabeler):
        price = labeler.model.price
        for steps in trajectories.values():
            cost = labeler.estimate(steps)
            calls, asked, told = calls + cost.calls, asked + cost.prompt_tokens, told + cost.reply_tokens
    reads = load_settings(config=config, **settings).settings.statements == "model"
    return LabelingEstimate(
        trajectories=len(trajectories),
        steps=sum(map(len, trajectories.values())),
        model_calls=calls,
        model_tokens=asked + told,
        model_cost_usd=None if price is None else round(price.of(asked, told), 6),
        statement_calls=sum(ceil(len(steps) / WINDOW_STEPS) for steps in trajectories.values()) if reads else 0,
    )


def print_estimate(cost: LabelingEstimate, *, as_json: bool) -> None:
    """Print an estimate to standard output."""
    if as_json:
        print_json(cost.model_dump())
        return
    money = "" if cost.model_cost_usd is None else f", ${cost.model_cost_usd:.4f}"
    click.echo(
        f"{cost.steps} steps of {cost.trajectories} trajectories: about {cost.model_calls} calls of the model"
        f" and {cost.model_tokens} tokens{money}"
    )
    if cost.statement_calls:
        click.echo(f"beside these, at most {cost.statement_calls} calls that read what the steps assert")
