"""`Memory`: what a user of the library holds in hand.

More than 400 lines because all that is added to a memory and asked of it stands in one class, for asyncio too.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable, AsyncIterator, Iterable, Iterator, Mapping
from contextlib import aclosing, closing
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError
from typing_extensions import Self, Unpack

from stitch.core import (
    IntentFilter,
    KeptTrajectory,
    LabelInventory,
    Moment,
    Ranking,
    Receipt,
    Rejection,
    RetrievalResult,
    SearchRequest,
    Step,
    StepState,
    Theme,
    Trust,
    tenant_name,
    trajectory_name,
)
from stitch.core.steps import without_surrogates
from stitch.errors import InputError, SettingsError, StepRejectedError, no_trajectory
from stitch.lifecycle.lifecycle import Lifecycle
from stitch.lm import charged_to
from stitch.memory_parts import (
    MemoryParts,
    MemoryStatus,
    SearchDefaults,
    for_asyncio,
    note_search,
    retriever_named,
    searching,
)
from stitch.text.dates import day_of

__all__ = ["Memory", "MemoryParts", "MemoryStatus", "SearchDefaults", "retriever_named"]

if TYPE_CHECKING:
    from types import TracebackType

    from stitch.chats import Chats, Edited
    from stitch.core import Retriever
    from stitch.ingest import Ingestor
    from stitch.ingest.streaming import Given
    from stitch.journal import Entry
    from stitch.observe.recalls import Recall
    from stitch.retrieve import ExplainsRanks, WhyNot
    from stitch.retrieve.path import NodeSelection
    from stitch.retrieve.rank.explain import Why
    from stitch.themes import Themes
    from stitch.trees import Trees
    from stitch.trees.requests.asking import SelectOptions


class Memory:
    """The memory of one tenant, open for adding and searching. Make one with `stitch.open_memory`.

    The tenant is fixed when the memory is opened; no call can name another. All methods may be called from several
    threads, but only from the process that opened it: a fork of it is refused, and closes nothing. The `a...` methods
    are the same for asyncio: they run in a thread and do not block the loop.

    Args:
        parts: What it is made of.
        tenant: Whose memory it is.
        owns_parts: Whether closing it closes the parts; false where other memories share them.
        for_all: Whether its `lifecycle` may do what concerns all tenants; if it owns its parts, by default.

    Raises:
        ScopeError: This can be no tenant.
    """

    opened_as: dict[str, Any] | None = None
    """Arguments of `open_memory` to open it again, without keys but those of `lm`; None if something else made it."""

    def __init__(
        self, parts: MemoryParts, *, tenant: str, owns_parts: bool = True, for_all: bool | None = None
    ) -> None:
        self.tenant = tenant_name(tenant)
        self.folder = parts.folder
        """Folder of the journal, and of the snippets unless they are on a server."""
        self.ledger = parts.ledger.of(self.tenant)
        """Counts and costs of calls of a model since the memory was opened."""
        self.lifecycle = Lifecycle(
            parts.ingestor,
            tenant=self.tenant,
            folder=parts.folder,
            retention=parts.retention,
            ledger=parts.ledger,
            process=parts.process,
            for_all=owns_parts if for_all is None else for_all,
        )
        """Work on the steps that are there: correct, retire, erase, copy, verify, build anew."""
        self.labeler = parts.ingestor.labeler.name
        """Name of what makes the labels."""
        self.uses_model = parts.model_workers > 0
        """Whether a language model labels."""
        self.workers = max(1, parts.model_workers)
        """Number of trajectories that are best worked on side by side."""
        self.statements_failure = ""
        """Reason why a model did not read all steps for statements at the last `flush`; empty if it did."""
        self._parts, self._owns_parts, self._defaults = parts, owns_parts, parts.defaults

    @cached_property
    def trees(self) -> Trees:
        """Artifacts as trees, such as an itinerary or a plan: create, open, select, delete."""
        from stitch.trees.requests.asking import TreeAsker
        from stitch.trees.requests.trees import Trees
        from stitch.trees.requests.versioned import TreeParts

        own = self._parts
        asker = TreeAsker(own.ingestor.embedder, model=own.model, tenant=self.tenant)
        return Trees(TreeParts(own.ingestor, self.tenant, self.folder, own.process, asker, own.model, own.tree_program))

    def select(self, query: str, *, trajectory: str | None = None, **options: Unpack[SelectOptions]) -> NodeSelection:
        """Ask the steps by a path query, as `//Scope[name ~= "login"]/Step[@event_type = "report error"][-1]`."""
        from stitch.trees.requests.steps import select_steps

        return select_steps(self, query, trajectory=self._known(trajectory), asker=self.trees.asker, **options)

    @property
    def _ingestor(self) -> Ingestor:
        """The way of every call; refused in a fork of the process that opened the memory."""
        self._parts.process.check()
        return self._parts.ingestor

    @property
    def _writer(self) -> Ingestor:
        """The same for what adds or changes something; refused also where the memory can only be read."""
        self._parts.process.check_writing()
        return self._parts.ingestor

    def add(
        self, step: Step | Mapping[str, object], *, trajectory: str, wait: bool = True, again: bool = False
    ) -> Receipt:
        """Store one step; when this returns, it is durable and a search finds it.

        Args:
            step: The step, or a mapping of its fields, such as `{"role": "user", "content": "hello"}`.
            trajectory: Where it goes on; it is begun by its first step.
            wait: Whether its labels are waited for. If not, they follow, and `flush` waits for them. Labels of a model
                are never waited for here.
            again: Whether a step that was erased is stored again.

        Returns:
            How far the step came: `stored`; `accepted` if its labels follow; `labeled` if it waits for a server that
            cannot be reached, and is stored by itself when it is back; or `failed` with the reason. A failed step is
            kept and searchable by its text; `retry` labels it. A step known word for word changes nothing; one that was
            erased, whatever it says now, is `erased` and not stored.

        Raises:
            StepRejectedError: The step cannot be accepted (too long, or its id is taken by another content).
            JournalError: It could not be made durable.
        """
        from stitch.sources.given import step_of

        given = step_of(step)
        return self._writer.add(given, tenant=self.tenant, trajectory=trajectory, wait=wait, again=again)

    def add_many(
        self, steps: Iterable[Step | Mapping[str, object]], *, trajectory: str, wait: bool = True, again: bool = False
    ) -> list[Receipt]:
        """Store the next steps of a trajectory, in order; as `add` for each, but much faster.

        Raises:
            StepRejectedError: One step cannot be accepted; none of them was stored.
        """
        from stitch.sources.given import given_steps

        given = given_steps(steps)
        return self._writer.add_many(given, tenant=self.tenant, trajectory=trajectory, wait=wait, again=again)

    def add_messages(
        self,
        messages: Iterable[object],
        *,
        trajectory: str,
        start: int | None = None,
        edited: Edited = "refuse",
        wait: bool = True,
        again: bool = False,
    ) -> list[Receipt]:
        """Store chat messages as they are; of a conversation that grows, what is new.

        Hand over the whole conversation again and again, its last messages, or the new ones alone: messages are known
        by their places and by what they say, so that each is stored once. A list that neither begins as what is stored
        nor overlaps its end goes on after it.

        Args:
            messages: Dictionaries or objects of the OpenAI (chat and responses), Anthropic or Gemini kind, with calls
                of tools and content blocks. Images, sounds and files are named with size and digest; what a memory
                recalled and a program put into a message is not stored again.
            trajectory: The conversation.
            start: At which place of the conversation the first of them stands, counted in steps, if it is known: then
                nothing is guessed.
            edited: What to do where a message says something else than when it was stored: `refuse` all, `keep` what is
                stored, or `revise` it; its `lifecycle.history` then holds what it was.
            wait: As in `add`.
            again: As in `add`.

        Returns:
            A receipt a step, in order, `repeated` for those that were known. A message that holds several results of
            tools is several steps.

        Raises:
            StepRejectedError: One is no message, or was edited and `refuse` is asked for; nothing was stored.
        """
        self._parts.process.check_writing()
        name = trajectory_name(trajectory)
        return self._chats.add(messages, trajectory=name, start=start, edited=edited, wait=wait, again=again)

    @cached_property
    def _chats(self) -> Chats:
        from stitch.chats import Chats

        return Chats(self._parts.ingestor, tenant=self.tenant)

    def stream(
        self,
        steps: Iterable[Given],
        *,
        trajectory: str | None = None,
        wait: bool = True,
        again: bool = False,
    ) -> Iterator[Receipt | Rejection]:
        """Store what an iterator gives, as it comes: a step that comes alone at once, many at a time together.

        The iterator runs in a thread of its own, at most `BUFFER_STEPS` steps ahead; then it waits. Reading on is what
        stores, so take all that is yielded.

        Args:
            steps: Steps, mappings of their fields, or what a `StepSource` yields. It may be endless.
            trajectory: Where steps go that do not say it themselves, as those of a `StepSource` do.
            wait: As in `add`.
            again: As in `add`.

        Yields:
            A receipt a step, in order; a `Rejection` for one that is not accepted.

        Raises:
            InputError: A step has no trajectory; or whatever the iterator raises, after all that came before is stored.
        """
        from stitch.ingest.streaming import batches, begun_here, each_checked, take_in

        store = partial(take_in, self.add_each, trajectory=trajectory, wait=wait, again=again)
        yield from each_checked((each for batch in batches(steps) for each in store(batch)), begun_here())

    def search(
        self,
        query: str,
        *,
        trajectory: str | None = None,
        k: int | None = None,
        budget_tokens: int | None = None,
        asked_at: float | str | None = None,
        intent_filter: IntentFilter | None = None,
        ranking: Ranking | str | None = None,
        retriever: str | None = None,
        min_trust: Trust | str | None = None,
        min_relevance: float | None = None,
        min_share: float | None = None,
        as_of: float | str | None = None,
        include_setup: bool = False,
        diverse: bool = False,
    ) -> RetrievalResult:
        """Find the steps that answer a question: by shared labels first, by similarity second (§2.3).

        Args:
            query: The question.
            trajectory: Search this one only.
            k: How many steps to return at most; by default what the settings say, or what the context has room for.
            budget_tokens: How many tokens `RetrievalResult.context` may have; what the settings say (2000) by default.
            asked_at: When the question is asked; "last week" is read against it.
            intent_filter: Labels to use instead of those the question licenses.
            ranking: `strict` (label density first: the rule of the paper), `weighed` (labels are added to similarity),
                or `auto` (strict where a model or a person chose the labels); what the settings say by default.
            retriever: Which one answers; what the settings say by default.
            min_trust: `high` (the user's own words), `medium` (an agent's too) or `low` (everything: what tools and
                documents say too). Steps that took in words of a less trusted step have its trust. All by default.
            min_relevance: Return only steps that bear on the question with this chance, from 0 to 1, and nothing if
                none does (`RetrievalResult.nothing_relevant`). All by default.
            min_share: Return only steps with this share of the best one's score or more; 0 fills the context. By
                default all come back, and where label density decides the context ends with the best densities.
            as_of: Answer as the memory would have then: Unix seconds, a time as ISO 8601 writes it, or the id of a step
                of `trajectory`. What was retired or corrected since is as it was; what was erased since is not there.
            include_setup: Whether system prompts and other instructions given before an agent's run may be hits.
            diverse: Return steps that say different things: of three times as many, those that cover them best.

        Raises:
            InputError: There is no such trajectory, or a time cannot be read.
            SettingsError: There is no such retriever, or nobody can tell how likely its hits are.
        """
        trajectory = self._known(trajectory)
        request = self._request(
            query,
            trajectory=trajectory,
            k=k,
            budget_tokens=budget_tokens,
            asked_at=asked_at,
            intent_filter=intent_filter,
            ranking=ranking,
            min_trust=min_trust,
            min_relevance=min_relevance,
            min_share=min_share,
            as_of=self._moment(as_of, trajectory),
            include_setup=include_setup,
        )
        with self._ingestor.searches.first(), charged_to(self.tenant):
            chosen = self._retriever(retriever, request.as_of)
            result = searching(chosen, self._parts, request=request, diverse=diverse).search(request)
        note_search(result, self._parts)
        return result

    def why_not(
        self, step: str, *, query: str, trajectory: str, k: int | None = None, intent_filter: IntentFilter | None = None
    ) -> WhyNot:
        """Say where a step stands in the ranking for a question, what it lacks, and what would have admitted it.

        Raises:
            InputError: There is no such step.
            SettingsError: The retriever of the settings cannot explain its ranking.
        """
        request = self._request(query, trajectory=trajectory, k=k, intent_filter=intent_filter)
        return self._explaining().why_not(request, step=step)

    def why(
        self,
        query: str,
        *,
        step: str,
        trajectory: str,
        k: int | None = None,
        asked_at: float | str | None = None,
        ranking: Ranking | str | None = None,
        min_trust: Trust | str | None = None,
        as_of: float | str | None = None,
    ) -> Why:
        """Say why a step comes back for a question, or why it does not: labels, rank, trust, state and budget.

        Args:
            query: The question.
            step: The id of the step.
            trajectory: Where it is; all trajectories are searched.
            k: How many steps count as hits; what the settings say by default.
            asked_at: As in `search`, and so are all others.
            ranking: As in `search`.
            min_trust: As in `search`.
            as_of: As in `search`.

        Raises:
            InputError: The memory knows no such step; it was never accepted, or erased.
            SettingsError: The retriever of the settings cannot explain its ranking.
        """
        from stitch.retrieve.rank.explain import explain

        moment = self._moment(as_of, trajectory)
        request = self._request(
            query, k=k, asked_at=asked_at, ranking=ranking or None, min_trust=min_trust, as_of=moment
        )
        retriever, where = self._explaining(request.as_of), trajectory_name(trajectory)
        with charged_to(self.tenant):
            return explain(self._ingestor.journal, retriever, request, step=step, trajectory=where)

    def recalls(self) -> list[Recall]:
        """The last questions and their hits, oldest first: what the setting `recall_log` keeps, now or earlier."""
        self._parts.process.check()
        return self._parts.recalls.read(self.tenant)

    def _moment(self, as_of: float | str | None, trajectory: str | None) -> Moment | None:
        if as_of is None:
            return None
        from stitch.lifecycle.as_of import moment_of

        return moment_of(self._ingestor.journal, as_of, tenant=self.tenant, trajectory=trajectory)

    def _known(self, trajectory: str | None) -> str | None:
        """The name, as `add` reads it; one that is not there is refused: to find nothing would look like an answer."""
        name = None if trajectory is None else trajectory_name(trajectory)
        if name is not None and not self._ingestor.journal.length(self.tenant, name):
            raise no_trajectory(name, self.trajectories())
        return name

    def _request(self, query: object, *, k: int | None, **given: Any) -> SearchRequest:
        """A request of what is given; the rest is what the settings say."""
        fields = {**self._defaults.of(k), **{name: value for name, value in given.items() if value is not None}}
        fields["query"] = without_surrogates(query) if isinstance(query, str) else query
        asked_at = fields.get("asked_at")
        if isinstance(asked_at, str) and asked_at.strip().isdecimal():  # Unix seconds, as a command gives them
            asked_at = fields["asked_at"] = float(asked_at)
        if asked_at is not None and day_of(asked_at) is None:
            raise InputError(
                f"asked_at {asked_at!r} is no time with a date", hint="write it as 2026-03-01T12:00, or as Unix seconds"
            )
        try:
            return SearchRequest(tenant=self.tenant, **fields)
        except ValidationError as error:
            first = error.errors()[0]
            raise InputError(f"search argument {first['loc'][0]!r}: {str(first['msg']).lower()}") from None

    def _retriever(self, name: str | None, moment: Moment | None = None) -> Retriever:
        retriever = retriever_named(name or self._defaults.retriever, self._parts.retrievers)
        if moment is None:
            return retriever
        from stitch.lifecycle.as_of import in_the_past

        return in_the_past(retriever, ingestor=self._ingestor, moment=moment)

    def _explaining(self, moment: Moment | None = None) -> ExplainsRanks:
        from stitch.retrieve import ExplainsRanks

        retriever = self._retriever(None, moment)
        if isinstance(retriever, ExplainsRanks):
            return retriever
        explaining = [name for name, own in self._parts.retrievers.items() if isinstance(own, ExplainsRanks)]
        raise SettingsError(
            f"retriever {retriever.mode!r} cannot explain its ranking",
            hint=f"set retriever to one of {', '.join(explaining)}",
        )

    def add_each(
        self, steps: Iterable[Step | Mapping[str, object]], *, trajectory: str, wait: bool = True, again: bool = False
    ) -> list[Receipt | StepRejectedError]:
        """As `add_many`, but a rejected step is handed back as its error, in its place, and all others are stored."""
        from stitch.sources.given import each_given

        add = partial(self._writer.add_each, tenant=self.tenant, trajectory=trajectory, wait=wait, again=again)
        return each_given(steps, store=add)

    def inventory(self, trajectory: str | None = None) -> LabelInventory:
        """The label space of one trajectory, or of all."""
        whole = self._ingestor.inventory(self.tenant, None if trajectory is None else trajectory_name(trajectory))
        return whole.model_copy(update={"scopes": tuple(whole.scopes)})

    @property
    def hierarchy(self) -> Themes:
        """Episodes, statements and themes as they are now: made when they are first asked for, then brought up."""
        self._parts.process.check()
        return self._parts.themes.of(self.tenant)

    def themes(
        self, *, limit: int | None = None, after: str | None = None, as_of: float | str | None = None
    ) -> list[Theme]:
        """The themes, those of most statements first, behind the one called `after`; `as_of` as in `search`."""
        return self.hierarchy.largest(limit, after=after, as_of=self._moment(as_of, None))

    def trajectories(self) -> list[KeptTrajectory]:
        """All trajectories in the order in which they began: their names, each with its number of steps and times."""
        return self._ingestor.journal.trajectories(self.tenant)

    def get(self, trajectory: str, step: str) -> Entry | None:
        """One step with its labels and how far it has come; None if there is none of this id."""
        return (found := self._ingestor.journal.entry(self.tenant, trajectory_name(trajectory), step)) and found.told()

    def steps(self, trajectory: str, *, start: int = 0, stop: int | None = None) -> Iterator[Entry]:
        """The steps of a trajectory from position `start` to before `stop`, with their labels and how far they are."""
        kept = self._ingestor.journal.entries(self.tenant, trajectory_name(trajectory), start=start, stop=stop)
        return (entry.told() for entry in kept)

    def status(self) -> MemoryStatus:
        """Counts of steps by state, and the state of the store."""
        counts, store = self._ingestor.counts(self.tenant), self._ingestor.store
        return MemoryStatus(
            **counts._asdict(),
            waiting=counts.waiting,
            without_vectors=self._ingestor.worker.without_vectors(self.tenant),
            away=self._ingestor.reach.reason,
            snippets=store.count(self.tenant),
            labeled_by=self._ingestor.journal.makers(self.tenant),
            redacted=self._ingestor.secrets.counts(self.tenant),
            embedder=self._ingestor.embedder.name,
            journal=str(self.folder),
            server=getattr(store, "about", dict)(),  # of one that is on a server
        )

    def retry(self) -> int:
        """Try again to label and store the steps that failed or wait; returns how many are stored now that were not.

        Raises:
            StoreUnavailableError: The server cannot be reached; what waits goes on waiting.
        """
        return self._writer.retry(self.tenant)

    def receipts(self, *, state: StepState | None = None) -> Iterator[Receipt]:
        """The state of each step, in the order of acceptance; only of those in `state` if it is given."""
        return self._ingestor.receipts(self.tenant, state=state)

    def finish(self, trajectory: str) -> int:
        """Label now what waits for more steps of a trajectory; returns how many steps that were."""
        return self._writer.finish(self.tenant, trajectory_name(trajectory))

    def flush(self) -> None:
        """Wait for the labels of all that is accepted, and make everything survive a loss of power.

        Where a model says what steps assert (`statements`), it reads what it has not read yet. While a server cannot be
        reached, what waits for it survives in the journal.
        """
        self._ingestor.flush()
        with charged_to(self.tenant):
            extracted = self._parts.themes.extract(self.tenant)
        self.statements_failure = extracted.failure if extracted else ""

    def interrupt(self) -> None:
        """Give up the calls of a model that labels wait for, for good; who opens it next goes on with them."""
        self._ingestor.interrupt()

    def close(self) -> None:
        """Flush and let go of the memory; closing twice is harmless. Who opens it next puts what waits for a server.

        Used as a context that an error ends, it does not wait for labels: who opens it next goes on with them.
        """
        if self._owns_parts:
            self._parts.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        try:
            if kind is not None and self._owns_parts and not self._parts.process.is_another:
                self._ingestor.close(finish=False)
        finally:
            self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await asyncio.to_thread(self.__exit__, kind, error, traceback)

    def __repr__(self) -> str:
        return f"<Memory {str(self.folder)!r} of tenant {self.tenant!r}, labels by {self.labeler}>"

    async def astream(
        self,
        steps: Iterable[Given] | AsyncIterable[Given],
        *,
        trajectory: str | None = None,
        wait: bool = True,
        again: bool = False,
    ) -> AsyncIterator[Receipt | Rejection]:
        """As `stream`, for asyncio; the iterator may be one of asyncio."""
        from stitch.ingest.streaming import abatches, batches, begun_here, each_checked, take_in

        check, store = begun_here(), partial(take_in, self.add_each, trajectory=trajectory, wait=wait, again=again)
        if isinstance(steps, AsyncIterable):
            async with aclosing(abatches(steps)) as coming:
                async for batch in coming:
                    for result in each_checked(await asyncio.to_thread(store, batch), check):
                        yield result
            return
        with closing(batches(steps)) as waiting:
            while batch := await asyncio.to_thread(lambda: next(waiting, [])):
                for result in each_checked(await asyncio.to_thread(store, batch), check):
                    yield result

    aadd = for_asyncio(add)
    aadd_many = for_asyncio(add_many)
    aadd_messages = for_asyncio(add_messages)
    asearch = for_asyncio(search)
    awhy = for_asyncio(why)
    aget = for_asyncio(get)
    aflush = for_asyncio(flush)
    aclose = for_asyncio(close)
