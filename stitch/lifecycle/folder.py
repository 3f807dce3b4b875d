"""The folder of a memory: where it is, what its files are called, and what an interruption may have left in it."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from stitch.core.files import (
    keep_others_from_writing,
    make_private_folder,
    private,
    refuse_links,
    replace_file,
    sync,
)
from stitch.errors import InputError, JournalError, SettingsError, StoreError, StoreLockedError, system_errors
from stitch.ingest.snippets import SNIPPETS
from stitch.journal.database import is_postgres
from stitch.store.owner import Ownership

if TYPE_CHECKING:
    from stitch.core import SnippetStore
    from stitch.journal import Journal

JOURNAL_FILE = "journal.sqlite"
"""What the memory was given."""
RECALLS_FILE = "recalls.jsonl"
"""What it was asked, if the settings say so."""
LM_CACHE_FILE = "lm_cache"
"""Says where DSPy's response cache is, if it was ever used for this memory."""
LEDGER_FILE = "ledger.jsonl"
"""What its calls of a model cost."""
IDENTITY_FILE = "journal.id"
"""Which journal it is: a collection on a server carries it. No copy of a journal has it but one of the whole folder."""
OWNER_FILE = "owner.json"
"""Who has it open: beside the journal of a memory on a server, inside the store of one in a folder."""
SERVED = "stitch+"
"""Before `http://` or `https://`: a memory is served there, and not a Qdrant server."""

NEXT_FOLDER = "reindex"
"""Where in the folder of a memory its next store is built."""

_WORKING = "exporting-"
_EMBEDDER_NOTE, _OLD = "embedder", "old"


def is_url(location: str) -> bool:
    """Whether a memory is on a server."""
    return location.startswith(("http://", "https://"))


def without_password(url: str | None) -> str | None:
    """The URL of a journal as it is shown."""
    return url and re.sub(r"(://[^/@:]*):[^/@]*@", r"\1:***@", url)


def is_shared(location: str, *, journal: str | None) -> bool:
    """Whether any number of processes may have a memory open at once.

    Raises:
        SettingsError: Its journal is in PostgreSQL, and its snippets are not on a server.
    """
    if journal is None or not is_postgres(journal):
        return False
    if not is_url(location):
        raise SettingsError(
            "a journal in PostgreSQL is of no use beside a store in a folder",
            hint="name a Qdrant server with --memory http://...",
        )
    return True


def is_served(location: str) -> bool:
    """Whether a location is the URL of a memory that `stitch serve` serves."""
    return location.startswith((f"{SERVED}http://", f"{SERVED}https://"))


def check_not_served(location: str) -> None:
    """Refuse the URL of a served memory where a whole folder is needed.

    Raises:
        InputError: It is one.
    """
    if is_served(location):
        raise InputError(f"the memory {location!r} is served by another process", hint="do this where its folder is")


def folder_of(location: str, *, journal: str | None, collection: str) -> Path:
    """The folder of a memory's journal, which need not be there.

    Of several URLs the first names the memory. Without a folder for it, its journal is under the user's data folder; of
    a journal in PostgreSQL what is left beside it.
    """
    if not is_url(location):
        return Path(location)
    first = location.partition(",")[0].strip()
    if journal is not None and is_postgres(journal):  # here is what belongs to this machine, such as what was asked
        return own_folder(f"{first}\n{collection}\n{journal.rpartition('@')[2]}")
    return own_folder(f"{first}\n{collection}") if journal is None else Path(journal)


def own_folder(name: str) -> Path:
    """A folder under the user's data folder for what belongs to something elsewhere; it need not be there."""
    data = Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share")
    return data / "stitch" / hashlib.sha256(name.encode()).hexdigest()[:16]


def owner_note(location: str, folder: Path) -> Path:
    """The file that says who has a memory open."""
    return folder / OWNER_FILE if is_url(location) else folder / "store" / OWNER_FILE


def journal_id(folder: Path) -> str:
    """The id of the journal in a folder that is there; made the first time it is asked for.

    Raises:
        JournalError: It cannot be read or written.
    """
    path = folder / IDENTITY_FILE
    try:
        if not path.exists():
            replace_file(path, str(uuid.uuid4()).encode())
        return str(uuid.UUID(path.read_text()))
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else None
        raise JournalError(
            f"the id of the journal, {str(path)!r}, cannot be used: {(reason or 'it is damaged').lower()}",
            hint="remove the file, then `stitch reindex --adopt --dry-run`",
        ) from error


def restoring_in(folder: Path) -> Path:
    """Staging folder in which a memory is made from a backup before it is given its place."""
    folder = folder.absolute()  # "." has no name
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
    if files := [str(each) for each in (folder, *folder.parents) if each.exists() and not each.is_dir()]:
        raise InputError(f"no memory at {location!r}: {files[0]!r} is a file", hint="name a folder")
    served = f"; a server of `stitch serve` is named stitch+{location}" if "://" in location else ""
    raise InputError(f"no memory at {location!r}", hint=f"`stitch ingest FILE --memory {location}` makes one{served}")


def note_cache(folder: Path, *, used: bool) -> None:
    """Write down where replies of models are cached outside of a folder, for whoever erases something later."""
    if used:
        from stitch.lm.endpoints import cache_folder

        (folder / LM_CACHE_FILE).write_text(cache_folder())


@contextmanager
def made_folder(folder: Path) -> Iterator[None]:
    """Make a folder if it is not there; if an error ends the context, take away again what was made.

    Raises:
        JournalError: It cannot be made.
        InputError: There are symbolic links in it.
    """
    made = [folder, *folder.parents]
    made = [each for each in made if not each.exists()]
    with system_errors(JournalError, f"cannot make the folder {str(folder)!r}", hint="name another folder"):
        make_private_folder(folder, parents=True)
        keep_others_from_writing(folder)
    try:
        refuse_links(folder, written=True)
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
    made, claim = _claimed(folder)
    try:
        yield made
    finally:
        claim.release()
        shutil.rmtree(made, ignore_errors=True)


def _claimed(folder: Path) -> tuple[Path, Ownership]:
    """A new working folder and the claim on it; between the two another process may take it for abandoned."""
    for last in (False, False, False, True):
        made = Path(tempfile.mkdtemp(prefix=_WORKING, dir=folder))
        try:
            claim = Ownership(made / OWNER_FILE, what=f"the copy {str(made)!r}")
        except StoreError:
            if last:
                raise
            continue
        if (made / OWNER_FILE).exists():
            return made, claim
        claim.release()
    raise StoreError(f"a working folder in {str(folder)!r} is removed by others again and again")


def remove_abandoned(folder: Path) -> None:
    """Remove the working folders of processes that are gone."""
    for made in folder.glob(f"{_WORKING}*"):
        with suppress(StoreLockedError, StoreError):  # somebody is at it, or has just removed it
            claim = Ownership(made / OWNER_FILE, what=f"the copy {str(made)!r}")
            shutil.rmtree(made, ignore_errors=True)
            claim.release()


def check_not_emptied(journal: Journal) -> None:
    """Refuse an empty journal beside a store that holds something: the folder was copied in part, or is damaged.

    Raises:
        JournalError: It was never given anything.
    """
    if not journal.last_change():
        raise JournalError(
            "the journal is damaged or missing: it holds nothing, and the store does",
            hint="copy the whole folder again, or `stitch restore` a backup to a new one; until then keep the store: it"
            " alone has the texts",
        )


def check_whole(location: str, *, collection: str, journal: Journal, store: SnippetStore) -> None:
    """Refuse a journal and a store of which one holds nothing of what is in the other.

    A search of such a collection would find nothing, and look like one. A store in a folder that holds nothing is
    filled from the journal when the memory is opened, and so is a collection of which the journal says that it may lack
    anything.

    Raises:
        JournalError: The journal is empty and the store is not.
        StoreError: The collection is empty and the memory is not.
    """
    if store.count():
        check_not_emptied(journal)
    elif not journal.counts().stored or not journal.projected(SNIPPETS):
        return
    elif not is_url(location):
        journal.record_projected(SNIPPETS, 0)
    else:
        raise StoreError(
            f"the collection {collection!r} of {location!r} holds nothing of this memory",
            hint=f"stitch reindex --memory {location} fills it; other collections serve",
        )


# The next store, until it takes the place of the one that serves


@contextmanager
def next_store(folder: Path, *, embedder_name: str) -> Iterator[Path]:
    """The folder in which the next store of a memory is built; what an earlier run with this embedder did is kept.

    Raises:
        StoreLockedError: Another process builds one.
        StoreError: It cannot be written.
    """
    made, note = folder / NEXT_FOLDER, folder / NEXT_FOLDER / _EMBEDDER_NOTE
    with _written(made):
        make_private_folder(made)
    with _claimed_next(folder):
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
        with _claimed_next(folder), _written(made):
            if not store.exists():
                (made / "store").rename(store)
            remove_next(folder)


def remove_next(folder: Path) -> None:
    """Remove what is there of a next store; whatever interrupts it, what is left of it is not taken for one."""
    made = folder / NEXT_FOLDER
    (made / _EMBEDDER_NOTE).unlink(missing_ok=True)  # first: without it, the folder is a left-over
    shutil.rmtree(made, ignore_errors=True)  # where an open file cannot be removed, the claim's note stays


@contextmanager
def _claimed_next(folder: Path) -> Iterator[None]:
    claim = Ownership(folder / NEXT_FOLDER / "owner.json", what=f"the next store of {str(folder)!r}")
    try:
        yield
    finally:
        claim.release()


def _written(made: Path) -> AbstractContextManager[None]:
    hint = "the old one serves; free some disk space and run the command again"
    return system_errors(StoreError, f"the next store {str(made)!r} cannot be written", hint=hint)
