"""Steps taken out of retrieval; the journal keeps them."""

from __future__ import annotations

from collections.abc import Sequence

from stitch.core import snippet_id
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
    reason = ingestor.without_secrets(reason)
    retired = 0
    for trajectory, group in by_trajectory(selected):

        def change(trajectory: str = trajectory, group: Sequence[Selected] = group) -> None:
            nonlocal retired
            take_from_store(ingestor, group, tenant=tenant, trajectory=trajectory)
            retired += ingestor.journal.retire([each.seq for each in group], at=at, reason=reason)

        ingestor.rework(tenant, trajectory, change)
    return retired


def take_from_store(ingestor: Ingestor, group: Sequence[Selected], *, tenant: str, trajectory: str) -> None:
    """Delete the snippets of steps, which the journal no longer says are stored: `recover` puts them again if that is
    as far as it comes.
    """
    there = set(ingestor.journal.record_removed([each.seq for each in group]))
    # Only those: a new step may have the id of an erased one.
    ingestor.store.delete(tenant, [snippet_id(tenant, trajectory, each.step) for each in group if each.seq in there])
