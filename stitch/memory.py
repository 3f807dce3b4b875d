"""`Memory`: what a user of the library holds in hand.

More than 400 lines because all that is done with a memory stands in one class, for asyncio too; questions to it are in
`memory_asking`.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable, AsyncIterator, Callable, Coroutine, Iterable, Iterator, Mapping
from contextlib import aclosing, closing
from datetime import datetime
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, overload

from typing_extensions import Self, Unpack

from stitch.core import (
    KeptTrajectory,
    LabelInventory,
    Receipt,
    Rejection,
    Step,
    StepState,
    Theme,
    tenant_name,
    trajectory_name,
)
from stitch.core.arguments import told_in_a_line
from stitch.core.html import table
from stitch.core.process import ForkGuard
from stitch.core.steps import step_name
from stitch.core.times import Time
from stitch.errors import InputError, StepRejectedError, some_of
from stitch.ingest.lag import note_lag, told_lags
from stitch.lm import charged_to
from stitch.memory_asking import AskedMemory
from stitch.memory_parts import (
    MemoryParts,
    MemoryStatus,
    SearchDefaults,
    items_to_async,
    retriever_named,
    to_async,
)

__all__ = ["Memory", "MemoryParts", "MemoryStatus", "SearchDefaults", "retriever_named"]

if TYPE_CHECKING:
    from types import TracebackType

    from stitch.chats import Chats, Edited
    from stitch.ingest import Ingestor
    from stitch.ingest.streaming import Given
    from stitch.journal import Entry
    from stitch.lifecycle.lifecycle import Lifecycle
    from stitch.lifecycle.traces import Proof
    from stitch.retrieve.path import NodeSelection
    from stitch.themes import Themes
    from stitch.trees import Trees
    from stitch.trees.requests.asking import SelectOptions


NOTES = "notes"
"""The trajectory of texts for which none is named."""


@told_in_a_line
class Memory(AskedMemory):
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
        self.labeler = parts.ingestor.labeler.name
        """Name of what makes the labels."""
        self.uses_model = parts.model_workers > 0
        """Whether a language model labels."""
        self.workers = max(1, parts.model_workers)
        """Number of trajectories that are best worked on side by side."""
        self.statements_failure = ""
        """Reason why a model did not read all steps for statements at the last `flush`; empty if it did."""
        self._parts, self._owns_parts, self._defaults = parts, owns_parts, parts.defaults
        self._for_all = owns_parts if for_all is None else for_all

    @cached_property
    def lifecycle(self) -> Lifecycle:
        """Work on the steps that are there: correct, retire, erase, copy, verify, build anew."""
        from stitch.lifecycle.lifecycle import Lifecycle

        own = self._parts
        return Lifecycle(
            own.ingestor,
            tenant=self.tenant,
            folder=own.folder,
            retention=own.retention,
            ledger=own.ledger,
            process=own.process,
            for_all=self._for_all,
        )

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
    def _writer(self) -> Ingestor:
        """The same for what adds or changes something; refused also where the memory can only be read."""
        self._parts.process.check_writing()
        return self._parts.ingestor

    def add(
        self,
        step: Step | Mapping[str, object] | str,
        *,
        trajectory: str | None = None,
        wait: bool = True,
        again: bool = False,
    ) -> Receipt:
        """Store one step; when this returns, it is durable and a search finds it.

        Args:
            step: The step, a mapping of its fields, such as `{"role": "user", "content": "hello"}`, or a text that the
                user says.
            trajectory: Where it goes on; it is begun by its first step. A text goes to `notes` by default.
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

        given = step_of({"role": "user", "content": step} if isinstance(step, str) else step)
        if trajectory is None and not isinstance(step, str):
            raise InputError("a step goes to a trajectory", hint="say which: add(step, trajectory=NAME)")
        name = NOTES if trajectory is None else trajectory
        return self._writer.add(given, tenant=self.tenant, trajectory=name, wait=wait, again=again)

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
        nor overlaps its end goes on after it. Instructions (`system`, `developer`) in front of the last messages stand
        in front of the conversation; other ones than the stored are taken for these, unless `edited` is `revise`.

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
        from stitch.ingest.streaming import batches, each_checked, take_in

        begun = ForkGuard("a stream of steps")
        store = partial(take_in, self.add_each, trajectory=trajectory, wait=wait, again=again)
        yield from each_checked((each for batch in batches(steps) for each in store(batch)), begun)

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

    def themes(self, *, limit: int | None = None, after: str | None = None, as_of: Time | None = None) -> list[Theme]:
        """The themes, those of most statements first, behind the one called `after`; `as_of` as in `search`."""
        return self.hierarchy.largest(limit, after=after, as_of=self._moment(as_of, None))

    def trajectories(self) -> list[KeptTrajectory]:
        """All trajectories in the order in which they began: their names, each with its number of steps and times."""
        return self._ingestor.journal.trajectories(self.tenant)

    @overload
    def get(self, step: str, /) -> Entry | None: ...

    @overload
    def get(self, trajectory: str, step: str) -> Entry | None: ...

    def get(self, trajectory: str, step: str | None = None) -> Entry | None:
        """One step with its labels and how far it has come; None if there is none of this id.

        The trajectory may be left out where no other one has a step of the id: `get("0")`.

        Raises:
            InputError: Several trajectories have one, and none is named.
        """
        if step is None:
            step = step_name(trajectory)
            where = self._trajectory_of(step)
        else:
            where = trajectory_name(trajectory)
        found = where and self._ingestor.journal.entry(self.tenant, where, step)
        return found.told() if found else None

    def _trajectory_of(self, step: str) -> str | None:
        """The only trajectory that has a step of an id; None if none has."""
        names = [each.trajectory for each in self._ingestor.journal.select(self.tenant, step=step)]
        if len(names) > 1:
            raise InputError(
                f"{len(names)} trajectories have a step {step!r}", hint=f"name the trajectory: {some_of(names)}"
            )
        return names[0] if names else None

    def delete(self, step: str, *, trajectory: str | None = None) -> Proof:
        """Erase one step everywhere in the memory, then search every file for it; returns the proof.

        `lifecycle.erase` erases many, by trajectory, label or age.

        Args:
            step: Its id.
            trajectory: Where it is; may be left out where no other one has a step of this id.

        Raises:
            InputError: There is no such step, or several trajectories have one and none is named.
        """
        from stitch.lifecycle.selection import Selector

        found = self.get(step) if trajectory is None else self.get(trajectory, step_name(step))
        if found is None:
            where = "" if trajectory is None else f" in trajectory {trajectory!r}"
            raise InputError(f"there is no step {step!r}{where}", hint="`stitch show --steps` lists the steps")
        return self.lifecycle.erase(Selector(trajectory=found.trajectory, step=found.id)).proof

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
            away=self._ingestor.store_health.reason,
            snippets=store.count(self.tenant),
            labeled_by=self._ingestor.journal.makers(self.tenant),
            redacted=self._ingestor.secrets.counts(self.tenant),
            embedder=self._ingestor.embedder.name,
            journal=str(self.folder),
            server=getattr(store, "about", dict)(),  # of one that is on a server
            queue={} if self._ingestor.role.value == "alone" else self._ingestor.journal.queue.state(self.tenant),
            topics=told_lags(self._ingestor.journal, tenant=self.tenant),
        )

    def note_lag(self, topic: str, group: str, messages: Mapping[int, int]) -> None:
        """Let `status` say of how many messages, by partition, a consumer group is behind in a topic."""
        note_lag(self._writer.journal, tenant=self.tenant, topic=topic, group=group, messages=messages)

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
        return self._writer.worker.finish(self.tenant, trajectory_name(trajectory))

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

    def _repr_html_(self) -> str:
        rows = ((str(each), str(each.steps), _shown(each.began), _shown(each.ended)) for each in self.trajectories())
        return table(("trajectory", "steps", "from", "to"), rows)

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
        from stitch.ingest.streaming import abatches, batches, each_checked, take_in

        begun = ForkGuard("a stream of steps")
        store = partial(take_in, self.add_each, trajectory=trajectory, wait=wait, again=again)
        if isinstance(steps, AsyncIterable):
            async with aclosing(abatches(steps)) as coming:
                async for batch in coming:
                    for result in each_checked(await asyncio.to_thread(store, batch), begun):
                        yield result
            return
        with closing(batches(steps)) as waiting:
            while batch := await asyncio.to_thread(lambda: next(waiting, [])):
                for result in each_checked(await asyncio.to_thread(store, batch), begun):
                    yield result

    aadd = to_async(add)
    aadd_many = to_async(add_many)
    aadd_each = to_async(add_each)
    aadd_messages = to_async(add_messages)
    aselect = to_async(select)
    aget: Callable[..., Coroutine[Any, Any, Entry | None]] = to_async(get)
    adelete = to_async(delete)
    ainventory = to_async(inventory)
    athemes = to_async(themes)
    atrajectories = to_async(trajectories)
    asteps = items_to_async(steps)
    areceipts = items_to_async(receipts)
    astatus = to_async(status)
    aretry = to_async(retry)
    afinish = to_async(finish)
    aflush = to_async(flush)
    aclose = to_async(close)


def _shown(moment: float) -> str:
    return datetime.fromtimestamp(moment).isoformat(" ", "minutes") if moment else ""
