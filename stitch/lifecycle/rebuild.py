"""The store of a memory built anew from the journal, beside the one that serves, and put in its place."""

from __future__ import annotations

from contextlib import closing

from stitch.errors import JournalError, StoreError
from stitch.ingest.ingestor import Ingestor
from stitch.journal import Journal
from stitch.lifecycle.next_store import next_store, put_in_place
from stitch.lifecycle.repair import in_doubt
from stitch.store import QdrantStore


def rebuild(ingestor: Ingestor) -> int:
    """Build the store anew while it serves, and go on with it; see `Lifecycle.reindex`.

    Only at the end do writers wait, until what came in between is in the new store too.

    Raises:
        JournalError: Steps are damaged in the journal; the old store stays as it is.
        StoreError: The store is one that cannot be replaced.
        StoreLockedError: Another process builds one.
    """
    serving = ingestor.store
    if not isinstance(serving, QdrantStore):
        raise StoreError("this store is not built anew while it serves", hint="stitch reindex")
    check_source(ingestor.journal, store_holds=serving.count() > 0)
    folder = serving.path
    with next_store(folder, embedder_name=ingestor.embedder.name) as made, closing(serving.sibling(made)) as built:
        snippets = ingestor.snippets_in(built)
        written = snippets.rebuild()
        with serving.unchanged():
            written += snippets.rebuild()
            serving.replace_by(built, move=lambda: put_in_place(folder))
    return written


def check_source(journal: Journal, *, store_holds: bool) -> None:
    """See that a store may be built anew from a journal: that it is not emptied, and each step as it was written.

    Raises:
        StoreError: The journal holds nothing, and the store does.
        JournalError: Steps are damaged; the store may hold their only sound copies.
    """
    if store_holds and not journal.tenants():
        raise StoreError(
            "the journal holds nothing, and the store does: it is not built anew from that",
            hint="`stitch restore` makes a memory of a backup",
        )
    damaged = [
        f"step {each.step!r} of trajectory {each.trajectory!r} of {tenant!r}"
        for tenant in journal.tenants()
        if (doubtful := in_doubt(journal.damaged(tenant)))
        for each in journal.select(tenant)
        if each.seq in doubtful
    ]
    if damaged:
        more = f" and {len(damaged) - 1} more" if len(damaged) > 1 else ""
        raise JournalError(
            f"the store is not built anew from a damaged journal: {damaged[0]}{more}",
            hint="`stitch verify --repair` takes the copy in the store if it is right; else restore a backup, or give"
            " the steps up with `stitch forget erase`",
        )
