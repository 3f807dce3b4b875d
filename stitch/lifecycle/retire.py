"""Steps taken out of retrieval; the journal keeps them."""

from __future__ import annotations

from collections.abc import Sequence

from stitch.core import StepsRetired
from stitch.errors import InputError
from stitch.ingest.ingestor import Ingestor
from stitch.journal import Selected
from stitch.lifecycle.selection import by_trajectory


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
        ingestor.learn(tenant, trajectory)
        ids = tuple(each.step for each in group)
        ingestor.notice(StepsRetired(tenant=tenant, trajectory=trajectory, steps=ids, reason=reason))
    return retired
