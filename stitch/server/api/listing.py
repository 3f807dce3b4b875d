"""What is there: trajectories, their scopes and steps, labels, how far all has come."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import dropwhile, islice
from typing import TYPE_CHECKING, TypeVar

from stitch.core import LabelKind, LabelVocabulary, Receipt, with_calls
from stitch.errors import InputError
from stitch.server.api.listing_models import (
    EntityTypeRow,
    FinishRequest,
    FinishResponse,
    InventoryRequest,
    InventoryResponse,
    LabelsRequest,
    LabelsResponse,
    OwnTotalsResponse,
    PartRequest,
    RecallsRequest,
    RecallsResponse,
    ReceiptsRequest,
    ReceiptsResponse,
    Reference,
    RetryResponse,
    ScopeRow,
    ScopeSpans,
    StatusRequest,
    StatusResponse,
    StepRequest,
    StepResponse,
    StepRow,
    StepsRequest,
    StepsResponse,
    Timeline,
    TimelineRequest,
    TimelineStep,
    TrajectoriesRequest,
    TrajectoriesResponse,
    TrajectoryRow,
)
from stitch.server.api.models import MOST_PAGE_CHARS, PAGE_ITEMS, About, FlushResponse, Nothing
from stitch.server.api.naming import known_trajectory
from stitch.server.api.spending import read_spending, totals_of

if TYPE_CHECKING:
    from stitch.journal import Entry
    from stitch.memory import Memory

Item = TypeVar("Item")
Labels = TypeVar("Labels", LabelsResponse, InventoryResponse)


def trajectories(memory: Memory, request: TrajectoriesRequest) -> TrajectoriesResponse:
    """List the trajectories, the oldest first."""
    page, following = page_of(memory.trajectories(), request.after, limit=request.limit, name=str)
    rows = (TrajectoryRow.made_of(each, trajectory=str(each)) for each in page)
    return TrajectoriesResponse(trajectories=tuple(rows), next=following)


def page_of(
    items: Sequence[Item], after: str | None, *, limit: int, name: Callable[[Item], str]
) -> tuple[Sequence[Item], str | None]:
    """A part of a list, and what to ask for the next one with; None behind the last.

    It begins behind the item of the name `after`; no two have the same.

    Raises:
        InputError: There is no item of this name any more.
    """
    start = 0
    if after is not None:
        start = next((number for number, item in enumerate(items, 1) if name(item) == after), 0)
        if not start:
            raise InputError(f"nothing in the list is called {after!r} any more", hint="begin again without `after`")
    page = items[start : start + limit]
    return page, name(page[-1]) if start + limit < len(items) else None


def part_of(
    items: Sequence[Item], request: PartRequest, *, name: Callable[[Item], str]
) -> tuple[Sequence[Item], dict[str, str | None]]:
    """A list whole, or the part of it that is asked for, with the field of an answer that says so; see `page_of`."""
    if request.limit is None and request.after is None:
        return items, {}
    page, following = page_of(items, request.after, limit=request.limit or PAGE_ITEMS, name=name)
    return page, {"next": following}


def timeline(memory: Memory, request: TimelineRequest) -> Timeline:
    """Tell the scopes of a trajectory, and its steps with their labels and references."""
    known_trajectory(memory, request.trajectory)
    inventory = memory.inventory(request.trajectory)
    start, vocabulary = position_after(request.after), inventory.vocabulary()
    stop = start + request.limit
    steps = memory.steps(request.trajectory, start=start, stop=stop) if request.steps else ()
    more = request.steps and stop < inventory.steps
    return Timeline(
        trajectory=request.trajectory,
        length=inventory.steps,
        scopes=tuple(map(ScopeSpans.made_of, inventory.scopes if request.scopes else ())),
        steps=tuple(_timeline_step(entry, vocabulary) for entry in steps),
        next=str(stop - 1) if more else None,
    )


def position_after(after: str | None) -> int:
    """The position behind one that a page ended with; 0 for the first page.

    Raises:
        InputError: It is no position.
    """
    if after is None:
        return 0
    if not (after.isdecimal() and len(after) < 19):
        raise InputError(f"after {after!r} is no position", hint="give the `next` of the page before")
    return int(after) + 1


def _timeline_step(entry: Entry, vocabulary: LabelVocabulary) -> TimelineStep:
    labels, text = entry.labels, entry.step.content
    intent = labels.intent if labels else None
    called = tuple(with_calls("", [call]) for call in entry.step.tool_calls)
    calls: dict[str, tuple[str, ...]] = {"calls": called} if called else {}

    def read(kind: LabelKind, values: Iterable[str]) -> tuple[str, ...]:
        """Labels as lanes and questions read them: through the merges."""
        return tuple(dict.fromkeys(vocabulary.canonical(kind, value) for value in values))

    return TimelineStep(
        step=entry.id,
        position=entry.position,
        role=entry.step.role,
        state=entry.state.value,
        scope=vocabulary.canonical(LabelKind.SCOPE, intent.scope) if intent and intent.scope else None,
        event_types=read(LabelKind.EVENT_TYPE, intent.event_types) if intent else (),
        entity_types=read(LabelKind.ENTITY_TYPE, intent.entity_types) if intent else (),
        text=text,
        **calls,
        references=tuple(
            Reference(number=number, said=text[each.start : each.end], **each.model_dump())
            for number, each in enumerate(labels.references if labels else (), 1)
        ),
    )


def labels(memory: Memory, request: LabelsRequest) -> LabelsResponse:
    """List the labels of a memory, those of most steps first: scopes, then event types, entity types and merges."""
    inventory = memory.inventory(known_trajectory(memory, request.trajectory))
    scopes = tuple(map(ScopeRow.made_of, inventory.scopes))
    events = dict(sorted(inventory.event_types.items(), key=lambda item: (-item[1], item[0])))
    entities = {
        name: EntityTypeRow.made_of(summary)
        for name, summary in sorted(inventory.entity_types.items(), key=lambda item: (-item[1].steps, item[0]))
    }
    return _part_of_labels(
        LabelsResponse(scopes=scopes, event_types=events, entity_types=entities, merges=inventory.merges), request
    )


def inventory(memory: Memory, request: InventoryRequest) -> InventoryResponse:
    """Give the label space of a trajectory, or of all, as questions are matched against it."""
    found = memory.inventory(request.trajectory)
    whole = InventoryResponse.model_construct(**{name: getattr(found, name) for name in type(found).model_fields})
    return _part_of_labels(whole, request)


def _part_of_labels(whole: Labels, request: LabelsRequest | InventoryRequest) -> Labels:
    """All labels, or as many as a page holds, after those of an earlier page."""
    places = [f"scope\t{each.trajectory}\t{each.name}" for each in whole.scopes]  # no name has a tab
    places += [f"event\t{name}" for name in whole.event_types] + [f"entity\t{name}" for name in whole.entity_types]
    places += [f"merge\t{each.kind.value}\t{each.alias}" for each in whole.merges]
    page, following = part_of(places, request, name=str)
    if not following:
        return whole
    shown = set(page)
    return whole.model_copy(
        update={
            "scopes": tuple(each for each in whole.scopes if f"scope\t{each.trajectory}\t{each.name}" in shown),
            "event_types": {name: count for name, count in whole.event_types.items() if f"event\t{name}" in shown},
            "entity_types": {name: row for name, row in whole.entity_types.items() if f"entity\t{name}" in shown},
            "merges": tuple(each for each in whole.merges if f"merge\t{each.kind.value}\t{each.alias}" in shown),
            **following,
        }
    )


def status(memory: Memory, request: StatusRequest) -> StatusResponse:
    """Say how many steps have come how far, and what language models have cost."""
    spent = read_spending(memory.folder, tenant=memory.tenant).model()
    page, following = part_of(sorted(spent.trajectories), request, name=str)
    if len(page) < len(spent.trajectories):
        spent = spent.model_copy(update={"trajectories": {name: spent.trajectories[name] for name in page}})
    return StatusResponse(**memory.status().model_dump(), model=spent, **following)


def about(memory: Memory, request: Nothing) -> About:
    """Say whose memory this is, and who labels."""
    return About.made_of(memory)


def own_totals(memory: Memory, request: Nothing) -> OwnTotalsResponse:
    """Say what calls of a model came to since the memory was opened."""
    ledger = memory.ledger
    return OwnTotalsResponse(
        total=totals_of(ledger.total()), stages={name: totals_of(each) for name, each in ledger.stages().items()}
    )


def steps(memory: Memory, request: StepsRequest) -> StepsResponse:
    """Give the steps of a trajectory as the memory keeps them, with their labels and how far they have come."""
    start, rows, chars = position_after(request.after), list[StepRow](), 0
    following = None
    for entry in memory.steps(request.trajectory, start=start):
        if len(rows) == request.limit or chars > MOST_PAGE_CHARS:
            following = str(rows[-1].position)
            break
        chars += len(entry.step.content)
        rows.append(_row(entry))
    return StepsResponse(steps=tuple(rows), next=following)


def get(memory: Memory, request: StepRequest) -> StepResponse:
    """Give one step as the memory keeps it."""
    found = memory.get(request.trajectory, request.step)
    return StepResponse(found=None if found is None else _row(found))


def _row(entry: Entry) -> StepRow:
    return StepRow.made_of(entry)


def receipts(memory: Memory, request: ReceiptsRequest) -> ReceiptsResponse:
    """Say what has become of each step, in the order of acceptance."""
    every = memory.receipts(state=request.state)
    if request.after is not None:
        every = dropwhile(lambda receipt: _place(receipt) != request.after, every)
        if next(every, None) is None:
            raise InputError("the step that the page before ended with is gone", hint="begin again without `after`")
    page = list(islice(every, request.limit + 1))
    more = len(page) > request.limit
    page = page[: request.limit]
    return ReceiptsResponse(receipts=tuple(page), next=_place(page[-1]) if more else None)


def _place(receipt: Receipt) -> str:
    """What a receipt is known by; no name has a tab."""
    return f"{receipt.trajectory}\t{receipt.step}"


def retry(memory: Memory, request: Nothing) -> RetryResponse:
    """Try again to label and store what failed."""
    return RetryResponse(stored=memory.retry(), failed=memory.status().failed)


def flush(memory: Memory, request: Nothing) -> FlushResponse:
    """Wait for the labels of all that is accepted, and make everything survive a loss of power."""
    memory.flush()
    return FlushResponse(done=True, statements_failure=memory.statements_failure)


def finish(memory: Memory, request: FinishRequest) -> FinishResponse:
    """Label now what waits for more steps of a trajectory."""
    return FinishResponse(steps=memory.finish(request.trajectory))


def recalls(memory: Memory, request: RecallsRequest) -> RecallsResponse:
    """Tell what was asked last and what came back, oldest first."""
    asked, seen = memory.recalls()[-(request.last or 0) :], Counter[float]()
    places: list[str] = []
    for each in asked:  # by when it was asked, and as the how-manieth of that moment
        seen[each.at] += 1
        places.append(f"{each.at!r} {seen[each.at]}")
    page, following = part_of(list(zip(places, asked, strict=True)), request, name=lambda placed: placed[0])
    return RecallsResponse(recalls=tuple(recall for _, recall in page), **following)
