"""A life of a journal: operations drawn by a seed, and all that it holds after them, to be compared with another's."""

from __future__ import annotations

import random
from typing import Any

from stitch.core import ContextualIntent, LabelInventory, LabelKind, LabelMerge, Step, StepLabels, StepState
from stitch.journal import Checkpoint, Journal
from stitch.journal.entries import encode_labels

LABELS = StepLabels(intent=ContextualIntent(scope="day 1", event_types=("ask",)), made_by="local", summary="short")
OTHERS = StepLabels(intent=ContextualIntent(scope="day 2", event_types=("tell",)), made_by="ann")
ENCODED = encode_labels(LABELS, step="1")
MERGE = LabelMerge(kind=LabelKind.EVENT_TYPE, alias="fetch", into="get", position=5)


def append(journal: Journal, *steps: Step, trajectory: str = "t", tenant: str = "a", **options: Any) -> list[Any]:
    """Accept steps, by default at moment 1.5."""
    options.setdefault("recorded", 1.5)
    return journal.append_many(steps, tenant=tenant, trajectory=trajectory, **options)


def say(content: str, **fields: Any) -> Step:
    """A step of a user."""
    return Step(role="user", content=content, **fields)


def nested(depth: int) -> Any:
    """A list in a list, so deep."""
    value: Any = 1
    for _ in range(depth):
        value = [value]
    return value


def everything(journal: Journal, *tenants: str) -> list[Any]:
    """All that a journal holds, as far as it tells."""
    return [
        (
            list(journal.kept(tenant)),
            journal.trajectories(tenant),
            journal.counts(tenant),
            list(journal.changes(tenant=tenant)),
            [journal.checkpoint(tenant, name) for name in journal.trajectories(tenant)],
            journal.redactions(tenant),
            journal.makers(tenant),
        )
        for tenant in tenants
    ]


def live(journal: Journal, seed: int, *, operations: int = 60) -> None:
    """Do something with a journal, always the same for the same seed."""
    chance = random.Random(seed)
    for number in range(operations):
        _do_something(journal, chance, number)


def _do_something(journal: Journal, chance: random.Random, number: int) -> None:
    # Complexity over 15 because each branch is one operation of a journal, with what it is given here.
    tenant, trajectory = chance.choice("ab"), chance.choice("tu")
    states = tuple(state for state in StepState if state is not StepState.RETIRED)  # these stay as they are
    entries = list(journal.entries(tenant, trajectory, states=states))
    bare = [entry.seq for entry in entries if entry.labels is None]
    labeled = [entry.seq for entry in entries if entry.labels is not None]
    some = chance.sample(entries, min(len(entries), chance.randrange(3)))
    seqs = sorted(entry.seq for entry in some)
    kind = chance.randrange(10)
    if kind < 3 or not entries:
        count = chance.randrange(4)
        append(
            journal,
            *(say(f"{number} {n}") for n in range(count)),
            tenant=tenant,
            trajectory=trajectory,
            recorded=number,
        )
    elif kind == 3:
        journal.record_labels([(seq, ENCODED) for seq in bare[:2]])
    elif kind == 4:
        journal.record_stored(labeled[:2])
    elif kind == 5:
        journal.record_failed(seqs, "because")
    elif kind == 6:
        for entry in some:
            labels = OTHERS if entry.labels is not None else None
            saved = Checkpoint("local", number, b"saved", LabelInventory()) if chance.random() < 0.5 else None
            right = say(f"right {number}", id=entry.id)
            journal.correct(entry.seq, step=right, labels=labels, at=number, by="ann", checkpoint=saved)
    elif kind == 7:
        journal.retire(seqs, at=number, reason="old")
    elif kind == 8:
        kept = [(seq, encode_labels(OTHERS, step="")) for seq in labeled if seq not in seqs][:1]
        journal.record_removed(seqs)
        saved = (
            Checkpoint("local", number, b"saved", LabelInventory(merges=(MERGE,))) if chance.random() < 0.5 else None
        )
        all_gone = {entry.seq for entry in entries} <= set(seqs)
        journal.erase(seqs, tenant=tenant, trajectory=trajectory, labels=kept, checkpoint=None if all_gone else saved)
    else:
        inventory = LabelInventory(steps=len(entries), merges=(MERGE,) if chance.random() < 0.3 else ())
        journal.save_checkpoint(tenant, trajectory, Checkpoint("local", len(entries), b"saved", inventory))
