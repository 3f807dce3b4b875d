"""Retention rules applied: what is older than it may be is retired or erased, counted first."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from stitch.core import StepState
from stitch.core.retention import RetentionRule
from stitch.ingest.ingestor import Ingestor
from stitch.journal import Selected
from stitch.lifecycle.erase import erase
from stitch.lifecycle.retire import retire
from stitch.lifecycle.selection import Selector, select
from stitch.lifecycle.traces import Proof


class Expired(NamedTuple):
    """What one rule came to."""

    rule: RetentionRule
    steps: int
    """How many steps it concerns; of a step that several rules concern, the first has it, erasing before retiring."""
    waiting: int = 0
    """How many more it would retire if they had labels; a step without them is not retired."""


class Expiry(NamedTuple):
    """What the rules came to."""

    rules: tuple[Expired, ...]
    """One a rule, in the order of the rules."""
    proof: Proof | None = None
    """Of what was erased, that it is gone; None if nothing was."""


def expire(
    ingestor: Ingestor, rules: Sequence[RetentionRule], *, tenant: str, folder: Path, now: float, dry_run: bool = False
) -> Expiry:
    """Apply retention rules to the steps of a tenant. An interrupted call is to be repeated.

    Args:
        ingestor: Of the memory.
        rules: In any order; what is to be erased is erased first.
        tenant: Whose steps.
        folder: Where the journal is, with rejects and traces.
        now: Unix seconds; by a clock that has jumped back, fewer steps are old enough.
        dry_run: Only count.
    """
    found = _found(ingestor, rules, tenant=tenant, now=now)
    proof = None
    if not dry_run:
        gone = [each for taken in found if taken.rule.action == "erase" for each in taken.steps]
        if gone:
            proof = erase(ingestor, gone, tenant=tenant, folder=folder).proof
        for rule, steps, _ in found:
            if rule.action == "retire":
                retire(ingestor, steps, tenant=tenant, at=now, reason=f"retention, {_said(rule)}")
    return Expiry(tuple(Expired(rule, len(steps), waiting) for rule, steps, waiting in found), proof)


class _Taken(NamedTuple):
    """The steps that a rule takes, and how many more it would if they had labels."""

    rule: RetentionRule
    steps: list[Selected]
    waiting: int


def _found(ingestor: Ingestor, rules: Sequence[RetentionRule], *, tenant: str, now: float) -> list[_Taken]:
    """What each rule takes; a step that several of them name is the first one's, and one that erases comes first."""
    retired = {(each.trajectory, each.step) for each in ingestor.receipts(tenant, state=StepState.RETIRED)}
    taken: set[int] = set()
    found: dict[int, _Taken] = {}
    for number, rule in sorted(enumerate(rules), key=lambda item: item[1].action != "erase"):
        selector = Selector(event_type=rule.event_type, accepted_before=rule.accepted_before(now))
        steps = [each for each in select(ingestor, selector, tenant=tenant) if each.seq not in taken]
        waiting = 0
        if rule.action == "retire":
            fresh = [each for each in steps if (each.trajectory, each.step) not in retired]
            steps = [each for each in fresh if each.labeled]
            waiting = len(fresh) - len(steps)
        taken.update(each.seq for each in steps)
        found[number] = _Taken(rule, steps, waiting)
    return [found[number] for number in range(len(rules))]


def _said(rule: RetentionRule) -> str:
    kind = "any event type" if rule.event_type is None else f"event type {rule.event_type}"
    return f"{kind}, older than {rule.older_than_days:g} days"
