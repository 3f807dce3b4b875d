"""The parts of a memory that settings name, each made by one function."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stitch.config import Settings, load_settings
from stitch.errors import SettingsError, require_extra
from stitch.journal.database import is_postgres
from stitch.lifecycle.folder import JOURNAL_FILE, is_url

if TYPE_CHECKING:
    from collections.abc import Callable

    from stitch.core import Embedder, FilterSelector, Labeler, MemorySnippet, SnippetStore
    from stitch.ingest.redact import Redact
    from stitch.journal import Journal
    from stitch.label.model.offline import OfflineLabeler
    from stitch.lm import Completion, LanguageModel, Ledger, Price
    from stitch.retrieve.relevance import RelevanceJudge
    from stitch.signatures.programs import TreeProgram
    from stitch.store.connection import Server
    from stitch.themes.asking import StatementModel


def chosen_labelers(settings: Settings) -> frozenset[str]:
    """The settings by which texts are shown to a language model; none if they are not."""
    named = {name for name in ("labels", "relevance", "statements") if getattr(settings, name) == "model"}
    return frozenset({*named, "model"} if named or _filter_by_model(settings) else ())


def labeler_for(*, config: str | Path | None = None, **settings: Any) -> Labeler:
    """The labeler that settings name, without a memory; nothing is called before it labels.

    Raises:
        SettingsError: A setting is missing or wrong.
    """
    from stitch.lm import Ledger

    loaded = load_settings(config, **settings).settings
    return labeler_of(loaded, model_if_needed(loaded, Ledger()), embedder=embedder_for(loaded))


def offline_labeler(*, config: str | Path | None = None, **settings: Any) -> OfflineLabeler:
    """A labeler of windows from replies that were made elsewhere, by the settings; no model is called.

    Raises:
        SettingsError: No model is named, or a setting is wrong.
    """
    from stitch.label.local import LocalLabeler
    from stitch.label.model.offline import OfflineLabeler

    loaded = load_settings(config, **settings).settings
    if loaded.model is None:
        raise SettingsError(
            "no model is named", hint="name one with --model; any name, such as yours, if a person labels"
        )
    return OfflineLabeler(loaded.model, fallback=LocalLabeler(), price=_price(loaded), **_windows(loaded))


def _windows(settings: Settings) -> dict[str, Any]:
    from stitch.label.model.windowed import WINDOW_STEPS

    return {
        "program": _compiled(settings, "label_program", "WindowProgram", target="windowed"),
        "window_steps": WINDOW_STEPS if settings.window == "auto" else settings.window,
        "asks": settings.asks,
    }


def _compiled(settings: Settings, setting: str, program: str, *, target: str) -> Any:
    """A program of prompts: as a setting names it, or else as it stands in the code."""
    from stitch.label.model.compiled import load_program
    from stitch.signatures import programs

    made = getattr(programs, program)()
    if (given := getattr(settings, setting)) is not None:
        load_program(given, made, target=target)
    return made


def model_if_needed(settings: Settings, ledger: Ledger) -> LanguageModel | None:
    """The language model; None if nothing that the settings name asks one."""
    return language_model_of(settings, ledger) if asks_model(settings) else None


def asks_model(settings: Settings) -> bool:
    """Whether something that the settings name asks a language model."""
    return bool(chosen_labelers(settings)) or settings.path_program is not None


def _filter_by_model(settings: Settings) -> bool:
    """Whether the model chooses the labels of questions."""
    named = settings.model is not None or settings.lm is not None
    return settings.filter == "model" or (settings.filter == "auto" and named)


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

    return language_model_of(load_settings(config, **settings).settings, ledger or Ledger())


def language_model_of(
    settings: Settings,
    ledger: Ledger,
    *,
    sampling: Callable[[Any], Any] | None = None,
    completion: Completion | None = None,
) -> LanguageModel:
    """The language model of settings that are loaded; `sampling` says how it answers, `completion` who in its place.

    Raises:
        SettingsError: They name none, or two, or one that is not on this machine while the network is off.
    """
    from stitch.lm import LanguageModel, Limits
    from stitch.lm.endpoints import configured_lm

    bounds = ("timeout_s", "retries", "concurrency", "budget_tokens", "budget_usd")
    limits = Limits(**{name: getattr(settings, f"model_{name}") for name in bounds})
    given: dict[str, Any] = {"limits": limits, "price": _price(settings), "ledger": ledger, "sampling": sampling}
    if settings.lm is not None and (settings.base_url or settings.model_key):
        raise SettingsError(
            "base_url and model_key are of no use beside lm",
            hint="give them to the model: lm=dspy.LM(..., api_base=...)",
        )
    if settings.model is not None and (settings.lm is not None or settings.lm_cache):
        other, why = ("lm", "") if settings.lm is not None else ("lm_cache", ": it is of use with lm=dspy.LM(...)")
        raise SettingsError(
            f"the model {settings.model!r} is named, and {other} is given", hint=f"leave one of the two out{why}"
        )
    if settings.model is None:
        if (lm := settings.lm or configured_lm()) is None:
            raise SettingsError(
                "no model is named",
                hint="name one with --model, give lm=dspy.LM(...), or call dspy.configure(lm=...) first",
            )
        return LanguageModel(lm, cache=settings.lm_cache, offline=settings.offline, **given)
    key = settings.model_key.get_secret_value() if settings.model_key else None
    given |= {"offline": settings.offline, "completion": completion}
    return LanguageModel(settings.model, base_url=settings.base_url, api_key=key, **given)


def _price(settings: Settings) -> Price | None:
    from stitch.lm import Price

    prices = (settings.price_prompt, settings.price_reply)
    return Price(*(price or 0.0 for price in prices)) if any(price is not None for price in prices) else None


def labeler_of(settings: Settings, model: LanguageModel | None, *, embedder: Embedder) -> Labeler:
    """The labeler that settings name."""
    from stitch.label.local import LocalLabeler

    if settings.labels == "local" or model is None:
        return LocalLabeler()
    from stitch.label.model.stepwise import StepwiseLabeler
    from stitch.label.model.windowed import WindowedLabeler

    if not settings.stepwise:
        return WindowedLabeler(model, fallback=LocalLabeler(), **_windows(settings))
    program = _compiled(settings, "label_program", "StepProgram", target="stepwise")
    return StepwiseLabeler(model, embedder=embedder, fallback=LocalLabeler(), program=program, asks=settings.asks)


def selector_of(settings: Settings, model: LanguageModel | None) -> FilterSelector:
    """Chooser of the labels of a question."""
    if model is None or not _filter_by_model(settings):
        from stitch.retrieve import LocalFilterSelector

        return LocalFilterSelector()
    from stitch.retrieve.model_filter import ModelFilterSelector

    program = _compiled(settings, "filter_program", "FilterProgram", target="filter")
    return ModelFilterSelector(model, program=program, one_call=not settings.filter_by_kind)


def judge_of(settings: Settings, model: LanguageModel | None) -> RelevanceJudge | None:
    """Judge of the hits that bear on a question; None where chances alone say it."""
    from stitch.retrieve.relevance import RelevanceJudge

    return RelevanceJudge(model) if settings.relevance == "model" and model is not None else None


def statement_model_of(settings: Settings, model: LanguageModel | None) -> StatementModel | None:
    """Model of the statements of steps; None if they speak for themselves."""
    if settings.statements != "model" or model is None:
        return None
    from stitch.themes.asking import StatementModel

    program = _compiled(settings, "statement_program", "StatementProgram", target="statements")
    return StatementModel(model, program=program)


def redact_rule_of(settings: Settings) -> Redact | None:
    """The rule by which more secrets are taken out than those that are known here; None without one."""
    if settings.redact != "detect-secrets":
        return settings.redact
    require_extra("detect-secrets", package="detect_secrets", needed_by="the setting redact: detect-secrets")
    from stitch.ingest.redact import detect_secrets_rule

    return detect_secrets_rule()


def tree_program_of(settings: Settings) -> TreeProgram | None:
    """The prompts about trees, if the settings name compiled ones."""
    if settings.path_program is None:
        return None
    program: TreeProgram = _compiled(settings, "path_program", "TreeProgram", target="path")
    return program


def journal_of(settings: Settings, folder: Path) -> Journal:
    """The journal in a folder, or in the database that the settings name, opened."""
    from stitch.journal import Journal

    where = settings.journal if settings.journal and is_postgres(settings.journal) else folder / JOURNAL_FILE
    return Journal(where, power_safe=settings.power_safe, max_step_chars=settings.max_step_chars)


def store_for(
    settings: Settings,
    location: str,
    *,
    folder: Path,
    embedder: Embedder,
    journal: Journal | None = None,
    path: Path | None = None,
) -> SnippetStore:
    """The store of a memory, opened.

    Args:
        settings: Of the memory.
        location: A folder, or the URL of a server.
        folder: Where the journal is.
        embedder: Makes its vectors.
        journal: The journal; needed on a server, which may be told no texts.
        path: Where the store is built that is not yet where it serves.
    """
    if is_url(location):
        from stitch.lifecycle.folder import journal_id
        from stitch.store import ServerStore

        assert journal is not None
        return ServerStore(
            server_of(settings, location),
            journal=journal.shared_id or journal_id(folder),
            embedder_name=embedder.name,
            dimension=embedder.dimension,
            from_journal=partial(_snippet_of, journal),
        )
    from stitch.store import QdrantStore

    return QdrantStore(path or folder, embedder_name=embedder.name, dimension=embedder.dimension)


def _snippet_of(journal: Journal, tenant: str, trajectory: str, step: str) -> MemorySnippet | None:
    entry = journal.entry(tenant, trajectory, step)
    return None if entry is None else entry.snippet()


def server_of(settings: Settings, location: str) -> Server:
    """The collection on a server that settings name, and how it is spoken to."""
    from stitch.store.connection import Server

    key = settings.qdrant_key
    return Server(
        url=location,
        collection=settings.collection,
        api_key=key.get_secret_value() if key else None,
        timeout_s=settings.qdrant_timeout_s,
        options=settings.qdrant,
        minimal=settings.server_payload in ("minimal", "none"),
    )


def embedder_for(settings: Settings) -> Embedder:
    """The embedder that settings name.

    Raises:
        SettingsError: The length of its vectors is not known, or an extra is missing.
    """
    from stitch.embed import MiniLMEmbedder, RemoteEmbedder, SentenceTransformerEmbedder, StaticEmbedder

    name = settings.embedder
    if name == "static":
        return StaticEmbedder()
    if name == "minilm":
        require_extra("neural", package="onnxruntime", needed_by="the embedder 'minilm'")
        return MiniLMEmbedder(settings.embedder_model, threads=settings.embedder_threads)
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
