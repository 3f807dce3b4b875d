"""The folder of a memory: where it is, what its files are called, and what an interruption may have left in it."""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from stitch.core.files import make_private_folder, refuse_links
from stitch.errors import InputError, JournalError, StoreError, StoreLockedError
from stitch.lifecycle.traces import BUILDING
from stitch.store.owner import Ownership

if TYPE_CHECKING:
    from stitch.core import SnippetStore
    from stitch.journal import Journal

JOURNAL_FILE = "journal.sqlite"
"""What the memory was given."""
RECALLS_FILE = "recalls.jsonl"
"""What it was asked, if the settings say so."""
LEDGER_FILE = "ledger.jsonl"
"""What its calls of a model cost."""
OWNER_FILE = "owner.json"
"""Who has it open: beside the journal of a memory on a server, inside the store of one in a folder."""
UNFINISHED_FILE = "unfinished"
"""Beside the journal of a memory on a server: its snippets are not all there yet, it is being restored."""

_WORKING = "exporting-"


def is_url(location: str) -> bool:
    """Whether a memory is on a server."""
    return location.startswith(("http://", "https://"))


def folder_of(location: str, *, journal: str | None, collection: str) -> Path:
    """The folder of a memory's journal, which need not be there.

    Args:
        location: A folder, or the URL of a Qdrant server.
        journal: The folder, for a memory on a server; one under the user's data folder if None.
        collection: On the server.
    """
    if not is_url(location):
        return Path(location)
    if journal is not None:
        return Path(journal)
    data = Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share")
    digest = hashlib.sha256(f"{location}\n{collection}".encode()).hexdigest()
    return data / "stitch" / digest[:16]


def owner_note(location: str, folder: Path) -> Path:
    """The file that says who has a memory open."""
    return folder / OWNER_FILE if is_url(location) else folder / "store" / OWNER_FILE


def building_note(folder: Path, *, collection: str) -> Path:
    """The file beside a journal that says that a collection on a server does not hold all of it yet."""
    return folder / (BUILDING + quote(collection, safe=""))


def restoring_in(folder: Path) -> Path:
    """Where a memory is made from a backup before it is given its place."""
    return folder.with_name(f"{folder.name}.restoring")


def check_there(location: str, folder: Path) -> None:
    """Refuse a location without a memory.

    Raises:
        InputError: There is none.
    """
    if (folder / JOURNAL_FILE).is_file():
        return
    if restoring_in(folder).exists():
        raise InputError(
            f"no memory at {location!r}: restoring it was interrupted",
            hint=f"repeat `stitch restore BACKUP --memory {location}`",
        )
    raise InputError(f"no memory at {location!r}", hint=f"`stitch ingest FILE --memory {location}` makes one")


@contextmanager
def made_folder(folder: Path) -> Iterator[None]:
    """Make a folder if it is not there; if an error ends the context, take away again what was made.

    Raises:
        JournalError: It cannot be made.
        InputError: There are symbolic links in it.
    """
    made = [folder, *folder.parents]
    made = [each for each in made if not each.exists()]
    try:
        make_private_folder(folder, parents=True)
    except OSError as error:
        raise JournalError(
            f"cannot make the folder {str(folder)!r}: {str(error.strerror).lower()}", hint="name another folder"
        ) from error
    try:
        refuse_links(folder)
        yield
    except StoreLockedError:  # somebody else has begun a memory there meanwhile
        raise
    except Exception:
        if folder in made:
            shutil.rmtree(folder, ignore_errors=True)
        for parent in made[1:]:
            if any(parent.iterdir()):
                break
            parent.rmdir()
        raise


@contextmanager
def working_folder(folder: Path) -> Iterator[Path]:
    """A folder inside that of a memory, for a copy that is needed for a while; removed in the end.

    Not under the system's folder for temporary files: what a killed process leaves of it is removed by the next one,
    and by whoever opens the memory or erases from it.
    """
    remove_abandoned(folder)
    made = Path(tempfile.mkdtemp(prefix=_WORKING, dir=folder))
    claim = Ownership(made / OWNER_FILE, what=f"the copy {str(made)!r}")
    try:
        yield made
    finally:
        claim.release()
        shutil.rmtree(made, ignore_errors=True)


def remove_abandoned(folder: Path) -> None:
    """Remove the working folders of processes that are gone."""
    for made in folder.glob(f"{_WORKING}*"):
        with suppress(StoreLockedError, StoreError):  # somebody is at it, or has just removed it
            claim = Ownership(made / OWNER_FILE, what=f"the copy {str(made)!r}")
            shutil.rmtree(made, ignore_errors=True)
            claim.release()


def check_restored(location: str, folder: Path) -> None:
    """Refuse a memory on a server that is being restored.

    Raises:
        StoreError: It is not wholly restored.
    """
    if is_url(location) and (folder / UNFINISHED_FILE).exists():
        raise StoreError(
            f"the memory {location!r} is not wholly restored", hint=f"stitch reindex --memory {location} finishes it"
        )


def check_whole(location: str, folder: Path, *, collection: str, journal: Journal, store: SnippetStore) -> None:
    """Refuse a collection that does not hold a memory yet: a search of it would find too little, and look like one.

    Raises:
        StoreError: It is empty and the memory is not, or it was being built.
    """
    if not is_url(location):
        return
    begun = building_note(folder, collection=collection).exists()
    if begun or (journal.counts().stored and not any(map(store.count, journal.tenants()))):
        does = "does not hold all of" if begun else "holds nothing of"
        raise StoreError(
            f"the collection {collection!r} of {location!r} {does} this memory",
            hint=f"stitch reindex --memory {location} {'finishes' if begun else 'fills'} it; other collections serve",
        )
