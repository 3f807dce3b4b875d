"""What persons have corrected: labels that are known to be right, for whoever learns from them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from stitch.core import LabelKind, StepLabels
from stitch.journal.sqlite import Journal


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
    rows = journal.rows(
        "SELECT t.name, s.position, labels.labels,"
        " (SELECT history.labels FROM history WHERE history.seq = s.seq ORDER BY number LIMIT 1)"
        " FROM steps s JOIN trajectories t ON t.number = s.trajectory JOIN labels ON labels.seq = s.seq"
        " WHERE t.tenant = ? AND s.seq IN (SELECT seq FROM history) ORDER BY s.seq",
        tenant,
    )
    for trajectory, position, now, first in rows:
        if first is None:
            continue
        right, wrong = StepLabels.model_validate_json(now), StepLabels.model_validate_json(first)
        kinds = frozenset(kind for kind in LabelKind if right.intent.of(kind) != wrong.intent.of(kind))
        if kinds:
            yield Correction(trajectory, position, right.made_by, kinds, right)
