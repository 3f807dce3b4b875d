"""The folder in which the next store of a memory is built, until it takes the place of the one that serves."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from stitch.core.files import make_private_folder, private, sync
from stitch.errors import StoreError, system_errors
from stitch.store.owner import Ownership

NEXT_FOLDER = "reindex"
"""Where in the folder of a memory its next store is built."""

_NOTE, _OLD = "embedder", "old"


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


def _written(made: Path) -> AbstractContextManager[None]:
    hint = "the old one serves; free some disk space and run the command again"
    return system_errors(StoreError, f"the next store {str(made)!r} cannot be written", hint=hint)
