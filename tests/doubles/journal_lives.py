"""A life of a journal: operations drawn by a seed, and all that it holds after them, to be compared with another's."""

import random
from typing import Any, NamedTuple

from stitch.core import ContextualIntent, LabelInventory, LabelKind, LabelMerge, Step, StepLabels, StepState
from stitch.journal import Checkpoint, Journal
from stitch.journal.entries import Entry, encode_labels

LABELS = StepLabels(intent=ContextualIntent(scope="day 1", event_types=("ask",)), made_by="local", summary="short")
OTHERS = StepLabels(intent=ContextualIntent(scope="day 2", event_types=("tell",)), made_by="ann")
ENCODED = encode_labels(LABELS, step="1")
MERGE = LabelMerge(kind=LabelKind.EVENT_TYPE, alias="fetch", into="get", position=5)


def append(journal: Journal, *steps: Step, trajectory: str = "t", tenant: str = "a", **options: Any) -> list[Any]:
    options.setdefault("recorded", 1.5)
    return journal.append_many(steps, tenant=tenant, trajectory=trajectory, **options)


def say(content: str, **fields: Any) -> Step:
    return Step(role="user", content=content, **fields)


def nested(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = [value]
    return value


class _Now(NamedTuple):
    """A journal at one moment of its life, with what something may be done to."""

    journal: Journal
    chance: random.Random
    number: int
    tenant: str
    trajectory: str
    entries: list[Entry]
    some: list[Entry]
    """Those it is done to."""

    @property
    def seqs(self) -> list[int]:
        return sorted(entry.seq for entry in self.some)

    def labeled(self, labeled: bool) -> list[int]:
        return [entry.seq for entry in self.entries if (entry.labels is not None) is labeled]


def live(journal: Journal, seed: int, *, operations: int = 60) -> None:
    chance = random.Random(seed)
    states = tuple(state for state in StepState if state is not StepState.RETIRED)  # these stay as they are
    for number in range(operations):
        tenant, trajectory = chance.choice("ab"), chance.choice("tu")
        entries = list(journal.entries(tenant, trajectory, states=states))
        some = chance.sample(entries, min(len(entries), chance.randrange(3)))
        drawn = chance.randrange(len(_OPERATIONS))
        _OPERATIONS[drawn if entries else 0](_Now(journal, chance, number, tenant, trajectory, entries, some))


def _append(now: _Now) -> None:
    steps = [say(f"{now.number} {n}") for n in range(now.chance.randrange(4))]
    append(now.journal, *steps, tenant=now.tenant, trajectory=now.trajectory, recorded=now.number)


def _label(now: _Now) -> None:
    now.journal.record_labels([(seq, ENCODED) for seq in now.labeled(False)[:2]])


def _store(now: _Now) -> None:
    now.journal.record_stored(now.labeled(True)[:2])


def _fail(now: _Now) -> None:
    now.journal.record_failed(now.seqs, "because")


def _correct(now: _Now) -> None:
    for entry in now.some:
        labels = OTHERS if entry.labels is not None else None
        saved = Checkpoint("local", now.number, b"saved", LabelInventory()) if now.chance.random() < 0.5 else None
        right = say(f"right {now.number}", id=entry.id)
        now.journal.correct(entry.seq, step=right, labels=labels, at=now.number, by="ann", checkpoint=saved)


def _retire(now: _Now) -> None:
    now.journal.retire(now.seqs, at=now.number, reason="old")


def _erase(now: _Now) -> None:
    seqs = now.seqs
    kept = [(seq, encode_labels(OTHERS, step="")) for seq in now.labeled(True) if seq not in seqs][:1]
    now.journal.record_removed(seqs)
    now.journal.erase(seqs, tenant=now.tenant, trajectory=now.trajectory, labels=kept)


def _save(now: _Now) -> None:
    merges = (MERGE,) if now.chance.random() < 0.3 else ()
    inventory = LabelInventory(steps=len(now.entries), merges=merges)
    saved = Checkpoint("local", len(now.entries), b"saved", inventory)
    now.journal.save_checkpoint(now.tenant, now.trajectory, saved)


_OPERATIONS = (_append, _append, _append, _label, _store, _fail, _correct, _retire, _erase, _save)
"""What is done, the common ones more than once; to a journal that holds nothing, the first."""
