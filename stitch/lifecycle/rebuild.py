"""The store of a memory built anew from the journal, beside the one that serves, and put in its place."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from stitch.core.files import make_private_folder, private, sync
from stitch.errors import JournalError, StoreError
from stitch.ingest.ingestor import Ingestor
from stitch.journal import Journal
from stitch.lifecycle.repair import in_doubt
from stitch.store import QdrantStore
from stitch.store.owner import Ownership

NEXT_FOLDER = "reindex"
"""Where in the folder of a memory its next store is built."""

_NOTE, _OLD = "embedder", "old"


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


@contextmanager
def next_store(folder: Path, *, embedder_name: str) -> Iterator[Path]:
    """The folder in which the next store of a memory is built; what an earlier run with this embedder did is kept.

    Raises:
        StoreLockedError: Another process builds one.
        StoreError: It cannot be written.
    """
    made, note = folder / NEXT_FOLDER, folder / NEXT_FOLDER / _NOTE
    with _written(made):
        make_private_folder(made)
    with _claimed(folder):
        with _written(made):
            if not note.exists() or note.read_text() != embedder_name:
                shutil.rmtree(made / "store", ignore_errors=True)
            with open(note, "w", opener=private) as file:
                file.write(embedder_name)
        yield made


def put_in_place(folder: Path) -> None:
    """Put the next store, which is complete and closed, in place of the one that served."""
    made, store = folder / NEXT_FOLDER, folder / "store"
    with _written(made):
        store.rename(made / _OLD)
        (made / "store").rename(store)
        sync(folder)
        remove_next(folder)


def finish_move(folder: Path) -> None:
    """Finish what `put_in_place` began, if it was interrupted; else do nothing. To be called before a store is opened.

    Raises:
        StoreLockedError: Another process is at it.
    """
    made, store = folder / NEXT_FOLDER, folder / "store"
    if (made / _OLD).exists():
        with _claimed(folder), _written(made):
            if not store.exists():
                (made / "store").rename(store)
            remove_next(folder)


def remove_next(folder: Path) -> None:
    """Remove what is there of a next store; whatever interrupts it, what is left of it is not taken for one."""
    made = folder / NEXT_FOLDER
    (made / _NOTE).unlink(missing_ok=True)  # first: without it, the folder is a left-over
    shutil.rmtree(made, ignore_errors=True)  # where an open file cannot be removed, the claim's note stays


@contextmanager
def _claimed(folder: Path) -> Iterator[None]:
    claim = Ownership(folder / NEXT_FOLDER / "owner.json", what=f"the next store of {str(folder)!r}")
    try:
        yield
    finally:
        claim.release()


@contextmanager
def _written(made: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise StoreError(
            f"the next store {str(made)!r} cannot be written: {(error.strerror or str(error)).lower()}",
            hint="the old one serves; free some disk space and run the command again",
        ) from error
