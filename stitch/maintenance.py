"""Work on a whole memory, for all tenants, from its own process or from another: copies, and memories of them.

Not for who holds one tenant's memory: that one has `Lifecycle.backup` and `Lifecycle.export`. Each function takes the
`memory` (a folder, or the URL of a Qdrant server), `config`, a YAML file of settings, and any other of
`stitch.config.Settings` by name.

More than 400 lines because a move is a backup and a restore, and a restore a copy, a rebuilding and a comparison.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from stitch import parts
from stitch.config import LoadedSettings, load_settings
from stitch.core import tenant_name
from stitch.core.files import copy_private, make_private_folder, refuse_links
from stitch.errors import (
    InputError,
    ReadOnlyError,
    StitchError,
    StoreError,
    StoreLockedError,
    StoreMismatchError,
    system_reason,
)
from stitch.factory import open_memory
from stitch.ingest import Ingestor
from stitch.ingest.snippets import SNIPPETS
from stitch.journal import Journal, check_version, copy_running
from stitch.label.local import LocalLabeler
from stitch.lifecycle import backup as backups
from stitch.lifecycle import folder as places
from stitch.lifecycle import repair
from stitch.lifecycle.backup import BackedUp
from stitch.lifecycle.folder import (
    JOURNAL_FILE,
    is_url,
    owner_note,
    restoring_in,
)
from stitch.lifecycle.read_only import cannot_be_written, copy_to_read
from stitch.lifecycle.transfer import export_lines
from stitch.store.collection import Adoption, Kind, adopted, make_room
from stitch.store.edge import holds_points
from stitch.store.owner import Ownership, held_here

if TYPE_CHECKING:
    from stitch.core import Embedder
    from stitch.journal import IngestCounts


class Restored(NamedTuple):
    """A memory made of a backup."""

    folder: Path
    tenants: int
    steps: int
    snippets: int
    disagreements: int
    """Number of disagreements in the new memory; `stitch verify` names them."""


class Reindexed(NamedTuple):
    """Contents of a store built anew."""

    snippets: int
    written: int
    """Number of those that were not there from an earlier run that was interrupted."""
    embedder: str


def reindex_memory(
    memory: str | Path | None = None, *, config: str | Path | None = None, adopt: bool = False, **settings: Any
) -> Reindexed:
    """Build the store of a memory anew from its journal, for all tenants, also with another embedder than before.

    The new store is built beside the old one and takes its place when it is complete; until then the memory opens as
    before. An interrupted run is taken up where it was.

    A collection on a server is filled again where it is. One that was made for other vectors, by another version, or
    otherwise than the settings say is dropped first; after an interruption the next opening fills it. With `adopt` one
    is dropped with what others have put there (`adoption` says what that is); then an empty journal is begun if there
    is none. Where several processes share the memory, end them first.

    Raises:
        InputError: There is no memory.
        JournalError: Steps are damaged in the journal; the old store stays as it is.
        StoreLockedError: Another process has it open.
        StoreMismatchError: A collection is another journal's, or holds what this one does not know.
    """
    loaded = _found(memory, config, settings, to_adopt=adopt)
    chosen, location, folder = loaded.settings, loaded.location, loaded.folder
    embedder, on_server = parts.embedder_for(chosen), is_url(location)
    with ExitStack() as stack:
        stack.enter_context(places.made_folder(folder))
        if not loaded.is_shared:
            if cannot_be_written(folder):
                raise ReadOnlyError(str(folder))
            if not on_server:
                places.finish_move(folder)
            note = owner_note(location, folder)
            make_private_folder(note.parent)
            stack.callback(Ownership(note, what=f"the memory {location!r}").release)
        journal = stack.enter_context(closing(parts.journal_of(chosen, folder)))
        repair.check_source(journal, store_holds=not on_server and holds_points(folder / "store"))
        path = None
        if on_server:
            _make_room(loaded, journal, embedder=embedder, adopt=adopt)
        else:
            path = stack.enter_context(places.next_store(folder, embedder_name=embedder.name))
        store = parts.store_for(chosen, location, folder=folder, path=path, embedder=embedder, journal=journal)
        stack.callback(store.close)
        ingestor = Ingestor(journal=journal, store=store, embedder=embedder, labeler=LocalLabeler())
        reached, written = journal.last_change(), repair.rebuild(ingestor) if on_server else ingestor.snippets.rebuild()
        result = Reindexed(store.count(), written, embedder.name)
        store.close()
        if path is not None:
            places.put_in_place(folder)
        journal.record_projected(ingestor.snippets.name, reached)
    return result


def _make_room(loaded: LoadedSettings, journal: Journal, *, embedder: Embedder, adopt: bool) -> None:
    """Drop the collection of a memory where it is made for something else; who opens the memory then fills it."""
    kind = Kind(journal.shared_id or places.journal_id(loaded.folder), embedder.name, embedder.dimension)
    journal.record_projected(SNIPPETS, 0)
    with closing(parts.server_of(loaded.settings, loaded.location)) as connection:
        make_room(connection, kind, adopt=adopt)


def adoption(memory: str | Path | None = None, *, config: str | Path | None = None, **settings: Any) -> Adoption | None:
    """Contents that `reindex_memory` would drop with `adopt`; None if there is nothing but this journal's.

    Raises:
        InputError: There is no memory, or it is in a folder.
    """
    loaded = _found(memory, config, settings, to_adopt=True)
    location, folder = loaded.location, loaded.folder
    if not is_url(location):
        raise InputError("only a collection on a server can be adopted", hint="name one with --memory URL")
    own = places.journal_id(folder) if (folder / JOURNAL_FILE).is_file() else ""
    if loaded.is_shared:
        with closing(parts.journal_of(loaded.settings, folder)) as journal:
            own = str(journal.shared_id)
    with closing(parts.server_of(loaded.settings, location)) as connection:
        return adopted(connection, journal=own)


def backup_memory(
    memory: str | Path | None = None,
    *,
    to: str | os.PathLike[str],
    tenant: str | None = None,
    config: str | Path | None = None,
    **settings: Any,
) -> BackedUp:
    """Copy a memory, or one tenant's alone, into a folder that is empty or not there, also while it is open elsewhere.

    Raises:
        InputError: There is no memory, nothing of a tenant that is named, or something at `to`; or this very process
            has the memory open, see `Lifecycle.backup` and `Tenants.backup`.
        JournalError: It is damaged, or the backup cannot be written.
    """
    tenant = None if tenant is None else tenant_name(tenant)
    loaded = _found(memory, config, settings)
    with _readable(loaded) as journal:
        made = backups.back_up(journal, to=to, beside=loaded.folder, at=time.time(), tenant=tenant)
    if tenant is not None and not made.tenants:  # it would look like a backup
        shutil.rmtree(made.folder)
        raise _nothing_of(tenant)
    return made


def export_memory(
    memory: str | Path | None = None,
    *,
    tenant: str | None = None,
    trajectory: str | None = None,
    config: str | Path | None = None,
    **settings: Any,
) -> Iterator[str]:
    """Yield one tenant's memory as lines of JSON, also while another process has it open; see `Lifecycle.export`.

    Raises:
        InputError: There is no memory, nothing of a tenant that is named, or no such trajectory.
    """
    tenant = None if tenant is None else tenant_name(tenant)
    if places.is_served(load_settings(config, memory=memory, **settings).location):
        with open_memory(memory, tenant=tenant, config=config, **settings) as served:
            yield from served.lifecycle.export(trajectory=trajectory)
        return
    loaded = _found(memory, config, {**settings, "tenant": tenant})
    whose = loaded.settings.tenant
    with ExitStack() as stack:
        journal = stack.enter_context(_readable(loaded))
        if isinstance(journal, Path):
            copy = stack.enter_context(places.working_folder(loaded.folder)) / JOURNAL_FILE
            copy_running(journal, to=copy, tenant=whose)
            journal = Journal(copy)
            stack.callback(journal.close)
        if tenant is not None and not journal.trajectories(tenant):
            raise _nothing_of(tenant)
        yield from export_lines(journal, tenant=whose, trajectory=trajectory)


def restore_memory(
    backup: str | os.PathLike[str],
    *,
    memory: str | Path | None = None,
    config: str | Path | None = None,
    **settings: Any,
) -> Restored:
    """Make a memory of a backup: check it, copy it, build the store from its journal, compare the two.

    Until all this is done there is no memory at the place that is named; an interrupted call is to be repeated. A
    collection that is another journal's is not touched: `reindex_memory` adopts it.

    In a folder, nothing may be there yet. Another `embedder` than before may be named.

    Raises:
        InputError: There is no backup, or something where the memory shall be.
        JournalError: The backup is damaged.
        StoreMismatchError: It was made by a later version of this library.
    """
    loaded = load_settings(config, memory=memory, **settings)
    location, folder = loaded.location, loaded.folder
    places.check_not_served(location)
    files = backups.check_backup(backup)
    if loaded.is_shared:
        return _restore_shared(loaded, files, reindex=partial(reindex_memory, memory, config=config, **settings))
    backups.check_empty(folder)
    making = restoring_in(folder)
    where, settings = (location, {**settings, "journal": str(making)}) if is_url(location) else (str(making), settings)
    identity = making / places.IDENTITY_FILE
    try:
        known = identity.read_bytes() if identity.exists() else None  # a collection may have it already
        backups.remove_unfinished(making)
        make_private_folder(making, parents=True)
        for file in files:
            copy_private(file, making / file.name)
        _check_copy(making)
        if known is not None:
            identity.write_bytes(known)
        try:
            reindex_memory(where, config=config, **settings)
        except StoreMismatchError:
            backups.put_at(making, folder)
            raise
        found = _compare(loaded, where, making)
        backups.put_at(making, folder)
    except OSError as error:
        raise StoreError(
            f"the memory {location!r} cannot be made: {system_reason(error)}",
            hint=f"repeat it: stitch restore {os.fspath(backup)} --memory {location}",
        ) from error
    return found._replace(folder=folder)


def move_memory(old: str | Path, *, memory: str, config: str | Path | None = None, **settings: Any) -> Restored:
    """Bring a memory to a server, for all tenants, and compare the two; the old one stays as it is.

    What is taken along is what the old one holds at one moment: end who adds to it first.

    Args:
        old: Its folder or URL.
        memory: The URL of the server.
        config: A YAML file of settings of the new one.
        settings: Any other of its settings, such as `journal`, the URL of a PostgreSQL database.

    Raises:
        InputError: There is no memory at `old`, `memory` is no server, or there is something already.
        StoreError: Steps are missing in the new one.
    """
    if not is_url(memory):
        raise InputError(f"{memory!r} is no Qdrant server", hint="name one: stitch move OLD http://localhost:6333")
    source = _found(old, None, {})
    with places.working_folder(source.folder) as working:
        kept = backup_memory(old, to=working / "moved")
        made = restore_memory(kept.folder, memory=memory, config=config, **settings)
    if (made.tenants, made.steps) != (kept.tenants, kept.steps):
        raise StoreError(
            f"{made.steps} steps of {made.tenants} tenants came to {memory!r}, of {kept.steps} of {kept.tenants}",
            hint="the old memory is as it was; use another collection and journal, and move again",
        )
    return made


def count_steps(
    memory: str | Path | None = None, *, tenant: str | None = None, config: str | Path | None = None, **settings: Any
) -> IngestCounts:
    """Counts of steps by state, by the journal alone: for a memory whose server cannot be reached.

    Raises:
        InputError: There is no memory.
        StoreLockedError: Another process has it open.
    """
    loaded = _found(memory, config, {"tenant": tenant, **settings})
    with _readable(loaded) as found:
        if isinstance(found, Path):
            raise StoreLockedError(f"the memory {loaded.location!r} is open in another process")
        return found.counts(loaded.settings.tenant)


def _check_copy(making: Path) -> None:
    """Refuse the copy of a journal with rows that are none, and leave nothing of it."""
    try:
        with closing(Journal(making / JOURNAL_FILE)) as journal:
            backups.check_rows(journal)
    except StitchError:
        shutil.rmtree(making)
        raise


def _nothing_of(tenant: str) -> InputError:
    return InputError(f"the tenant {tenant!r} has nothing in this memory", hint="name another with --tenant")


def _found(
    memory: str | Path | None, config: str | Path | None, settings: dict[str, Any], *, to_adopt: bool = False
) -> LoadedSettings:
    """The settings of a memory that is there.

    Who would adopt a collection on a server needs no journal yet: it may begin with an empty one.
    """
    loaded = load_settings(config, memory=memory, **settings)
    location, folder = loaded.location, loaded.folder
    places.check_not_served(location)
    if not loaded.is_shared and (not to_adopt or not is_url(location) or restoring_in(folder).exists()):
        places.check_there(location, folder)
    refuse_links(folder, written=True)
    check_version(folder / JOURNAL_FILE)  # before anything of it is touched
    return loaded


@contextmanager
def _readable(loaded: LoadedSettings) -> Iterator[Journal | Path]:
    """The journal of a memory, opened if nobody has it; else its file, to be copied."""
    settings, location, folder = loaded.settings, loaded.location, loaded.folder
    if loaded.is_shared:
        with closing(parts.journal_of(settings, folder)) as journal:
            yield journal
        return
    with ExitStack() as stack:
        if not is_url(location) and cannot_be_written(folder):
            folder = stack.enter_context(copy_to_read(folder))
        note = owner_note(location, folder)
        found: Journal | Path
        try:
            # Or a store would be begun where the next one is about to be put.
            if not is_url(location):
                places.finish_move(folder)
            make_private_folder(note.parent)
            stack.callback(Ownership(note, what=f"the memory {location!r}").release)
        except StoreLockedError as error:
            if held_here(note):
                raise InputError(
                    f"the memory {location!r} is open in this process", hint="call `backup` or `export` of what is open"
                ) from error
            found = folder / JOURNAL_FILE
        else:
            found = parts.journal_of(settings, folder)
            stack.callback(found.close)
        yield found


def _restore_shared(loaded: LoadedSettings, files: Sequence[Path], *, reindex: Callable[[], Reindexed]) -> Restored:
    """Take the journal of a backup into an empty database, and fill the collection from it."""
    folder = loaded.folder
    with places.made_folder(folder), places.working_folder(folder) as making:
        for file in files:
            copy_private(file, making / file.name)
        _check_copy(making)
        with closing(parts.journal_of(loaded.settings, folder)) as journal:
            journal.take_from(making / JOURNAL_FILE)
        for lines in making.glob("*.jsonl"):
            lines.replace(folder / lines.name)
    reindex()
    return _compare(loaded, loaded.location, folder)


def _compare(loaded: LoadedSettings, location: str, folder: Path) -> Restored:
    """Compare journal and store of a memory that is all there."""
    settings = loaded.settings
    embedder = parts.embedder_for(settings)
    with closing(parts.journal_of(settings, folder)) as journal:
        store = parts.store_for(settings, location, folder=folder, embedder=embedder, journal=journal)
        with closing(store):
            ingestor = Ingestor(journal=journal, store=store, embedder=embedder, labeler=LocalLabeler())
            tenants = journal.tenants()
            found = [repair.verify(ingestor, tenant=tenant) for tenant in tenants]
    return Restored(
        folder=folder,
        tenants=len(tenants),
        steps=sum(each.steps for each in found),
        snippets=sum(each.snippets for each in found),
        disagreements=sum(len(each.disagreements) for each in found),
    )
