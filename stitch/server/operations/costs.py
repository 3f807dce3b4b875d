"""Costs of language models for a memory."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from stitch.lm import LABELING_STAGES, Charge, Totals, read_ledger, sum_up
from stitch.server.operations.answers import Answer

_ONCE_A_STEP = frozenset({"window", "scope"})
"""The stages that each labeled step goes through once."""
_CHOOSING = "filter"
"""The stage that chooses the labels of a question."""


class Mean(Answer):
    """The mean over steps that were labeled, or questions whose labels were chosen."""

    calls: float
    tokens: float
    cost_usd: float | None


class Costs(Answer):
    """Costs of language models."""

    total: Totals
    models: Mapping[str, Totals]
    stages: Mapping[str, Totals]
    trajectories: Mapping[str, Totals]
    steps: int
    """Number of steps labeled with these calls."""
    a_step: Mean | None
    """Of labeling; null if no step was labeled."""
    questions: int = 0
    """For how many questions a model chose labels."""
    a_question: Mean | None = None
    """Of choosing them; null if it chose for none."""


def read_costs(folder: Path, *, tenant: str, trajectory: str | None = None) -> Costs:
    """The costs of a tenant, or of one trajectory, by the ledger in a memory's folder."""
    charges = _charges(folder, tenant, trajectory)
    labeling = [each for each in charges if each.stage in LABELING_STAGES]
    choosing = [each for each in charges if each.stage == _CHOOSING]
    steps = sum(each.steps for each in charges if (each.used or not each.calls) and each.stage in _ONCE_A_STEP)
    questions = sum(each.steps for each in choosing)
    return Costs(
        total=whole(sum_up(charges)),
        models=_grouped(charges, "model"),
        stages=_grouped(charges, "stage"),
        trajectories=_grouped(charges, "trajectory"),
        steps=steps,
        a_step=_mean(sum_up(labeling), steps),
        questions=questions,
        a_question=_mean(sum_up(choosing), questions),
    )


def costs_by_position(folder: Path, *, tenant: str, trajectory: str) -> dict[int, dict[str, float | None]]:
    """Costs of the steps of a trajectory, by position: their shares in the calls that covered them."""
    shares: dict[int, dict[str, float | None]] = {}
    for charge in _charges(folder, tenant, trajectory):
        if charge.position is None or not charge.steps or not charge.calls:
            continue
        tokens = charge.prompt_tokens + charge.reply_tokens
        for position in range(charge.position, charge.position + charge.steps):
            had = shares.setdefault(position, {"calls": 0.0, "tokens": 0.0, "cost_usd": 0.0})
            for name, amount in (("calls", 1), ("tokens", tokens), ("cost_usd", charge.cost_usd)):
                before = had[name]
                had[name] = None if before is None or amount is None else before + amount / charge.steps
    return {position: shares[position] for position in sorted(shares)}


def _charges(folder: Path, tenant: str, trajectory: str | None) -> list[Charge]:
    from stitch.lifecycle.folder import LEDGER_FILE

    mine = (charge for charge in read_ledger(folder / LEDGER_FILE) if charge.tenant == tenant)
    return [charge for charge in mine if trajectory in (None, charge.trajectory)]


def _mean(spent: Totals, number: int) -> Mean | None:
    if not number:
        return None
    cost = None if spent.cost_usd is None else spent.cost_usd / number
    return Mean(calls=round(spent.calls / number, 4), tokens=round(spent.tokens / number, 1), cost_usd=cost)


def _grouped(charges: Iterable[Charge], field: str) -> dict[str, Totals]:
    groups: dict[str, Totals] = {}
    for charge in charges:
        groups.setdefault(getattr(charge, field), Totals()).add(charge)
    return {name: whole(totals) for name, totals in groups.items()}


def whole(totals: Totals) -> Totals:
    """The same with all fields set, so that all of them are told."""
    return Totals(**totals.model_dump(exclude={"tokens"}))
