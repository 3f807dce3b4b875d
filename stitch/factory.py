"""The composition root: from settings to a memory, in plain constructor calls.

Settings say where the memory is. One that another process or a server has open is used through that one. Else it is
opened here, in this order: who labels and chooses labels, the folder, the store (whose lock tells who owns it), the
journal, themes, the ingestor (which finishes what was interrupted), retrievers. Together they are `MemoryParts`; of
these a `Memory` a tenant is made.
"""

from __future__ import annotations

import logging
from contextlib import ExitStack, closing
from functools import partial
from typing import TYPE_CHECKING, Any

from stitch import parts
from stitch.config import OWN, LoadedSettings, Settings, load_settings
from stitch.core import tenant_name
from stitch.core.process import ForkGuard
from stitch.core.text_cache import clear_text_caches
from stitch.embed import LexicalEncoder
from stitch.errors import ReadOnlyError, SettingsError, StitchError, StoreLockedError
from stitch.ingest import Ingestor, Role
from stitch.ingest.snippets import EmbedMode
from stitch.journal import check_version
from stitch.lifecycle import folder as places
from stitch.lifecycle.folder import finish_move, is_served, is_url, owner_note
from stitch.lifecycle.read_only import cannot_be_written, copy_to_read
from stitch.lm import Ledger
from stitch.memory import Memory, MemoryParts, SearchDefaults, retriever_named
from stitch.observe import LogObserver, Observers
from stitch.observe.recalls import RecallLog
from stitch.retrieve import DenseRetriever, HybridRetriever, IntentRetriever, LexicalRetriever
from stitch.retrieve.auto import AutoRetriever
from stitch.retrieve.themes import ThemesRetriever
from stitch.server.address import announce, holder, is_answered, remove
from stitch.server.joining import RemoteTenants, join_or_open, served_memory
from stitch.server.owner import Owner
from stitch.store.owner import Ownership
from stitch.tenants import Tenants
from stitch.themes import TenantThemes

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from typing_extensions import Unpack

    from stitch.core import DensityCount, Embedder, FilterSelector, Labeler, Observer, Retriever, SnippetStore
    from stitch.journal import Journal
    from stitch.settings_overrides import GivenSettings

_log = logging.getLogger(__name__)


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
    one (`share=False` refuses that): what comes back is a `RemoteMemory` then, which is used as any.

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
    loaded = load_settings(config, memory=memory, tenant=tenant, **settings)
    chosen, location = loaded.settings, loaded.location
    asked: dict[str, Any] = {
        "defaults": loaded.of_searches,
        "retention": chosen.retention if "retention" in loaded.given else None,
    }

    def open_here() -> Memory:
        made = open_parts(loaded, must_exist=must_exist, observers=observers, only=name)
        opened = Memory(made, tenant=name)
        _share(made, loaded, opened=opened)
        return opened

    if is_served(location):
        _check_served(loaded, observed=bool(observers))
        key, whose = chosen.key, chosen.tenant if "tenant" in loaded.given else None
        opened = served_memory(location, key=key.get_secret_value() if key else None, tenant=whose, **asked)
        opened.opened_as = loaded.reopening()
        return opened
    name = tenant_name(chosen.tenant)
    if not chosen.share or observers or loaded.is_shared:  # which are told what happens in this process
        opened = open_here()
    else:
        note, compared = owner_note(location, loaded.folder), loaded.compared()
        opened = join_or_open(loaded.folder, tenant=name, settings=compared, note=note, open_here=open_here, **asked)
    opened.opened_as = loaded.reopening()
    if chosen.lm is not None and type(opened) is not Memory:
        _log.warning("another process has the memory %r open: its model is used, and not the lm given here", location)
    return opened


def _check_served(loaded: LoadedSettings, *, observed: bool) -> None:
    """See that nothing is set that a memory which a server has open cannot be told.

    Raises:
        SettingsError: Something is; names it.
    """
    wrong = sorted(loaded.given - OWN)
    if wrong or observed:
        what = f"the setting {wrong[0]!r} is" if wrong else "observers are"
        raise SettingsError(f"{what} of no use with a memory that is served", hint="set it where `stitch serve` runs")


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
    loaded = load_settings(config, memory=memory, **settings)
    location = loaded.location

    def open_all() -> Tenants:
        made = open_parts(loaded, must_exist=must_exist, observers=observers, only=None)
        _share(made, loaded)
        return Tenants(made)

    if is_served(location):
        return open_all()  # which says that a server's memory is of one tenant
    try:
        return open_all()
    except StoreLockedError:
        owner = _owner_of(loaded) if loaded.settings.share else None
        if owner is None:
            raise
        if observers:
            raise StoreLockedError(
                f"process {owner} has the memory {location!r} open; who serves or observes it has to open it first",
                hint="end that process, or begin it after this one: then it uses the memory through this one",
            ) from None
    return RemoteTenants(
        loaded.folder,
        tenant=tenant_name(loaded.settings.tenant),
        settings=loaded.compared(),
        note=owner_note(location, loaded.folder),
        open_all=open_all,
        defaults=loaded.of_searches,
    )


def owner_of(
    memory: str | Path | None = None, *, config: str | Path | None = None, **settings: Unpack[GivenSettings]
) -> int | None:
    """The process that has a memory open and lets others use it; None if none does. Nothing is opened."""
    return _owner_of(load_settings(config, memory=memory, **settings))


def is_elsewhere(
    memory: str | Path | None = None, *, config: str | Path | None = None, **settings: Unpack[GivenSettings]
) -> bool:
    """Whether `open_memory` would use a memory that is open elsewhere: by another process, or by a server."""
    loaded = load_settings(config, memory=memory, **settings)
    return is_served(loaded.location) or _owner_of(loaded) is not None


def _owner_of(loaded: LoadedSettings) -> int | None:
    if is_served(loaded.location):
        return None
    return holder(owner_note(loaded.location, loaded.folder)) if is_answered(loaded.folder) else None


def _share(made: MemoryParts, loaded: LoadedSettings, *, opened: Memory | None = None) -> None:
    """Let other processes use a memory that is open here, as long as it is; if that cannot be, say so in the log.

    Args:
        made: The parts of the memory.
        loaded: The settings by which they were made.
        opened: The memory of the only tenant for whom they were made; None if for all.
    """
    if made.process.is_read_only or not loaded.settings.share or loaded.is_shared:
        return
    compared = loaded.compared(all_of_them=True)
    if (lm := loaded.settings.lm) is not None:  # nobody else can have it, but may be told of it
        compared["model"] = f"{lm.model} (given as lm)"
    try:
        owner = Owner(
            Tenants(made, opened=opened, for_all=True),
            folder=made.folder,
            settings=compared,
            guarded=parts.chosen_labelers(loaded.settings),
            only=None if opened is None else opened.tenant,
        )
    except StitchError as error:
        _log.warning("%s", error.message)
    else:
        made.resources.callback(owner.close)


def _owned_store(
    resources: ExitStack, loaded: LoadedSettings, folder: Path, *, embedder: Embedder, announced: bool
) -> tuple[Journal, SnippetStore]:
    """The journal and the store of a memory that one process has open at a time; a lock tells who that is."""
    settings, location, journal = loaded.settings, loaded.location, None
    if is_url(location):
        resources.callback(Ownership(owner_note(location, folder), what=f"the journal of {location!r}").release)
        journal = resources.enter_context(closing(parts.journal_of(settings, folder)))
    else:
        finish_move(folder)
    store = parts.store_for(settings, location, folder=folder, embedder=embedder, journal=journal)
    resources.callback(store.close)
    if announced:
        announce(folder, share=settings.share)
        resources.callback(remove, folder)
    places.remove_abandoned(folder)
    for draft in folder.glob("*.jsonl.new"):  # left by a process that was killed
        draft.unlink()
    return journal or resources.enter_context(closing(parts.journal_of(settings, folder))), store


def _role(loaded: LoadedSettings) -> Role:
    """The part of this process in labeling.

    Raises:
        SettingsError: Workers shall, and the journal is none that they can share.
    """
    if loaded.settings.workers and not loaded.is_shared:
        raise SettingsError(
            "workers label in a journal that they share", hint="name it: journal=postgresql://USER:PASSWORD@HOST/DB"
        )
    return Role.DELEGATES if loaded.settings.workers else Role.ALONE


def _shared_store(
    resources: ExitStack, loaded: LoadedSettings, folder: Path, *, embedder: Embedder, labeler: Labeler, role: Role
) -> tuple[Journal, SnippetStore]:
    """The journal and the store of a memory that any number of processes have open."""
    settings = loaded.settings
    journal = resources.enter_context(closing(parts.journal_of(settings, folder)))
    if role is not Role.ALONE:
        journal.queue.agree_on_labeler(labeler.name, is_worker=role is Role.WORKER)
    store = parts.store_for(settings, loaded.location, folder=folder, embedder=embedder, journal=journal)
    resources.callback(store.close)
    return journal, store


def _label_threads(settings: Settings, role: Role) -> int:
    """In how many threads a model's labels follow; twice as many as calls may be under way, which are written down."""
    return 2 * settings.model_concurrency if settings.labels == "model" and role is Role.ALONE else 0


def open_parts(
    loaded: LoadedSettings, *, must_exist: bool = False, observers: Sequence[Observer] = (), only: str | None = None,
    labeler: Labeler | None = None, role: Role | None = None,
) -> MemoryParts:  # fmt: skip
    """The parts of a memory, ready.

    Args:
        loaded: The settings by which they are made.
        must_exist: As of `open_memory`.
        observers: As of `open_memory`.
        only: The tenant to which the memory is confined.
        labeler: Who labels instead of the labeler of the settings.
        role: Who labels where journals are shared; as the settings say by default.
    """
    settings, location = loaded.settings, loaded.location
    by_settings = _role(loaded)
    role = role or by_settings
    places.check_not_served(location)
    folder = loaded.folder
    if must_exist and not loaded.is_shared:
        places.check_there(location, folder)
    with ExitStack() as resources:
        process = ForkGuard(f"the memory {location!r}")
        if not is_url(location) and cannot_be_written(folder):
            process = ForkGuard(f"the memory {location!r}", read_only=ReadOnlyError(location))
            folder = resources.enter_context(copy_to_read(folder))
        embedder, lexical = parts.embedder_for(settings), LexicalEncoder()
        ledger = Ledger(folder / places.LEDGER_FILE)
        model = parts.model_if_needed(settings, ledger)
        labeler = labeler or parts.labeler_of(settings, model, embedder=embedder)
        selector = parts.selector_of(settings, model)
        tree_program = parts.tree_program_of(settings) if model is not None else None
        observer = Observers([LogObserver(), *observers])
        threads = _label_threads(settings, role)
        resources.enter_context(places.made_folder(folder))
        check_version(folder / places.JOURNAL_FILE)  # before anything of it is touched
        places.note_cache(folder, used=settings.lm_cache)
        resources.callback(clear_text_caches)
        if loaded.is_shared:  # nobody owns it
            journal, store = _shared_store(resources, loaded, folder, embedder=embedder, labeler=labeler, role=role)
        else:
            announced = not process.is_read_only
            journal, store = _owned_store(resources, loaded, folder, embedder=embedder, announced=announced)
        places.check_whole(location, collection=settings.collection, journal=journal, store=store)
        if hasattr(embedder, "close"):  # one that is served elsewhere keeps connections
            resources.callback(embedder.close)
        if model is not None:
            resources.callback(model.close)
        themes = TenantThemes(journal=journal, embedder=embedder, model=parts.statement_model_of(settings, model))
        ingestor = Ingestor(
            journal=journal,
            store=store,
            embedder=embedder,
            labeler=labeler,
            observer=observer,
            only=only,
            label_threads=threads,
            vectors=EmbedMode.of(settings.vectors, slow=settings.embeds_slowly),
            interrupt=None if model is None else model.interrupt,
            redact=settings.redact_secrets,
            redact_also=parts.redact_rule_of(settings),
            projections=[themes],
            role=role,
        )
        resources.callback(ingestor.close)
        ingestor.recover()
        if journal.owes_purge():  # an erasure was interrupted before it had done so
            from stitch.lifecycle.erase import finish_purge

            finish_purge(ingestor, folder=folder)
        retrievers = _retrievers_over(ingestor, lexical, themes, selector=selector, count=settings.density)
        retriever_named(settings.retriever, retrievers)  # refuse one that is not there before anything is asked
        return MemoryParts(
            folder=folder,
            ingestor=ingestor,
            themes=themes,
            retrievers=retrievers,
            defaults=SearchDefaults(settings.retriever, settings.k, settings.budget_tokens, settings.ranking),
            observer=observer,
            ledger=ledger,
            resources=resources.pop_all(),
            retention=settings.retention,
            recalls=RecallLog(folder / places.RECALLS_FILE, most=settings.recall_log, clean=ingestor.secrets.clean),
            model=model,
            make_model=partial(parts.language_model_of, settings, ledger),
            tree_program=tree_program,
            judge=parts.judge_of(settings, model),
            model_workers=threads,
            process=process,
        )


def _retrievers_over(
    ingestor: Ingestor, lexical: LexicalEncoder, themes: TenantThemes, *, selector: FilterSelector, count: DensityCount
) -> dict[str, Retriever]:
    """All retrievers of a memory, by the names under which they are chosen."""
    inventories = ingestor.inventory
    searched: dict[str, Any] = {"store": ingestor.store, "embedder": ingestor.embedder}
    intent = IntentRetriever(**searched, selector=selector, lexical=lexical, inventories=inventories, count=count)
    covering = ThemesRetriever(**searched, steps=intent, hierarchies=themes.of)
    made: tuple[Retriever, ...] = (
        intent,
        covering,
        AutoRetriever(intent=intent, themes=covering),
        DenseRetriever(**searched, inventories=inventories),
        LexicalRetriever(store=ingestor.store, lexical=lexical, inventories=inventories),
        HybridRetriever(**searched, lexical=lexical, inventories=inventories),
    )
    return {retriever.mode: retriever for retriever in made}
