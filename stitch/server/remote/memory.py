"""`RemoteMemory`: the API of `Memory` over a transport, for a memory that is somewhere else.

More than 400 lines because it has every method of `Memory`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from typing_extensions import override

from stitch.core import (
    IntentFilter,
    KeptTrajectory,
    LabelInventory,
    Ranking,
    Receipt,
    RetrievalResult,
    Step,
    StepState,
    Theme,
    Trust,
    trajectory_name,
)
from stitch.core.steps import without_surrogates
from stitch.errors import InputError, StepRejectedError
from stitch.memory import Memory, MemoryStatus
from stitch.server.api import listing_models, models
from stitch.server.api.adding import STEP
from stitch.server.api.operations import made
from stitch.server.api.tree_models import StepSelectRequest
from stitch.server.remote import rebuilding
from stitch.server.remote.asking import Asking
from stitch.server.remote.ledger import RemoteLedger
from stitch.server.remote.lifecycle import RemoteLifecycle
from stitch.sources.attachments import named_attachments
from stitch.sources.given import check_list_of_messages, each_given, given_steps, plain, step_of

if TYPE_CHECKING:
    from types import TracebackType

    from typing_extensions import Unpack

    from stitch.chats import Edited
    from stitch.core.retention import RetentionRule
    from stitch.journal import Entry
    from stitch.observe.recalls import Recall
    from stitch.retrieve import WhyNot
    from stitch.retrieve.path import NodeSelection
    from stitch.retrieve.rank.explain import Why
    from stitch.server.remote.themes import RemoteThemes
    from stitch.server.remote.transport import Transport
    from stitch.trees.requests.asking import SelectOptions
    from stitch.trees.requests.trees import Trees


class RemoteMemory(Asking, Memory):
    """The memory of one tenant that another process has open, here or elsewhere; `stitch.open_memory` gives it.

    It is asked as a `Memory` is. What differs: labels go on being made where the memory is, so that closing this waits
    for nothing and `interrupt` gives up nothing of others; observers are told there, and not here.

    Args:
        transport: Carries requests to where the memory is.
        tenant: Whose memory it is, for `tenant` alone: where it is, that is decided already.
        folder: Where this process keeps what it has to remember itself, such as how far files were read.
        defaults: What a search uses that does not say otherwise, by the names of its options; else what the settings
            say where the memory is.
        retention: What `expire` does if it is given no rules; what the settings there say if None.
        lent: Whether closing it closes nothing, for others have it too; then `let_go` does.
    """

    def __init__(
        self,
        transport: Transport,
        *,
        tenant: str,
        folder: Path,
        defaults: Mapping[str, Any] | None = None,
        retention: Sequence[RetentionRule] | None = None,
        lent: bool = False,
    ) -> None:
        # Not that of `Memory`: there are no parts here, and everything that uses some is overridden.
        Asking.__init__(self, transport, defaults=defaults or {})
        self.tenant, self.folder, self._lent = tenant, folder, lent
        welcome = transport.welcome
        self.labeler, self.uses_model, self.workers = welcome.labeler, welcome.uses_model, welcome.workers
        self.ledger = RemoteLedger(self)
        self.lifecycle = RemoteLifecycle(self, retention=retention)
        self.statements_failure = ""

    @override
    def add(
        self, step: Step | Mapping[str, object], *, trajectory: str, wait: bool = True, again: bool = False
    ) -> Receipt:
        return self.add_many([step_of(step)], trajectory=trajectory, wait=wait, again=again)[0]

    @override
    def add_many(
        self,
        steps: Iterable[Step | Mapping[str, object]],
        *,
        trajectory: str,
        wait: bool = True,
        again: bool = False,
    ) -> list[Receipt]:
        given, name = given_steps(steps), trajectory_name(trajectory)
        if len(given) > models.MOST_STEPS:
            raise InputError(
                f"{len(given)} steps at once are too many for a memory that another process has open",
                hint=f"add at most {models.MOST_STEPS} at a time, or `stream` them",
            )
        response = self.ask_of("add", models.AddRequest, trajectory=name, steps=given, wait=wait, again=again)
        return list(response.receipts)

    @override
    def add_each(
        self,
        steps: Iterable[Step | Mapping[str, object]],
        *,
        trajectory: str,
        wait: bool = True,
        again: bool = False,
    ) -> list[Receipt | StepRejectedError]:
        name = trajectory_name(trajectory)

        def store(good: list[Step]) -> list[Receipt | StepRejectedError]:
            results: list[Receipt | StepRejectedError] = []
            for start in range(0, len(good), models.MOST_STEPS):
                part = good[start : start + models.MOST_STEPS]
                response = self.ask_of(
                    "add", models.AddRequest, trajectory=name, steps=part, wait=wait, again=again, each=True
                )
                rejected = {each.index: StepRejectedError(each.message, hint=each.hint) for each in response.rejected}
                receipts = iter(response.receipts)
                results += [rejected.get(number) or next(receipts) for number in range(len(part))]
            return results

        return each_given(steps, store=store)

    @override
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
        check_list_of_messages(messages)
        response = self.ask_of(
            "messages",
            models.MessagesRequest,
            trajectory=trajectory_name(trajectory),
            messages=[_message(each, where=f"messages[{number}]") for number, each in enumerate(messages)],
            start=start,
            edited=edited,
            wait=wait,
            again=again,
        )
        return list(response.receipts)

    @override
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
        response = self.ask_of(
            "search",
            models.QueryRequest,
            query=without_surrogates(query),
            trajectory=None if trajectory is None else trajectory_name(trajectory),
            k=k,
            budget_tokens=budget_tokens,
            asked_at=asked_at,
            intent_filter=intent_filter,
            ranking=ranking,
            retriever=retriever,
            min_trust=min_trust,
            min_relevance=min_relevance,
            min_share=min_share,
            as_of=as_of,
            include_setup=include_setup,
            diverse=diverse,
            whole=True,
        )
        result = rebuilding.result_of(response)
        if result.request.tenant == self.tenant:
            return result
        request = result.request.model_copy(update={"tenant": self.tenant})
        return dataclasses.replace(result, request=request)

    @override
    def why_not(
        self, step: str, *, query: str, trajectory: str, k: int | None = None, intent_filter: IntentFilter | None = None
    ) -> WhyNot:
        place = self.ask_of(
            "why_not",
            models.WhyNotRequest,
            step=step,
            query=without_surrogates(query),
            trajectory=trajectory_name(trajectory),
            k=k,
            intent_filter=intent_filter,
        )
        return rebuilding.why_not_of(place)

    @override
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
        response = self.ask_of(
            "why",
            models.WhyRequest,
            query=without_surrogates(query),
            step=step,
            trajectory=trajectory_name(trajectory),
            k=k,
            asked_at=asked_at,
            ranking=ranking,
            min_trust=min_trust,
            as_of=as_of,
            whole=True,
        )
        return rebuilding.why_of(response)

    @override
    def recalls(self) -> list[Recall]:
        return list(self.ask("recalls", listing_models.RecallsRequest()).recalls)

    @override
    def inventory(self, trajectory: str | None = None) -> LabelInventory:
        name = None if trajectory is None else trajectory_name(trajectory)
        request = listing_models.InventoryRequest(trajectory=name, limit=models.MOST_PAGE_ITEMS)
        try:
            return rebuilding.inventory_of(list(self.pages("inventory", request)))
        except InputError:  # what a page ended with may be called otherwise by now
            whole = self.ask_of("inventory", listing_models.InventoryRequest, trajectory=name)
            return rebuilding.inventory_of([whole])

    @property
    @override
    def hierarchy(self) -> RemoteThemes:
        from stitch.server.remote.themes import RemoteThemes

        return RemoteThemes(self)

    @override
    def themes(
        self, *, limit: int | None = None, after: str | None = None, as_of: float | str | None = None
    ) -> list[Theme]:
        return self.hierarchy.listed(limit, after=after, as_of=as_of)

    @override
    def trajectories(self) -> list[KeptTrajectory]:
        pages = self.pages("trajectories", listing_models.TrajectoriesRequest(limit=models.MOST_PAGE_ITEMS))
        return [
            KeptTrajectory(row.trajectory, steps=row.steps, began=row.began, ended=row.ended)
            for page in pages
            for row in page.trajectories
        ]

    @override
    def get(self, trajectory: str, step: str) -> Entry | None:
        found = self.ask_of("get", listing_models.StepRequest, trajectory=trajectory_name(trajectory), step=step).found
        return None if found is None else rebuilding.entry_of(found, tenant=self.tenant)

    @override
    def steps(self, trajectory: str, *, start: int = 0, stop: int | None = None) -> Iterator[Entry]:
        after = str(start - 1) if start > 0 else None
        request = made(
            listing_models.StepsRequest,
            trajectory=trajectory_name(trajectory),
            limit=models.MOST_PAGE_ITEMS if stop is None else max(1, min(models.MOST_PAGE_ITEMS, stop - start)),
            after=after,
        )
        return self._steps(request, stop=stop)

    def _steps(self, request: listing_models.StepsRequest, *, stop: int | None) -> Iterator[Entry]:
        for page in self.pages("steps", request):
            for row in page.steps:
                if stop is not None and row.position >= stop:
                    return
                yield rebuilding.entry_of(row, tenant=self.tenant)

    @override
    def status(self) -> MemoryStatus:
        told = self.ask("status", listing_models.StatusRequest(limit=1))
        return MemoryStatus(**{name: getattr(told, name) for name in MemoryStatus.model_fields})

    @override
    def retry(self) -> int:
        stored: int = self.ask("retry", models.Nothing()).stored
        return stored

    @override
    def receipts(self, *, state: StepState | None = None) -> Iterator[Receipt]:
        request = made(listing_models.ReceiptsRequest, state=state, limit=10 * models.MOST_PAGE_ITEMS)
        return (receipt for page in self.pages("receipts", request) for receipt in page.receipts)

    @override
    def finish(self, trajectory: str) -> int:
        name = trajectory_name(trajectory)
        steps: int = self.ask_of("finish", listing_models.FinishRequest, trajectory=name).steps
        return steps

    @override
    def flush(self) -> None:
        self.statements_failure = self.ask("flush", models.Nothing()).statements_failure

    @override
    def interrupt(self) -> None:
        """Give up nothing: calls of a model are under way where the memory is, and go on there."""

    @override
    def close(self) -> None:
        """Let go of the memory; where it is it goes on. Closing twice is harmless."""
        if not self._lent:
            self.let_go()

    def let_go(self) -> None:
        """Close the connections to where the memory is, also if it is lent."""
        self._transport.close()

    @override
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    @cached_property
    @override
    def trees(self) -> Trees:
        from stitch.server.remote.trees import RemoteTrees

        return RemoteTrees(self)

    @override
    def select(self, query: str, *, trajectory: str | None = None, **options: Unpack[SelectOptions]) -> NodeSelection:
        name = None if trajectory is None else trajectory_name(trajectory)
        return self.selected("select", StepSelectRequest, query=query, trajectory=name, **options)

    @override
    def __repr__(self) -> str:
        return f"<RemoteMemory of tenant {self.tenant!r}, by {self._transport.where.rstrip(',')}>"


def _message(given: object, *, where: str) -> Mapping[str, Any]:
    """A message as JSON has it; of what is attached, the name, size and digest."""
    if isinstance(given, Step):
        return {STEP: given.model_dump(mode="json", exclude_unset=True)}
    message = named_attachments(plain(given, where=where))
    if not isinstance(message, Mapping):
        raise StepRejectedError(f"{where} is no message but {type(given).__name__}")
    return message
