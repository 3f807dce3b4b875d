"""Steps come in, and what is there is told: trajectories, timelines, how far all has come."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import Field

from stitch.core import (
    ContextualIntent,
    KeptTrajectory,
    LabelVocabulary,
    Receipt,
    ReferenceRewrite,
    Step,
    StepLabels,
    StepState,
    with_calls,
)
from stitch.core.steps import Name
from stitch.errors import StepRejectedError
from stitch.journal.entries import Entry
from stitch.lm import Totals
from stitch.memory import Memory, MemoryStatus
from stitch.observe.recalls import Recall
from stitch.server.operations.answers import (
    MOST_PAGE_ITEMS,
    PAGE_ITEMS,
    Answer,
    Limit,
    Page,
    ToldStep,
    gathered,
    known_trajectory,
    page,
    page_of,
    position_after,
)
from stitch.server.operations.costs import Costs, read_costs, whole
from stitch.server.operations.operation import operation
from stitch.server.protocol import About, step_or_message

MOST_PAGE_CHARS = 4_000_000
"""A page of whole steps ends behind the one with which they have more text than this."""
MOST_STEPS = 10_000
"""Number of steps one request may add."""


class RejectedStep(Answer):
    """A step that was not accepted."""

    index: int
    """Its place in the request."""
    message: str
    hint: str = ""


class Added(Answer):
    """Receipts of the steps that were added."""

    receipts: tuple[Receipt, ...]
    """In the order of the steps, without those that were rejected."""
    rejected: tuple[RejectedStep, ...] = ()
    """Only where `each` was asked for."""


@operation("POST", "/v1/steps", "write")
def add(
    memory: Memory,
    *,
    trajectory: Name,
    steps: Annotated[Sequence[Step], Field(max_length=MOST_STEPS)],
    wait: bool = True,
    again: bool = False,
    each: bool = False,
) -> Added:
    """Store the next steps of a trajectory; with `each` the others are stored if one is rejected, else all or none."""
    if not each:
        return Added(receipts=tuple(memory.add_many(steps, trajectory=trajectory, wait=wait, again=again)))
    results = memory.add_each(steps, trajectory=trajectory, wait=wait, again=again)
    return Added(
        receipts=tuple(each for each in results if isinstance(each, Receipt)),
        rejected=tuple(
            RejectedStep(index=index, message=each.message, hint=each.hint)
            for index, each in enumerate(results)
            if isinstance(each, StepRejectedError)
        ),
    )


@operation("POST", "/v1/messages", "write", takes=Memory.add_messages)
def messages(
    memory: Memory,
    *,
    trajectory: Name,
    messages: Annotated[Sequence[Mapping[str, Any]], Field(max_length=MOST_STEPS)],
    start: Annotated[int, Field(ge=0)] | None = None,
    **options: Any,
) -> Added:
    """Store chat messages as they are; of a conversation that grows, what is new. See `Memory.add_messages`."""
    given = map(step_or_message, messages)
    return Added(receipts=tuple(memory.add_messages(given, trajectory=trajectory, start=start, **options)))


class TrajectoryRow(Answer):
    """A trajectory."""

    trajectory: str
    steps: int
    began: float
    """Time when its first step was accepted, in Unix seconds."""
    ended: float


class Trajectories(Page):
    """Trajectories, the oldest first."""

    trajectories: tuple[TrajectoryRow, ...]


@operation("GET", "/v1/trajectories", "read")
def trajectories(memory: Memory, *, limit: Limit = PAGE_ITEMS, after: str | None = None) -> Trajectories:
    """List the trajectories, the oldest first."""
    return page(Trajectories, memory.trajectories(), limit=limit, after=after, row=_trajectory_row)


def _trajectory_row(name: KeptTrajectory) -> TrajectoryRow:
    return TrajectoryRow(trajectory=str(name), steps=name.steps, began=name.began, ended=name.ended)


class ScopeSpans(Answer):
    """The stretches of a scope: first and last position of each."""

    name: str
    steps: int
    spans: tuple[tuple[int, int], ...]


class Reference(ReferenceRewrite):
    """A reference in a step, and what it was read as."""

    number: int
    """From 1: how it is named when it is undone."""
    said: str


class TimelineStep(ToldStep):
    """A step as a timeline shows it."""

    state: str
    calls: tuple[str, ...] = ()
    """The tools it calls, each with its arguments."""
    references: tuple[Reference, ...]


class Timeline(Page):
    """A trajectory: its scopes, and its steps, those of the page."""

    trajectory: str
    length: int
    scopes: tuple[ScopeSpans, ...]
    steps: tuple[TimelineStep, ...]


@operation("GET", "/v1/timeline", "read")
def timeline(
    memory: Memory,
    *,
    trajectory: Name,
    limit: Limit = PAGE_ITEMS,
    after: str | None = None,
    steps: bool = True,
    scopes: bool = True,
) -> Timeline:
    """Tell the scopes of a trajectory, and its steps with their labels and references."""
    known_trajectory(memory, trajectory)
    inventory = memory.inventory(trajectory)
    start, vocabulary = position_after(after), inventory.vocabulary() if steps else LabelVocabulary()
    stop = start + limit
    entries = memory.steps(trajectory, start=start, stop=stop) if steps else ()
    return Timeline(
        trajectory=trajectory,
        length=inventory.steps,
        scopes=tuple(map(ScopeSpans.model_validate, inventory.scopes if scopes else ())),
        steps=tuple(_timeline_step(entry, vocabulary) for entry in entries),
        next=str(stop - 1) if steps and stop < inventory.steps else None,
    )


def _timeline_step(entry: Entry, vocabulary: LabelVocabulary) -> TimelineStep:
    labels, text = entry.labels, entry.step.content
    intent = vocabulary.canonical_intent(labels.intent if labels else ContextualIntent())
    return gathered(
        TimelineStep,
        entry,
        entry.step,
        step=entry.id,
        happened=entry.step.timestamp,
        scope=intent.scope,
        event_types=intent.event_types,
        entity_types=intent.entity_types,
        text=text,
        references=tuple(
            Reference(number=number, said=text[each.start : each.end], **vars(each))
            for number, each in enumerate(labels.references if labels else (), 1)
        ),
        **({"calls": tuple(with_calls("", [call]) for call in entry.step.tool_calls)} if entry.step.tool_calls else {}),
    )


class StepRow(Answer):
    """A step as the memory keeps it, with its labels and how far it has come."""

    trajectory: str
    position: int
    step: Step
    recorded: float
    """Time when it was accepted, in Unix seconds."""
    state: StepState
    reason: str
    labels: StepLabels | None
    retired_at: float | None


class Steps(Page):
    """Steps of a trajectory, in order."""

    steps: tuple[StepRow, ...]


class FoundStep(Answer):
    """One step; null if there is none of this id."""

    found: StepRow | None


@operation("GET", "/v1/steps", "read")
def steps(memory: Memory, *, trajectory: Name, limit: Limit = PAGE_ITEMS, after: str | None = None) -> Steps:
    """Give the steps of a trajectory as the memory keeps them."""
    rows, chars, following = list[StepRow](), 0, None
    for entry in memory.steps(trajectory, start=position_after(after)):
        if len(rows) == limit or chars > MOST_PAGE_CHARS:
            following = str(rows[-1].position)
            break
        chars += len(entry.step.content)
        rows.append(StepRow.model_validate(entry))
    return Steps(steps=tuple(rows), next=following)


@operation("GET", "/v1/step", "read")
def get(memory: Memory, *, trajectory: Name, step: str) -> FoundStep:
    """Give one step as the memory keeps it."""
    return FoundStep(found=memory.get(trajectory, step))


class Status(MemoryStatus):
    """Counts of steps by how far they have come, and the costs of language models."""

    model: Costs
    next: str | None = None
    """Of a page: what to give as `after` for what the trajectories that follow have cost; null behind the last."""


@operation("GET", "/v1/status", "read")
def status(memory: Memory, *, limit: Limit | None = None, after: str | None = None) -> Status:
    """Say how many steps have come how far, and what language models have cost; a limit counts trajectories."""
    spent = read_costs(memory.folder, tenant=memory.tenant)
    names, following = page_of(sorted(spent.trajectories), limit=limit, after=after)
    spent = spent.model_copy(update={"trajectories": {name: spent.trajectories[name] for name in names}})
    return Status(**memory.status().model_dump(), model=spent, **following)


@operation("GET", "/v1/about", "read")
def about(memory: Memory) -> About:
    """Say whose memory this is, and who labels."""
    return About.model_validate(memory)


class OwnTotals(Answer):
    """Sums of calls of a model since the memory was opened, for its tenant."""

    total: Totals
    stages: Mapping[str, Totals]


@operation("GET", "/v1/totals", "read")
def totals(memory: Memory) -> OwnTotals:
    """Say what calls of a model came to since the memory was opened."""
    stages = {name: whole(each) for name, each in memory.ledger.stages().items()}
    return OwnTotals(total=whole(memory.ledger.total()), stages=stages)


class Receipts(Page):
    """Receipts in the order of acceptance."""

    receipts: tuple[Receipt, ...]


@operation("GET", "/v1/receipts", "read")
def receipts(
    memory: Memory,
    *,
    state: StepState | None = None,
    limit: Annotated[int, Field(ge=1, le=10 * MOST_PAGE_ITEMS)] = PAGE_ITEMS,
    after: str | None = None,
) -> Receipts:
    """Say what has become of each step, in the order of acceptance; only of those in `state` if it is given."""
    every = memory.receipts(state=None if state is None else StepState(state))
    return page(Receipts, every, limit=limit, after=after, name=lambda each: f"{each.trajectory}\t{each.step}")


class Retried(Answer):
    """Counts of steps that are stored now and were not, and of those that have failed again."""

    stored: int
    failed: int


@operation("POST", "/v1/retry", "write")
def retry(memory: Memory) -> Retried:
    """Try again to label and store what failed."""
    return Retried(stored=memory.retry(), failed=memory.status().failed)


class Flushed(Answer):
    """Result of a flush: the reason why a model did not read all steps for statements; empty if it did."""

    done: Literal[True] = True
    statements_failure: str = ""


@operation("POST", "/v1/flush", "write")
def flush(memory: Memory) -> Flushed:
    """Wait for the labels of all that is accepted, and make everything survive a loss of power."""
    memory.flush()
    return Flushed(done=True, statements_failure=memory.statements_failure)


class Finished(Answer):
    """The number of steps that were labeled."""

    steps: int


@operation("POST", "/v1/finish", "write")
def finish(memory: Memory, *, trajectory: Name) -> Finished:
    """Label now what waits for more steps of a trajectory."""
    return Finished(steps=memory.finish(trajectory))


class Recalls(Page):
    """The last questions and what came back, oldest first; nothing unless the setting `recall_log` keeps them."""

    recalls: tuple[Recall, ...]


@operation("GET", "/v1/recalls", "read")
def recalls(
    memory: Memory,
    *,
    last: Annotated[int, Field(ge=1)] | None = None,
    limit: Limit | None = None,
    after: str | None = None,
) -> Recalls:
    """Tell what was asked last and what came back, oldest first."""
    seen = Counter[float]()
    placed = list[tuple[str, Recall]]()
    for each in memory.recalls()[-(last or 0) :]:  # by when it was asked, and as the how-manieth of that moment
        seen[each.at] += 1
        placed.append((f"{each.at!r} {seen[each.at]}", each))
    return page(Recalls, placed, limit=limit, after=after, name=lambda each: each[0], row=lambda each: each[1])
