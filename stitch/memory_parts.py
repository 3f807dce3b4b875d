"""The parts of memories, their status, a search through them, and their methods for asyncio."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import wraps
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Concatenate, NamedTuple, ParamSpec, TypeVar

from pydantic import BaseModel, ConfigDict

from stitch.core import SCHEMA_VERSION, Ranking, Searched
from stitch.core.process import ForkGuard
from stitch.errors import SettingsError

if TYPE_CHECKING:
    from stitch.core import RetrievalResult, Retriever, SearchRequest, SnippetReader
    from stitch.core.retention import RetentionRule
    from stitch.ingest import Ingestor
    from stitch.lm import LanguageModel, Ledger
    from stitch.observe import Observers
    from stitch.observe.recalls import RecallLog
    from stitch.retrieve.relevance import RelevanceJudge
    from stitch.signatures.programs import TreeProgram
    from stitch.themes import TenantThemes


Owner = TypeVar("Owner")
Options = ParamSpec("Options")
Result = TypeVar("Result")


class MemoryStatus(BaseModel):
    """Counts of steps by state, and the state of the store."""

    model_config = ConfigDict(frozen=True)

    accepted: int
    """All steps in the journal."""
    labeled: int
    stored: int
    failed: int
    waiting: int
    """Steps that are neither stored nor failed: they wait for labels, vectors, or a store that cannot be reached."""
    without_vectors: int = 0
    """Those of them that are found by words and labels, and whose vectors follow."""
    away: str = ""
    """Reason why the store cannot be reached; empty if it can."""
    retired: int
    """Out of retrieval on command, and kept for audit."""
    snippets: int
    """Snippets in the store, those without labels included."""
    trajectories: int
    labeled_by: dict[str, int] = {}  # pydantic copies it
    """Numbers of steps by who labeled them. Where a model labels, labels of rules stand in for its own."""
    redacted: dict[str, int] = {}  # pydantic copies it
    """Numbers of secrets by kind that were taken out before anything was written."""
    embedder: str
    journal: str
    """The folder of the journal; of a memory in a folder, this folder."""
    server: dict[str, str] = {}  # pydantic copies it
    """Of a memory on a server: what it says of itself and of the collection."""
    queue: dict[str, str] = {}  # pydantic copies it
    """Of a memory that workers label: how many are there, trajectories that wait, the oldest step without labels."""
    topics: dict[str, str] = {}  # pydantic copies it
    """Of how many messages each topic and its consumer group is behind, and when that was told."""
    owner: dict[str, str] = {}  # pydantic copies it
    """The other process that has the memory open, its machine and since when; empty if this one has."""
    schema_version: int = SCHEMA_VERSION
    """Of what the store keeps of a step; journals and exports have versions of their own."""


HITS = 10
"""A search returns so many steps, if nobody says how many."""


class SearchDefaults(NamedTuple):
    """Options of a search that does not say otherwise."""

    retriever: str = "intent"
    k: int | None = None
    """None returns `HITS`, with a context that has as many steps as it has room for."""
    budget_tokens: int = 2000
    ranking: Ranking = Ranking.AUTO

    def of(self, k: int | None) -> dict[str, Any]:
        """The fields of a request for `k` steps, or for as many as the settings say."""
        k = self.k if k is None else k
        size = {"fill_budget": True, "k": HITS} if k is None else {"k": k}
        return {**size, "budget_tokens": self.budget_tokens, "ranking": self.ranking}


@dataclass(frozen=True, kw_only=True)
class MemoryParts:
    """Parts of memories; put together in `stitch.factory`, shared by the memories of all tenants."""

    folder: Path
    """Folder of the journal, and of the snippets unless they are on a server."""
    ingestor: Ingestor
    retrievers: Mapping[str, Retriever]
    """By the name under which each is chosen."""
    defaults: SearchDefaults
    observer: Observers
    ledger: Ledger
    resources: ExitStack
    """Closes all parts, in their order."""
    recalls: RecallLog
    """Keeps what is asked, if the settings say so."""
    themes: TenantThemes
    """Episodes, statements and themes of each tenant."""
    retention: tuple[RetentionRule, ...] = ()
    model: LanguageModel | None = None
    """The language model; None if none is used."""
    make_model: Callable[[], LanguageModel]
    """Makes one where none is used: that of the settings, or the one that DSPy is configured with."""
    tree_program: TreeProgram | None = None
    """The prompts about trees, if they were compiled."""
    judge: RelevanceJudge | None = None
    """Says which hits bear on a question, where a least relevance is asked for; None where chances alone do."""
    model_workers: int = 0
    """Number of trajectories that a language model labels side by side; 0 if none labels."""
    process: ForkGuard = field(default_factory=lambda: ForkGuard("the memory"))
    """The process that may use them."""

    def close(self) -> None:
        """Close all parts; in a fork of the process that opened them, touch nothing."""
        if not self.process.is_another:
            self.resources.close()


def retriever_named(name: str, retrievers: Mapping[str, Retriever]) -> Retriever:
    """The retriever of a name.

    Raises:
        SettingsError: There is none.
    """
    if name not in retrievers:
        raise SettingsError(f"no retriever {name!r}", hint=f"one of {', '.join(retrievers)}")
    return retrievers[name]


def searching(retriever: Retriever, parts: MemoryParts, *, request: SearchRequest, diverse: bool) -> Retriever:
    """A retriever that tells how likely its hits are, and which of them lack a vector yet; with `diverse` it chooses
    those that say different things.

    Raises:
        SettingsError: Only likely hits are wanted, and of this retriever's nobody can tell.
    """
    from stitch.retrieve.awaited import AwaitedVectorsRetriever
    from stitch.retrieve.context.answer import EmptyRetriever
    from stitch.retrieve.relevance import RelevanceEstimator, RelevanceRetriever, calibrated

    ingestor, fitted = parts.ingestor, calibrated(retriever)
    if (request.min_relevance or request.min_share) and not fitted:
        raise SettingsError(
            f"retriever {retriever.mode!r} cannot tell how likely its hits are",
            hint="search without min_relevance and min_share, or by "
            + ", ".join(name for name, own in parts.retrievers.items() if calibrated(own)),
        )
    if reason := _unanswerable(request, ingestor):
        return EmptyRetriever(mode=retriever.mode, reason=reason)
    if diverse:
        from stitch.retrieve.diverse import DiverseRetriever

        retriever = DiverseRetriever(retriever, embedder=ingestor.embedder)
    if not fitted:
        return AwaitedVectorsRetriever(retriever, lacking=ingestor.worker.lacking)
    store: SnippetReader = ingestor.store
    if request.as_of is not None:
        from stitch.lifecycle.as_of import PastStore

        store = PastStore(store, ingestor=ingestor, moment=request.as_of)
    estimator = RelevanceEstimator(store, embedder=ingestor.embedder)
    retriever = RelevanceRetriever(retriever, estimator=estimator, judge=parts.judge, diverse=diverse)
    return AwaitedVectorsRetriever(retriever, lacking=ingestor.worker.lacking)


def _unanswerable(request: SearchRequest, ingestor: Ingestor) -> str:
    """Reason why nothing can be found for a question, whatever the memory holds; empty if something may."""
    if request.intent_filter is None and not any(map(str.isalnum, request.query)):
        return "the question has no word"
    if (moment := request.as_of) is not None:
        then = ingestor.journal.lengths_at(moment, tenant=request.tenant, trajectory=request.trajectory)
        if not any(known for _, known in then.values()):
            return "nothing was stored by then; a past moment goes by when steps were stored, not when they happened"
    return ""


def note_search(result: RetrievalResult, parts: MemoryParts) -> None:
    """Tell of an answered question whoever keeps or watches what is asked."""
    parts.recalls.note(result)
    if not parts.observer.heeds(Searched):
        return
    request = result.request
    parts.observer.notice(
        Searched.model_construct(  # all of it was checked when the answer was made
            tenant=request.tenant,
            trajectory=request.trajectory,
            query=parts.ingestor.secrets.clean(request.query),
            intent_filter=result.intent_filter,
            hits=tuple(hit.snippet.id for hit in result.hits),
            parts=tuple(dict(hit.parts) for hit in result.hits),
            decided_by=result.decided_by.value,
            milliseconds=result.milliseconds,
        )
    )


_TOGETHER = 256
"""Items of an iterator that a thread takes at a time."""


def to_async(
    method: Callable[Concatenate[Owner, Options], Result],
) -> Callable[Concatenate[Owner, Options], Coroutine[Any, Any, Result]]:
    """Return a method that runs another one in a thread, with the same options and types, and does not block the loop.

    A call that is cancelled is not awaited any more; what its thread had begun is finished.
    """

    @wraps(method)
    async def crossing(self: Owner, /, *arguments: Options.args, **options: Options.kwargs) -> Result:
        return await asyncio.to_thread(getattr(self, name), *arguments, **options)

    name = method.__name__
    _say_what_it_is(crossing, method)
    return crossing


def _say_what_it_is(crossing: Any, method: Callable[..., Any]) -> None:
    name = method.__name__
    crossing.__name__ = f"a{name}"
    crossing.__qualname__ = method.__qualname__.replace(name, crossing.__name__)
    crossing.__doc__ = f"As `{name}`, with the same options, for asyncio."


def items_to_async(
    method: Callable[Concatenate[Owner, Options], Iterator[Result]],
) -> Callable[Concatenate[Owner, Options], AsyncIterator[Result]]:
    """The same for a method that returns an iterator: a thread takes its items, some at a time."""

    @wraps(method)
    async def crossing(self: Owner, /, *arguments: Options.args, **options: Options.kwargs) -> AsyncIterator[Result]:
        items = iter(await asyncio.to_thread(getattr(self, name), *arguments, **options))
        while together := await asyncio.to_thread(lambda: list(islice(items, _TOGETHER))):
            for item in together:
                yield item

    name = method.__name__
    _say_what_it_is(crossing, method)
    return crossing
