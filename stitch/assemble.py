"""The composition root: from settings to a memory. The only reader of settings; a page of plain constructor calls.

More than 400 lines because every part that settings can name is put together here and nowhere else.
"""

from __future__ import annotations

import hashlib
import os
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote

from stitch.config import Settings, load_settings
from stitch.errors import InputError, JournalError, ScopeError, SettingsError, StoreError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from stitch.core import Embedder, FilterSelector, Labeler, Observer, SnippetStore
    from stitch.journal import Journal
    from stitch.label.model.offline import OfflineLabeler
    from stitch.lm import LanguageModel, Ledger, Price
    from stitch.memory import Memory
    from stitch.tenants import Tenants

JOURNAL_FILE = "journal.sqlite"
"""Where a memory keeps what it was given."""
RECALLS_FILE = "recalls.jsonl"
"""Where a memory keeps what it was asked, if the settings say so."""
OWNER_FILE = "owner.json"
"""Beside the journal of a memory on a server, says who has it open; a store in a folder says so itself."""
UNFINISHED_FILE = "unfinished"
"""Beside the journal of a memory on a server, says that its snippets are not all there yet: it is being restored."""
LEDGER_FILE = "ledger.jsonl"
"""Where a memory keeps what its calls of a model cost."""


def open_memory(
    memory: str | Path | None = None,
    *,
    tenant: str | None = None,
    config: str | Path | None = None,
    must_exist: bool = False,
    observers: Sequence[Observer] = (),
    **settings: Any,
) -> Memory:
    """Open a memory, making it if it is not there; use it as a context, or call `close`.

    What was interrupted the last time is finished first.

    Args:
        memory: A folder, or the URL of a Qdrant server.
        tenant: Whose memory it is.
        config: A YAML file of settings.
        must_exist: Do not make a folder that is not there.
        observers: Are told what happens, see `stitch.observe`.
        settings: Any other of `stitch.config.Settings` by name.

    Raises:
        SettingsError: A setting is missing or wrong.
        InputError: `must_exist`, and there is no memory.
        StoreLockedError: Another process has it open.
        StoreMismatchError: It was written with another embedder or schema.
    """
    given = {"memory": None if memory is None else str(memory), "tenant": tenant, **settings}
    loaded = load_settings(config, **given).settings
    if loaded.memory is None:
        raise SettingsError("no memory is named", hint="name a folder with --memory DIR, or set STITCH_MEMORY")
    if not loaded.tenant.strip():
        raise ScopeError("no tenant is named", hint="name one with --tenant, or leave it at 'default'")
    with ExitStack() as stack:
        opened = _build(loaded, loaded.memory, must_exist=must_exist, observers=observers, stack=stack)
        stack.pop_all()
    return opened


def open_tenants(
    memory: str | Path | None = None,
    *,
    config: str | Path | None = None,
    must_exist: bool = False,
    observers: Sequence[Observer] = (),
    **settings: Any,
) -> Tenants:
    """Open the memories of all tenants of a folder or server, for a process that serves many; as `open_memory`.

    Store, labeler and embedder serve all of them; label spaces, ledgers and all that is asked are each tenant's own.
    """
    from stitch.tenants import Tenants

    given = {"memory": None if memory is None else str(memory), **settings}
    loaded = load_settings(config, **given).settings
    if loaded.memory is None:
        raise SettingsError("no memory is named", hint="name a folder with --memory DIR, or set STITCH_MEMORY")
    with ExitStack() as stack:
        opened = _build(loaded, loaded.memory, must_exist=must_exist, observers=observers, stack=stack, everybody=True)
        stack.pop_all()
    return Tenants(opened)


class Reindexed(NamedTuple):
    """What a store built anew holds."""

    snippets: int
    written: int
    """How many were not there from an earlier run that was interrupted."""
    embedder: str


def reindex_memory(memory: str | Path | None = None, *, config: str | Path | None = None, **settings: Any) -> Reindexed:
    """Build the store of a memory anew from its journal, for all tenants, also with another embedder than before.

    In a folder, the new store is built beside the old one and takes its place when it is complete; until then the
    memory opens as before. An interrupted run is taken up where it was. On a server, what is missing is put into the
    collection that the settings name; one that was empty cannot be opened as the memory's before it holds everything.

    Args:
        memory: A folder, or the URL of a Qdrant server.
        config: A YAML file of settings.
        settings: Any other of `stitch.config.Settings` by name.

    Raises:
        InputError: There is no memory.
        StoreLockedError: Another process has it open.
    """
    from stitch.ingest import Ingestor
    from stitch.journal import Journal
    from stitch.label.local import LocalLabeler
    from stitch.lifecycle.repair import claim_next, finish_move, next_folder, put_in_place, remove_unknown
    from stitch.store.owner import Ownership

    given = {"memory": None if memory is None else str(memory), **settings}
    loaded = load_settings(config, **given).settings
    if loaded.memory is None:
        raise SettingsError("no memory is named", hint="name a folder with --memory DIR, or set STITCH_MEMORY")
    folder, embedder = folder_for(loaded, loaded.memory, must_exist=True), _embedder(loaded)
    with ExitStack() as stack:
        made = folder
        if not is_url(loaded.memory):
            finish_move(folder)
            (folder / "store").mkdir(exist_ok=True)
            owner = Ownership(folder / "store" / "owner.json", what=f"the memory {loaded.memory!r}")
            stack.callback(owner.release)
            made = next_folder(folder, embedder_name=embedder.name)
            stack.callback(claim_next(folder).release)
        journal = Journal(folder / JOURNAL_FILE, power_safe=loaded.power_safe, max_step_chars=loaded.max_step_chars)
        stack.callback(journal.close)
        store = _store(loaded, loaded.memory, folder=made, embedder=embedder)
        stack.callback(store.close)
        building = _building(loaded, folder)
        if made == folder and not any(map(store.count, journal.tenants())):
            building.touch()
        ingestor = Ingestor(journal=journal, store=store, embedder=embedder, labeler=LocalLabeler())
        written = ingestor.reindex(store)
        for tenant in journal.tenants():
            remove_unknown(journal, store, tenant=tenant)
        result = Reindexed(store.count(), written, embedder.name)
        store.close()
        if made != folder:
            put_in_place(folder)
        building.unlink(missing_ok=True)
        (folder / UNFINISHED_FILE).unlink(missing_ok=True)
    return result


def _build(
    settings: Settings,
    location: str,
    *,
    must_exist: bool,
    observers: Sequence[Observer],
    stack: ExitStack,
    everybody: bool = False,
) -> Memory:
    from stitch.embed import LexicalEncoder
    from stitch.ingest import Ingestor
    from stitch.journal import Journal
    from stitch.lifecycle.forget import finish_purge
    from stitch.lifecycle.repair import finish_move
    from stitch.lifecycle.rewriting import finish_rewriting, remove_drafts
    from stitch.lm import Ledger
    from stitch.memory import Memory, SearchDefaults
    from stitch.observe import LogObserver, Observers
    from stitch.retrieve import (
        DenseRetriever,
        HybridRetriever,
        IntentRetriever,
        LexicalRetriever,
        PieceCounter,
    )
    from stitch.store.owner import Ownership

    folder = folder_for(settings, location, must_exist=must_exist)
    embedder, lexical, counter = _embedder(settings), LexicalEncoder(), PieceCounter()
    observer = Observers([LogObserver(), *observers])
    if not is_url(location):
        finish_move(folder)
    elif (folder / UNFINISHED_FILE).exists():
        raise StoreError(
            f"the memory {location!r} is not wholly restored", hint=f"stitch reindex --memory {location} finishes it"
        )
    ledger = Ledger(folder / LEDGER_FILE)
    model = _model(settings, ledger)
    labeler, selector = _labeler(settings, model, embedder=embedder), _selector(settings, model)
    # The store first: its lock tells who owns the memory.
    store = _store(settings, location, folder=folder, embedder=embedder)
    stack.callback(store.close)
    resources = ExitStack()
    if is_url(location):  # a lock that does not end when this process reads the file, as SQLite's does
        owner = Ownership(folder / OWNER_FILE, what=f"the journal of {location!r}")
        stack.callback(owner.release)
        resources.callback(owner.release)
    remove_drafts(folder)
    finish_rewriting(folder)
    journal = Journal(folder / JOURNAL_FILE, power_safe=settings.power_safe, max_step_chars=settings.max_step_chars)
    stack.callback(journal.close)
    if is_url(location):
        _check_whole(settings, location, folder=folder, journal=journal, store=store)
    ingestor = Ingestor(
        journal=journal,
        store=store,
        embedder=embedder,
        labeler=labeler,
        lexical=lexical,
        observer=observer,
        only=None if everybody else settings.tenant,
        label_threads=_label_threads(settings),
        redact=settings.redact_secrets,
    )
    stack.callback(ingestor.close)
    ingestor.recover()
    finish_purge(ingestor, folder=folder)
    let_go = getattr(embedder, "close", None)  # one that is served elsewhere keeps connections
    if let_go is not None:
        resources.callback(let_go)
    if model is not None:
        resources.callback(model.close)
    resources.callback(ingestor.close)
    recalls = None
    if settings.recall_log:
        from stitch.observe.recalls import RecallLog

        recalls = RecallLog(folder / RECALLS_FILE, most=settings.recall_log, clean=ingestor.without_secrets)
    return Memory(
        recalls=recalls,
        tenant=settings.tenant,
        ingestor=ingestor,
        store=store,
        embedder=embedder,
        retrievers=[
            IntentRetriever(
                store=store,
                selector=selector,
                embedder=embedder,
                lexical=lexical,
                inventories=ingestor.inventory,
                counter=counter,
                count=settings.density,
                informative=settings.density_weights == "informative",
            ),
            DenseRetriever(store=store, embedder=embedder, counter=counter),
            LexicalRetriever(store=store, lexical=lexical, counter=counter),
            HybridRetriever(store=store, embedder=embedder, lexical=lexical, counter=counter),
        ],
        defaults=SearchDefaults(settings.retriever, settings.k, settings.budget_tokens),
        observer=observer,
        resources=resources,
        folder=folder,
        ledger=ledger,
        retention=settings.retention,
        model_workers=_label_threads(settings),
    )


def _label_threads(settings: Settings) -> int:
    """How many trajectories a model labels side by side.

    Twice as many as calls may be under way: while one trajectory is written down, another one's call goes out.
    """
    return 2 * settings.model_concurrency if settings.labels == "model" else 0


def labeler_for(*, config: str | Path | None = None, **settings: Any) -> Labeler:
    """The labeler that settings name, without a memory; nothing is called before it labels.

    Raises:
        SettingsError: A setting is missing or wrong.
    """
    from stitch.lm import Ledger

    loaded = load_settings(config, **settings).settings
    return _labeler(loaded, _model(loaded, Ledger()), embedder=_embedder(loaded))


def offline_labeler(*, config: str | Path | None = None, **settings: Any) -> OfflineLabeler:
    """What labels windows from replies that were made elsewhere, by the settings; no model is called.

    Raises:
        SettingsError: No model is named, or a setting is wrong.
    """
    from stitch.label.model.compiled import load_compiled
    from stitch.label.model.offline import OfflineLabeler
    from stitch.label.model.windowed import WINDOW_STEPS
    from stitch.signatures.programs import WindowProgram

    loaded = load_settings(config, **settings).settings
    if loaded.model is None:
        raise SettingsError(
            "no model is named", hint="name one with --model; any name, such as yours, if a person labels"
        )
    window = WindowProgram()
    if loaded.label_program is not None:
        load_compiled(loaded.label_program, window, target="windowed")
    steps = WINDOW_STEPS if loaded.window == "auto" else loaded.window
    return OfflineLabeler(loaded.model, program=window, window_steps=steps, price=_price(loaded))


def _model(settings: Settings, ledger: Ledger) -> LanguageModel | None:
    """The language model, if anything needs one."""
    return _language_model(settings, ledger) if "model" in (settings.labels, settings.filter) else None


def model_for(*, config: str | Path | None = None, ledger: Ledger | None = None, **settings: Any) -> LanguageModel:
    """The language model that settings name, without a memory; nothing is called before it is run.

    Args:
        config: A YAML file of settings.
        ledger: Where calls are counted.
        settings: Any other of `stitch.config.Settings` by name.

    Raises:
        SettingsError: No model is named, or a setting is wrong.
    """
    from stitch.lm import Ledger

    return _language_model(load_settings(config, **settings).settings, ledger or Ledger())


def _language_model(settings: Settings, ledger: Ledger) -> LanguageModel:
    if settings.model is None:
        raise SettingsError("no model is named", hint="name one with --model, for example openai/gpt-5-mini")
    from stitch.lm import LanguageModel, Limits

    key = settings.model_key
    return LanguageModel(
        settings.model,
        base_url=settings.base_url,
        api_key=key.get_secret_value() if key else None,
        limits=Limits(
            timeout_s=settings.model_timeout_s,
            retries=settings.model_retries,
            concurrency=settings.model_concurrency,
            budget_tokens=settings.model_budget_tokens,
            budget_usd=settings.model_budget_usd,
        ),
        price=_price(settings),
        offline=settings.offline,
        ledger=ledger,
    )


def _price(settings: Settings) -> Price | None:
    from stitch.lm import Price

    prices = (settings.price_prompt, settings.price_reply)
    return Price(*(price or 0.0 for price in prices)) if any(price is not None for price in prices) else None


def _labeler(settings: Settings, model: LanguageModel | None, *, embedder: Embedder) -> Labeler:
    if settings.labels == "local" or model is None:
        from stitch.label.local import LocalLabeler

        return LocalLabeler()
    from stitch.label.model import StepwiseLabeler, WindowedLabeler
    from stitch.label.model.compiled import load_compiled
    from stitch.signatures.programs import StepProgram, WindowProgram

    if settings.stepwise:
        steps = StepProgram()
        if settings.label_program is not None:
            load_compiled(settings.label_program, steps, target="stepwise")
        return StepwiseLabeler(model, embedder=embedder, program=steps)
    window = WindowProgram()
    if settings.label_program is not None:
        load_compiled(settings.label_program, window, target="windowed")
    if settings.window == "auto":
        return WindowedLabeler(model, program=window)
    return WindowedLabeler(model, program=window, window_steps=settings.window)


def _selector(settings: Settings, model: LanguageModel | None) -> FilterSelector:
    if settings.filter == "local" or model is None:
        from stitch.retrieve import LocalFilterSelector

        return LocalFilterSelector()
    from stitch.label.model.compiled import load_compiled
    from stitch.retrieve.question.model_filter import ModelFilterSelector
    from stitch.signatures.programs import FilterProgram

    program = FilterProgram()
    if settings.filter_program is not None:
        load_compiled(settings.filter_program, program, target="filter")
    return ModelFilterSelector(model, program=program, one_call=not settings.filter_by_kind)


def is_url(location: str) -> bool:
    """Whether a memory is on a server."""
    return location.startswith(("http://", "https://"))


def restoring_in(folder: Path) -> Path:
    """Where a memory is made before it is given its place by `stitch.maintenance.restore_memory`."""
    return folder.with_name(f"{folder.name}.restoring")


def folder_for(settings: Settings, location: str, *, must_exist: bool, make: bool = True) -> Path:
    """The folder of the journal, made if need be unless `make` is false.

    Raises:
        InputError: `must_exist`, and there is no memory.
        JournalError: It cannot be made.
    """
    if not is_url(location):
        folder = Path(location)
    elif settings.journal is not None:
        folder = Path(settings.journal)
    else:
        data = Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share")
        digest = hashlib.sha256(f"{location}\n{settings.collection}".encode()).hexdigest()
        folder = data / "stitch" / digest[:16]
    if must_exist and not is_url(location) and not (folder / JOURNAL_FILE).is_file():
        if restoring_in(folder).exists():
            raise InputError(
                f"no memory at {location!r}: restoring it was interrupted",
                hint=f"repeat `stitch restore BACKUP --memory {location}`",
            )
        raise InputError(f"no memory at {location!r}", hint=f"`stitch ingest FILE --memory {location}` makes one")
    if not make:
        return folder
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise JournalError(
            f"cannot make the folder {str(folder)!r}: {str(error.strerror).lower()}", hint="name another folder"
        ) from error
    return folder


def store_in(settings: Settings, location: str, *, folder: Path) -> tuple[SnippetStore, Embedder]:
    """The store of a memory, and the embedder of its vectors; for who looks after a memory without opening it."""
    embedder = _embedder(settings)
    return _store(settings, location, folder=folder, embedder=embedder), embedder


def _store(settings: Settings, location: str, *, folder: Path, embedder: Embedder) -> SnippetStore:
    if is_url(location):
        from stitch.store import ServerStore

        key = settings.qdrant_key
        return ServerStore(
            location,
            api_key=key.get_secret_value() if key else None,
            collection=settings.collection,
            embedder_name=embedder.name,
            dimension=embedder.dimension,
            timeout_s=settings.qdrant_timeout_s,
        )
    from stitch.store import EdgeStore

    return EdgeStore(folder, embedder_name=embedder.name, dimension=embedder.dimension)


def _building(settings: Settings, folder: Path) -> Path:
    """What says, beside the journal of a memory on a server, that a collection does not hold all of it yet."""
    from stitch.lifecycle.traces import BUILDING

    return folder / (BUILDING + quote(settings.collection, safe=""))


def _check_whole(settings: Settings, location: str, *, folder: Path, journal: Journal, store: SnippetStore) -> None:
    """Refuse a collection that does not hold a memory yet: a search of it would find too little, and look like one.

    Raises:
        StoreError: It is empty and the memory is not, or it was being built.
    """
    begun = _building(settings, folder).exists()
    stored = journal.rows("SELECT 1 FROM states WHERE state = 'stored' LIMIT 1")
    if begun or (stored and not any(map(store.count, journal.tenants()))):
        does = "does not hold all of" if begun else "holds nothing of"
        raise StoreError(
            f"the collection {settings.collection!r} of {location!r} {does} this memory",
            hint=f"stitch reindex --memory {location} {'finishes' if begun else 'fills'} it; other collections serve",
        )


def _embedder(settings: Settings) -> Embedder:
    from stitch.embed import RemoteEmbedder, SentenceTransformerEmbedder, StaticEmbedder

    name = settings.embedder
    if name == "static":
        return StaticEmbedder()
    if not name.startswith("openai/"):
        return SentenceTransformerEmbedder(name)
    if settings.embedder_dimension is None:
        raise SettingsError(
            f"the length of the vectors of {name!r} is not known", hint="set embedder_dimension, for example 1536"
        )
    key = settings.embedder_key
    return RemoteEmbedder(
        name.removeprefix("openai/"),
        dimension=settings.embedder_dimension,
        base_url=settings.embedder_url,
        api_key=key.get_secret_value() if key else None,
    )
