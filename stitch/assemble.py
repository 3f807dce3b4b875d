"""The composition root: from settings to a memory, in plain constructor calls."""

from __future__ import annotations

import logging
import shutil
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stitch import parts

_log = logging.getLogger(__name__)

SEARCH_SETTINGS = ("k", "budget_tokens", "ranking", "retriever")
"""What each search can say for itself, and so whoever asks may set as it likes."""

if TYPE_CHECKING:
    from collections.abc import Sequence

    from typing_extensions import Unpack

    from stitch.config import Settings
    from stitch.core import Observer, Retriever
    from stitch.given_settings import GivenSettings
    from stitch.memory import Memory, MemoryParts
    from stitch.tenants import Tenants


def open_memory(
    memory: str | Path | None = None,
    *,
    tenant: str | None = None,
    config: str | Path | None = None,
    must_exist: bool = False,
    observers: Sequence[Observer] = (),
    **settings: Unpack[GivenSettings],
) -> Memory:
    """Open a memory, making it if it is not there; use it as a context, or call `close`.

    What was interrupted the last time is finished first. Where another process has it open, it is used through that
    one (`share=False` refuses that): what comes back is a `stitch.remote.RemoteMemory` then, which is used as any.

    Args:
        memory: A folder, the URL of a Qdrant server, or that of a memory that `stitch serve` serves, as
            `stitch+http://HOST:PORT`; then `key` is the key that its server gave out, and says whose memory it is.
        tenant: Whose memory it is.
        config: A YAML file of settings.
        must_exist: Do not make a folder that is not there.
        observers: Are told what happens, see `stitch.observe`.
        settings: Any other of `stitch.config.Settings` by name; `GivenSettings` says their types.

    Raises:
        SettingsError: A setting is missing or wrong.
        InputError: `must_exist`, and there is no memory.
        StoreLockedError: Another process has it open and does not let it be used.
        StoreMismatchError: It was written with another embedder or schema.
    """
    from stitch.core import tenant_name
    from stitch.lifecycle.folder import folder_of, is_served, owner_note
    from stitch.memory import Memory
    from stitch.remote.joining import join_or_open, served_memory
    from stitch.remote.protocol import Hello

    loaded, location = parts.settings_for(memory, config=config, tenant=tenant, **settings)
    given = parts.given_settings(memory, config=config, tenant=tenant, **settings)
    asked: dict[str, Any] = {
        "defaults": {each: getattr(loaded, each) for each in SEARCH_SETTINGS if each in given},
        "retention": loaded.retention if "retention" in given else None,
    }
    opened_as = parts.opened_as(loaded, given, location)
    if is_served(location):
        parts.check_served(given, observers=observers)
        key, tenant = loaded.key, loaded.tenant if "tenant" in given else None
        served = served_memory(location, key=key.get_secret_value() if key else None, tenant=tenant, **asked)
        served.opened_as = opened_as
        return served
    name = tenant_name(loaded.tenant)

    def open_here() -> Memory:
        made = _open(loaded, location, must_exist=must_exist, observers=observers, only=name)
        opened = Memory(made, tenant=name)
        opened.opened_as = opened_as
        if loaded.share:
            _share(made, loaded, {name: opened}, only=name)
        return opened

    if not loaded.share or observers:  # which are told what happens in this process
        return open_here()
    folder = folder_of(location, journal=loaded.journal, collection=loaded.collection)
    opened = join_or_open(
        folder,
        hello=Hello(tenant=name, settings=parts.compared(loaded, given)),
        note=owner_note(location, folder),
        open_here=open_here,
        **asked,
    )
    opened.opened_as = opened_as
    if loaded.lm is not None and type(opened) is not Memory:
        _log.warning("another process has the memory %r open: its model is used, and not the lm given here", location)
    return opened


def open_tenants(
    memory: str | Path | None = None,
    *,
    config: str | Path | None = None,
    must_exist: bool = False,
    observers: Sequence[Observer] = (),
    **settings: Unpack[GivenSettings],
) -> Tenants:
    """Open the memories of all tenants of a folder or server, for a process that serves many; as `open_memory`.

    Store, labeler and embedder serve all of them; label spaces, ledgers and all that is asked are each tenant's own.

    Where another process has it open, they are used through that one; when it is gone, they are opened here. Observers
    are told in the process that has it open: who gives some opens it itself, or not at all.

    Raises:
        StoreLockedError: Another process has it open, and there are observers, or it does not let it be used.
    """
    from stitch.core import tenant_name
    from stitch.errors import StoreLockedError
    from stitch.lifecycle.folder import folder_of, is_served, owner_note
    from stitch.remote.tenants import RemoteTenants
    from stitch.tenants import Tenants

    loaded, location = parts.settings_for(memory, config=config, **settings)

    def open_all() -> Tenants:
        made = _open(loaded, location, must_exist=must_exist, observers=observers, only=None)
        tenants = Tenants(made)
        if loaded.share:
            _share(made, loaded, {}, only=None)
        return tenants

    if is_served(location):
        return open_all()  # which says that a server's memory is of one tenant
    try:
        return open_all()
    except StoreLockedError:
        owner = owner_of(memory, config=config, **settings) if loaded.share else None
        if owner is None:
            raise
        if observers:
            raise StoreLockedError(
                f"process {owner} has the memory {location!r} open, and tells its own observers what happens",
                hint="open_tenants without observers, and every command, use it through that process; or end it first",
            ) from None
    given = parts.given_settings(memory, config=config, **settings)
    folder = folder_of(location, journal=loaded.journal, collection=loaded.collection)
    return RemoteTenants(
        folder,
        tenant=tenant_name(loaded.tenant),
        settings=parts.compared(loaded, given),
        note=owner_note(location, folder),
        open_all=open_all,
        defaults={each: getattr(loaded, each) for each in SEARCH_SETTINGS if each in given},
    )


def owner_of(
    memory: str | Path | None = None, *, config: str | Path | None = None, **settings: Unpack[GivenSettings]
) -> int | None:
    """The process that has a memory open and lets others use it; None if none does. Nothing is opened.

    Args:
        memory: As for `open_memory`.
        config: A YAML file of settings.
        settings: Any other of `stitch.config.Settings` by name.
    """
    from stitch.lifecycle.folder import folder_of, is_served
    from stitch.remote.joining import greeted
    from stitch.remote.protocol import Hello

    loaded, location = parts.settings_for(memory, config=config, **settings)
    if is_served(location):
        return None
    folder = folder_of(location, journal=loaded.journal, collection=loaded.collection)
    joined = greeted(folder, Hello(tenant=loaded.tenant))
    if joined is None:
        return None
    joined.connection.close()
    return joined.welcome.pid


def is_elsewhere(
    memory: str | Path | None = None, *, config: str | Path | None = None, **settings: Unpack[GivenSettings]
) -> bool:
    """Whether `open_memory` would use a memory that is open elsewhere: by another process, or by a server.

    Args:
        memory: As for `open_memory`.
        config: A YAML file of settings.
        settings: Any other of `stitch.config.Settings` by name.
    """
    from stitch.lifecycle.folder import is_served

    served = is_served(parts.settings_for(memory, config=config, **settings)[1])
    return served or owner_of(memory, config=config, **settings) is not None


def _share(made: MemoryParts, settings: Settings, memories: dict[str, Memory], *, only: str | None) -> None:
    """Let other processes use a memory that is open here, as long as it is; if that cannot be, say so in the log.

    Args:
        made: The parts of the memory.
        settings: By which they were made.
        memories: Those that are in use here, by tenant.
        only: The tenant for whom it was opened; None if for all.
    """
    from stitch.core.process import ProcessLock
    from stitch.errors import StitchError
    from stitch.memory import Memory
    from stitch.remote.owner import Owner

    if made.process.is_read_only:
        return
    lock = ProcessLock("the memories of those who ask")

    def memory_of(tenant: str) -> Memory:
        with lock:
            if tenant not in memories:
                memories[tenant] = Memory(made, tenant=tenant, owns_parts=False, for_all=True)
            return memories[tenant]

    try:
        owner = Owner(
            memory_of,
            folder=made.folder,
            settings=parts.compared(settings, type(settings).model_fields),
            guarded=parts.chosen_labelers(settings),
            only=only,
            names=made.ingestor.journal.tenants,
        )
    except StitchError as error:
        _log.warning("%s", error.message)
    else:
        made.resources.callback(owner.close)


def _open(
    settings: Settings, location: str, *, must_exist: bool, observers: Sequence[Observer], only: str | None
) -> MemoryParts:
    """The parts of a memory, ready; `only` is the tenant to which it is confined."""
    from stitch.core.process import OwnProcess
    from stitch.core.text_cache import clear_text_caches
    from stitch.embed import LexicalEncoder
    from stitch.errors import ReadOnlyError
    from stitch.ingest import Ingestor
    from stitch.ingest.pipeline import VectorTime
    from stitch.journal.sqlite import SqliteJournal, check_version
    from stitch.lifecycle.erase import finish_purge
    from stitch.lifecycle.folder import (
        JOURNAL_FILE,
        LEDGER_FILE,
        RECALLS_FILE,
        THEMES_FOLDER,
        check_not_served,
        check_restored,
        check_there,
        check_whole,
        folder_of,
        is_url,
        made_folder,
        note_cache,
        owner_note,
        remove_abandoned,
        store_folder,
    )
    from stitch.lifecycle.read_only import cannot_be_written, copy_to_read
    from stitch.lifecycle.repair import finish_move
    from stitch.lifecycle.rewriting import finish_rewriting, remove_drafts
    from stitch.lm import Ledger
    from stitch.memory import MemoryParts, SearchDefaults, retriever_named
    from stitch.observe import LogObserver, Observers
    from stitch.observe.recalls import RecallLog
    from stitch.remote.address import announce, remove
    from stitch.retrieve import DenseRetriever, HybridRetriever, IntentRetriever, LexicalRetriever, PieceCounter
    from stitch.retrieve.auto import AutoRetriever
    from stitch.retrieve.themes import ThemesRetriever
    from stitch.store.owner import Ownership
    from stitch.themes import TenantThemes

    check_not_served(location)
    folder = folder_of(location, journal=settings.journal, collection=settings.collection)
    if must_exist:
        check_there(location, folder)
    check_restored(location, folder)
    with ExitStack() as resources:
        process = OwnProcess(f"the memory {location!r}")
        if not is_url(location) and cannot_be_written(folder):
            process = OwnProcess(f"the memory {location!r}", read_only=ReadOnlyError(location))
            folder = resources.enter_context(copy_to_read(folder))
        embedder, lexical, counter = parts.embedder_for(settings), LexicalEncoder(), PieceCounter()
        ledger = Ledger(folder / LEDGER_FILE)
        model = parts.model_if_needed(settings, ledger)
        labeler, selector = parts.labeler_of(settings, model, embedder=embedder), parts.selector_of(settings, model)
        tree_program = parts.tree_program_of(settings) if model is not None else None
        observer = Observers([LogObserver(), *observers])
        # Twice as many as calls may be under way: while one trajectory is written down, another one's call goes out.
        threads = 2 * settings.model_concurrency if settings.labels == "model" else 0
        resources.enter_context(made_folder(folder))
        check_version(folder / JOURNAL_FILE)  # before anything of it is touched
        note_cache(folder, used=settings.lm_cache)
        resources.callback(clear_text_caches)
        path = store_folder(location, folder, collection=settings.collection)
        finish_move(path)
        store = parts.store_for(
            settings, location, folder=folder, path=path, embedder=embedder
        )  # first: its lock tells who owns it
        resources.callback(store.close)
        if is_url(location):
            owner = Ownership(owner_note(location, folder), what=f"the journal of {location!r}")
            resources.callback(owner.release)
        if not process.is_read_only:
            announce(folder, share=settings.share)
            resources.callback(remove, folder)
        remove_drafts(folder)
        remove_abandoned(folder)
        finish_rewriting(folder)
        journal = SqliteJournal(
            folder / JOURNAL_FILE, power_safe=settings.power_safe, max_step_chars=settings.max_step_chars
        )
        resources.callback(journal.close)
        check_whole(location, collection=settings.collection, journal=journal, store=store)
        if hasattr(embedder, "close"):  # one that is served elsewhere keeps connections
            resources.callback(embedder.close)
        if model is not None:
            resources.callback(model.close)
        themes = TenantThemes(
            journal=journal,
            embedder=embedder,
            model=parts.statement_model_of(settings, model),
        )
        shutil.rmtree(folder / THEMES_FOLDER, ignore_errors=True)
        ingestor = Ingestor(
            journal=journal,
            store=store,
            embedder=embedder,
            labeler=labeler,
            lexical=lexical,
            observer=observer,
            only=only,
            label_threads=threads,
            vectors=VectorTime.of(settings.vectors, slow=settings.embeds_slowly),
            interrupt=None if model is None else model.interrupt,
            redact=settings.redact_secrets,
            redact_also=parts.redact_rule_of(settings),
            projections=[themes],
        )
        resources.callback(ingestor.close)
        ingestor.recover()
        finish_purge(ingestor, folder=folder)
        intent = IntentRetriever(
            store=store,
            selector=selector,
            embedder=embedder,
            lexical=lexical,
            inventories=ingestor.inventory,
            counter=counter,
            count=settings.density,
        )
        covering = ThemesRetriever(
            steps=intent,
            store=store,
            embedder=embedder,
            counter=counter,
            hierarchies=themes.of,
        )
        retrievers: tuple[Retriever, ...] = (
            intent,
            covering,
            AutoRetriever(intent=intent, themes=covering, inventories=ingestor.inventory),
            DenseRetriever(store=store, embedder=embedder, counter=counter),
            LexicalRetriever(store=store, lexical=lexical, counter=counter),
            HybridRetriever(store=store, embedder=embedder, lexical=lexical, counter=counter),
        )
        by_name = {retriever.mode: retriever for retriever in retrievers}
        retriever_named(settings.retriever, by_name)  # refuse one that is not there before anything is asked
        recalls = RecallLog(folder / RECALLS_FILE, most=settings.recall_log, clean=ingestor.secrets.text)
        return MemoryParts(
            folder=folder,
            ingestor=ingestor,
            themes=themes,
            retrievers=by_name,
            defaults=SearchDefaults(settings.retriever, settings.k, settings.budget_tokens, settings.ranking),
            observer=observer,
            ledger=ledger,
            resources=resources.pop_all(),
            retention=settings.retention,
            recalls=recalls if settings.recall_log else None,
            model=model,
            tree_program=tree_program,
            judge=parts.judge_of(settings, model),
            model_workers=threads,
            process=process,
        )
