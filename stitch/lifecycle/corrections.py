"""What persons have corrected: labels that are known to be right, for whoever learns from them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from stitch.core import LabelKind, StepLabels
from stitch.ingest.state import BATCH_STEPS, chunks
from stitch.journal import Journal


class Correction(NamedTuple):
    """The labels of a step that a person has put right."""

    trajectory: str
    position: int
    by: str
    kinds: frozenset[LabelKind]
    """Which kinds of labels were changed; the others the person let stand, and may not have looked at."""
    labels: StepLabels


def corrections(journal: Journal, *, tenant: str) -> Iterator[Correction]:
    """Yield the steps of a tenant whose labels a person has changed, as they are now, in the order of acceptance."""
    correctors = journal.correctors(tenant)
    for chunk in chunks(sorted({seq for seq, _ in correctors}), BATCH_STEPS):
        past = journal.revisions(chunk)
        for entry in journal.entries_of(chunk):
            right, wrong = entry.labels, past[entry.seq][0].labels
            # A model that corrects a step goes by another name there than on the labels that it makes.
            if right is None or wrong is None or (entry.seq, right.made_by) not in correctors:
                continue
            kinds = frozenset(kind for kind in LabelKind if right.intent.of(kind) != wrong.intent.of(kind))
            if kinds:
                yield Correction(entry.trajectory, entry.position, right.made_by, kinds, right)
