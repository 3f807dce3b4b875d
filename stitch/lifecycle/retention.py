"""Steps retired and put back, and retention rules applied: what is too old is retired or erased, counted first."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from stitch.core import StepsRestored, StepsRetired, StepState, clean_text
from stitch.core.retention import SECONDS_PER_DAY, RetentionRule
from stitch.errors import InputError
from stitch.ingest.ingestor import Ingestor
from stitch.journal import Journal, Selected
from stitch.lifecycle.erase import TRUSTED_CLOCK, erase
from stitch.lifecycle.selection import Selector, by_trajectory, select
from stitch.lifecycle.traces import Proof

MOST_SILENT_DAYS = 365
"""If a tenant's steps are silent for longer, the clock may have jumped ahead meanwhile.

A jump shows as a silence: before the first step that was accepted after it, or before now. Whoever says that the clock
is right is not asked about the same silence again.
"""


def retire(ingestor: Ingestor, selected: Sequence[Selected], *, tenant: str, at: float, reason: str) -> int:
    """Take steps out of retrieval; the journal keeps them, with the reason. Return how many were not retired before.

    Raises:
        InputError: Some wait for their labels; none was retired.
    """
    if waiting := [each for each in selected if not each.labeled]:
        raise InputError(
            f"{len(waiting)} of the steps wait for their labels, the first is {waiting[0].step!r}",
            hint="`stitch retry` labels them; erasing needs no labels",
        )
    reason = ingestor.secrets.text(reason)
    retired = 0
    for trajectory, group in by_trajectory(selected):

        def change(trajectory: str = trajectory, group: Sequence[Selected] = group) -> None:
            nonlocal retired
            seqs = [each.seq for each in group]
            retired += ingestor.journal.retire(seqs, at=at, reason=reason)
            ingestor.snippets.bring_up(seqs)  # all of them: an earlier call may have come no further

        ingestor.rework(tenant, trajectory, change)
        ingestor.replay(tenant, trajectory)
        ids = tuple(each.step for each in group)
        ingestor.notice(StepsRetired(tenant=tenant, trajectory=trajectory, steps=ids, reason=reason))
    return retired


def unretire(ingestor: Ingestor, selected: Sequence[Selected], *, tenant: str, at: float, by: str) -> int:
    """Put retired steps back into retrieval; return how many were retired. Repeating it is harmless.

    Raises:
        StoreError: The journal has put them back, and the store does not hold all of them: `retry` puts them.
    """
    by = clean_text(ingestor.secrets.text(by))
    back = 0
    for trajectory, group in by_trajectory(selected):

        def change(group: Sequence[Selected] = group) -> None:
            nonlocal back
            back += ingestor.journal.unretire([each.seq for each in group], at=at, by=by)

        ingestor.rework(tenant, trajectory, change)
        ingestor.replay(tenant, trajectory)
        ids = tuple(each.step for each in group)
        ingestor.notice(StepsRestored(tenant=tenant, trajectory=trajectory, steps=ids, by=by))
    return back


class Expired(NamedTuple):
    """Results of one retention rule."""

    rule: RetentionRule
    steps: int
    """Number of steps it concerns; of a step that several rules concern, the first has it, erasing before retiring."""
    waiting: int = 0
    """Number of further steps that it would retire if they had labels."""


class Expiry(NamedTuple):
    """Results of the retention rules, and signs of a clock that is wrong."""

    rules: tuple[Expired, ...]
    """One a rule, in the order of the rules."""
    proof: Proof | None = None
    """Of what was erased, that it is gone; None if nothing was."""
    silent_days: int = 0
    """The longest time without a step without which less would expire, where it is so long that the clock may have
    jumped ahead (`MOST_SILENT_DAYS`); 0 if there is none."""
    to_come: int = 0
    """How many steps were accepted at a time that is yet to come, by a clock that was ahead then: they expire late."""


def expire(
    ingestor: Ingestor,
    rules: Sequence[RetentionRule],
    *,
    tenant: str,
    folder: Path,
    now: float,
    dry_run: bool = False,
    trust_clock: bool = False,
) -> Expiry:
    """Apply retention rules to the steps of a tenant. An interrupted call is to be repeated.

    Rules are in any order; what is to be erased is erased first. By a clock that has jumped back, fewer steps are old
    enough.

    Raises:
        InputError: The clock may have jumped ahead (`MOST_SILENT_DAYS`); nothing was changed.
    """
    found = _found(ingestor, rules, tenant=tenant, now=now)
    proof = None
    journal, aged = ingestor.journal, [(taken.steps, taken.rule.accepted_before(now)) for taken in found]
    silence = silent_days(journal, aged, tenant=tenant, now=now)
    if not dry_run:
        trust(journal, silence, tenant=tenant, now=now, trust_clock=trust_clock)
        gone = [each for taken in found if taken.rule.action == "erase" for each in taken.steps]
        if gone:
            proof = erase(ingestor, gone, tenant=tenant, folder=folder).proof
        for rule, steps, _ in found:
            if rule.action == "retire":
                retire(ingestor, steps, tenant=tenant, at=now, reason=f"retention, {_said(rule)}")
    expired = tuple(Expired(rule, len(steps), waiting) for rule, steps, waiting in found)
    to_come = sum(at > now + SECONDS_PER_DAY for at in journal.accepted_at(tenant).values())
    return Expiry(expired, proof, silence, to_come)


def trust(journal: Journal, silent_days: int, *, tenant: str, now: float, trust_clock: bool) -> None:
    """Go on after a silence only if the clock is trusted; then note that it is.

    Raises:
        InputError: It may have jumped ahead, and nobody says that it is right.
    """
    if not silent_days:
        return
    if not trust_clock:
        raise InputError(
            f"the clock may have jumped ahead: no step was accepted in {silent_days} days, without which fewer steps"
            " would be old enough",
            hint="look with --dry-run and at the clock; if it is right, repeat it with --trust-clock",
        )
    journal.append_record(tenant, kind=TRUSTED_CLOCK, key="", payload=str(now).encode())


class _Taken(NamedTuple):
    """The steps that a rule takes, and how many more it would if they had labels."""

    rule: RetentionRule
    steps: list[Selected]
    waiting: int


def _found(ingestor: Ingestor, rules: Sequence[RetentionRule], *, tenant: str, now: float) -> list[_Taken]:
    """Steps that each rule takes; rules that erase choose first, then in their order, each step once."""
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


def silent_days(journal: Journal, aged: Iterable[tuple[Sequence[Selected], float]], *, tenant: str, now: float) -> int:
    """The longest silence without which fewer steps would be old enough, in days; 0 if none is too long.

    Args:
        journal: Says when steps were accepted, and up to when somebody has said that the clock is right.
        aged: Steps, and the moment before which they must have been accepted.
        tenant: Whose they are.
        now: Unix seconds.
    """
    times, trusted = journal.accepted_at(tenant), journal.records(tenant, kind=TRUSTED_CLOCK, key="")
    right = max((float(each.payload) for each in trusted), default=-math.inf)
    silences = [
        (before, after - before)
        for before, after in pairwise(sorted({min(at, now) for at in times.values()} | {now}))
        if after - before > MOST_SILENT_DAYS * SECONDS_PER_DAY and after > right
    ]
    longest = 0.0
    for steps, accepted_before in aged:
        newest = max((times[each.seq] for each in steps), default=now)
        after = [length for before, length in silences if before >= newest]
        if steps and newest + sum(after) >= accepted_before:
            longest = max(longest, *after)
    return math.floor(longest / SECONDS_PER_DAY)


def _said(rule: RetentionRule) -> str:
    kind = "any event type" if rule.event_type is None else f"event type {rule.event_type}"
    return f"{kind}, older than {rule.older_than_days:g} days"
