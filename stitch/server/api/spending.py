"""What language models have cost a memory."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from stitch.lm import LABELING_STAGES, Charge, Totals, read_ledger, sum_up
from stitch.server.api.listing_models import CallTotals, SpendingResponse, StepMean

_ONCE_A_STEP = frozenset({"window", "scope"})
"""The stages that each labeled step goes through once."""
_CHOOSING = "filter"
"""The stage that chooses the labels of a question."""


class Spending(NamedTuple):
    """Calls, tokens and costs, summed up in several ways."""

    total: Totals
    models: Mapping[str, Totals]
    stages: Mapping[str, Totals]
    trajectories: Mapping[str, Totals]
    positions: Mapping[int, Mapping[str, float | None]]
    """Of the steps of a trajectory, by position: their shares in the calls that covered them. Of one trajectory."""
    steps: int
    """How many steps were labeled with these calls."""
    questions: int
    """For how many questions a model chose labels."""

    @property
    def labeling(self) -> Totals:
        """Of the stages of labeling."""
        return _of_stages(self.stages, LABELING_STAGES)

    def model(self) -> SpendingResponse:
        """As it is answered; `a_step` is null if no step was labeled."""
        return SpendingResponse(
            total=totals_of(self.total),
            models={name: totals_of(totals) for name, totals in self.models.items()},
            stages={name: totals_of(totals) for name, totals in self.stages.items()},
            trajectories={name: totals_of(totals) for name, totals in self.trajectories.items()},
            steps=self.steps,
            a_step=_mean(self.labeling, self.steps),
            questions=self.questions,
            a_question=_mean(self.stages.get(_CHOOSING, Totals()), self.questions),
        )

    def lines(self, *, most: int = 1 << 30) -> Iterator[str]:
        """For people; of trajectories only the `most` expensive ones."""
        dear = sorted(self.trajectories.items(), key=lambda item: -item[1].tokens)[:most]
        groups = {"total": {"": self.total}, "models": self.models, "stages": self.stages, "trajectories": dict(dear)}
        for kind, group in groups.items():
            yield kind
            for name, totals in group.items():
                cost = "cost unknown" if totals.cost_usd is None else f"${totals.cost_usd:.4f}"
                lost = f", {totals.unusable} replies cut or of no use" if totals.unusable else ""
                yield f"  {name or '-':<32} {totals.calls:>7} calls {totals.tokens:>10} tokens  {cost}{lost}"
        if len(dear) < len(self.trajectories):
            yield f"  and {len(self.trajectories) - len(dear)} more: `stitch ledger` lists them"
        if self.steps:
            calls, tokens = self.labeling.calls / self.steps, self.labeling.tokens / self.steps
            yield f"a labeled step: {calls:.3f} calls, {tokens:.0f} tokens"
        if self.questions:
            chosen = self.stages[_CHOOSING]
            calls, tokens = chosen.calls / self.questions, chosen.tokens / self.questions
            yield f"a question whose labels were chosen: {calls:.3f} calls, {tokens:.0f} tokens"
        for reason, count in sorted(self.total.rejected.items()):
            yield f"references of replies left out: {count}, {reason}"


def read_spending(folder: Path, *, tenant: str, trajectory: str | None = None) -> Spending:
    """What the ledger in a memory's folder says of a tenant, or of one trajectory."""
    from stitch.lifecycle.folder import LEDGER_FILE

    mine = (charge for charge in read_ledger(folder / LEDGER_FILE) if charge.tenant == tenant)
    charges = [charge for charge in mine if trajectory in (None, charge.trajectory)]
    return Spending(
        total=sum_up(charges),
        models=_grouped(charges, "model"),
        stages=_grouped(charges, "stage"),
        trajectories=_grouped(charges, "trajectory"),
        positions={} if trajectory is None else _by_position(charges),
        steps=sum(
            charge.steps for charge in charges if (charge.used or not charge.calls) and charge.stage in _ONCE_A_STEP
        ),
        questions=sum(charge.steps for charge in charges if charge.stage == _CHOOSING),
    )


def _of_stages(stages: Mapping[str, Totals], names: Collection[str]) -> Totals:
    found = [totals for stage, totals in stages.items() if stage in names]
    costs = [totals.cost_usd for totals in found if totals.calls]
    return Totals(
        calls=sum(totals.calls for totals in found),
        prompt_tokens=sum(totals.prompt_tokens for totals in found),
        reply_tokens=sum(totals.reply_tokens for totals in found),
        cost_usd=None if None in costs or not costs else sum(cost or 0.0 for cost in costs),
    )


def _mean(spent: Totals, number: int) -> StepMean | None:
    """The mean of so many steps or questions; None if there were none."""
    if not number:
        return None
    cost = spent.cost_usd
    return StepMean(
        calls=round(spent.calls / number, 4),
        tokens=round(spent.tokens / number, 1),
        cost_usd=None if cost is None else cost / number,
    )


def _grouped(charges: Iterable[Charge], field: str) -> dict[str, Totals]:
    groups: dict[str, Totals] = {}
    for charge in charges:
        groups.setdefault(getattr(charge, field), Totals()).add(charge)
    return groups


def _by_position(charges: Iterable[Charge]) -> dict[int, dict[str, float | None]]:
    shares: dict[int, dict[str, float | None]] = {}
    for charge in charges:
        if charge.position is None or not charge.steps or not charge.calls:
            continue
        tokens = charge.prompt_tokens + charge.reply_tokens
        for position in range(charge.position, charge.position + charge.steps):
            had = shares.setdefault(position, {"calls": 0.0, "tokens": 0.0, "cost_usd": 0.0})
            for name, amount in (("calls", 1), ("tokens", tokens), ("cost_usd", charge.cost_usd)):
                before = had[name]
                had[name] = None if before is None or amount is None else before + amount / charge.steps
    return {position: shares[position] for position in sorted(shares)}


def totals_of(totals: Totals) -> CallTotals:
    """What is answered of totals."""
    return CallTotals.made_of(totals)
