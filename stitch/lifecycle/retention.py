"""Steps retired and put back, and retention rules applied: what is too old is retired or erased, counted first."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from stitch.core import MemoryEvent, StepsRestored, StepsRetired, clean_text
from stitch.core.retention import SECONDS_PER_DAY, RetentionRule
from stitch.errors import InputError
from stitch.ingest.ingestor import Ingestor
from stitch.journal import Journal, Selected
from stitch.lifecycle.selection import TRUSTED_CLOCK, Selector, by_trajectory, select
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
    reason = ingestor.secrets.clean(reason)

    def change(seqs: list[int]) -> int:
        count = ingestor.journal.retire(seqs, at=at, reason=reason)
        ingestor.snippets.bring_up(seqs)  # all of them: an earlier call may have come no further
        return count

    return _changed(ingestor, selected, tenant=tenant, change=change, event=partial(StepsRetired, reason=reason))


def unretire(ingestor: Ingestor, selected: Sequence[Selected], *, tenant: str, at: float, by: str) -> int:
    """Put retired steps back into retrieval; return how many were retired. Repeating it is harmless.

    Raises:
        StoreError: The journal has put them back, and the store does not hold all of them: `retry` puts them.
    """
    by = clean_text(ingestor.secrets.clean(by))
    change = partial(ingestor.journal.unretire, at=at, by=by)
    return _changed(ingestor, selected, tenant=tenant, change=change, event=partial(StepsRestored, by=by))


def _changed(
    ingestor: Ingestor,
    selected: Sequence[Selected],
    *,
    tenant: str,
    change: Callable[[list[int]], int],
    event: Callable[..., MemoryEvent],
) -> int:
    """Change steps trajectory by trajectory, and tell of it; return how many were changed."""
    count = 0
    for trajectory, group in by_trajectory(selected):
        count += ingestor.rework(tenant, trajectory, partial(change, [each.seq for each in group]))
        ingestor.states.replay(tenant, trajectory)
        ingestor.notice(event(tenant=tenant, trajectory=trajectory, steps=tuple(each.step for each in group)))
    return count


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
    """Apply retention rules to the steps of a tenant, in any order; see `Lifecycle.expire`.

    An interrupted call is to be repeated: what is to be erased is erased first. By a clock that has jumped back, fewer
    steps are old enough.
    """
    found = _found(ingestor, rules, tenant=tenant, now=now)
    proof = None
    journal, aged = ingestor.journal, [(steps, rule.accepted_before(now)) for rule, steps, _ in found]
    silence = silent_days(journal, aged, tenant=tenant, now=now)
    if not dry_run:
        trust(journal, silence, tenant=tenant, now=now, trust_clock=trust_clock)
        gone = [each for rule, steps, _ in found if rule.action == "erase" for each in steps]
        if gone:
            from stitch.lifecycle.erase import erase

            proof = erase(ingestor, gone, tenant=tenant, folder=folder).proof
        for rule, steps, _ in found:
            if rule.action == "retire":
                kind = "any event type" if rule.event_type is None else f"event type {rule.event_type}"
                reason = f"retention, {kind}, older than {rule.older_than_days:g} days"
                retire(ingestor, steps, tenant=tenant, at=now, reason=reason)
    expired = tuple(Expired(rule, len(steps), waiting) for rule, steps, waiting in found)
    to_come = sum(each.recorded > now + SECONDS_PER_DAY for each in journal.select(tenant))
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


def _found(
    ingestor: Ingestor, rules: Sequence[RetentionRule], *, tenant: str, now: float
) -> list[tuple[RetentionRule, list[Selected], int]]:
    """The steps that each rule takes, and how many more it would if they had labels; each step once.

    Rules that erase choose first, then in their order.
    """
    taken: set[int] = set()
    found: dict[int, tuple[RetentionRule, list[Selected], int]] = {}
    for number, rule in sorted(enumerate(rules), key=lambda item: item[1].action != "erase"):
        selector = Selector(event_type=rule.event_type, accepted_before=rule.accepted_before(now))
        steps = [each for each in select(ingestor, selector, tenant=tenant) if each.seq not in taken]
        waiting = 0
        if rule.action == "retire":
            fresh = [each for each in steps if not each.retired]
            steps = [each for each in fresh if each.labeled]
            waiting = len(fresh) - len(steps)
        taken.update(each.seq for each in steps)
        found[number] = rule, steps, waiting
    return [found[number] for number in range(len(rules))]


def silent_days(journal: Journal, aged: Iterable[tuple[Sequence[Selected], float]], *, tenant: str, now: float) -> int:
    """The longest silence without which fewer steps would be old enough, in days; 0 if none is too long.

    `aged` are steps, and the moment before which they must have been accepted. The journal says up to when somebody has
    said that the clock is right.
    """
    trusted = journal.records(tenant, kind=TRUSTED_CLOCK, key="")
    right = max((float(each.payload) for each in trusted), default=-math.inf)
    times = {min(each.recorded, now) for each in journal.select(tenant)} | {now}
    silences = [
        (before, after - before)
        for before, after in pairwise(sorted(times))
        if after - before > MOST_SILENT_DAYS * SECONDS_PER_DAY and after > right
    ]
    longest = 0.0
    for steps, accepted_before in aged:
        newest = max((each.recorded for each in steps), default=now)
        after = [length for before, length in silences if before >= newest]
        if steps and newest + sum(after) >= accepted_before:
            longest = max(longest, *after)
    return math.floor(longest / SECONDS_PER_DAY)
