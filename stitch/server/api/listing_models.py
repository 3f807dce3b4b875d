"""Requests and responses of what is there: trajectories, timelines, steps, labels, receipts, how far all has come."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from pydantic import Field

from stitch.core import LabelInventory, LabelMerge, Receipt, Step, StepLabels, StepState
from stitch.core.steps import Name
from stitch.memory import MemoryStatus
from stitch.observe.recalls import Recall
from stitch.server.api.models import MOST_PAGE_ITEMS, PAGE_ITEMS, PageRequest, PageResponse, Request, Response


class PartRequest(Request):
    """Asks for a list whole, or for a part of it if a limit or the end of a page is named."""

    limit: Annotated[int, Field(ge=1, le=MOST_PAGE_ITEMS)] | None = None
    """How many items at most; all if none is named."""
    after: str | None = None
    """The `next` of the page before; the beginning if there is none."""


class TrajectoriesRequest(PageRequest):
    """Asks which trajectories there are, the oldest first."""


class TrajectoryRow(Response):
    """A trajectory."""

    trajectory: str
    steps: int
    began: float
    """When its first step was accepted, in Unix seconds."""
    ended: float
    """When its last step was accepted."""


class TrajectoriesResponse(PageResponse):
    """Trajectories, the oldest first."""

    trajectories: tuple[TrajectoryRow, ...]


class TimelineRequest(PageRequest):
    """Asks for the scopes of a trajectory and its steps with their labels."""

    trajectory: Name
    steps: bool = True
    """Whether the steps are listed, and not only the scopes."""
    scopes: bool = True
    """Whether the scopes are listed: pages behind the first need not tell them again."""


class ScopeSpans(Response):
    """Where a scope runs."""

    name: str
    steps: int
    spans: tuple[tuple[int, int], ...]
    """First and last position of each stretch."""


class Reference(Response):
    """A reference in a step, and what it was read as."""

    number: int
    """From 1: how it is named when it is undone."""
    said: str
    start: int
    end: int
    replacement: str
    antecedent: str | None
    """The id of the step that named the thing."""
    confidence: float


class TimelineStep(Response):
    """A step as a timeline shows it; labels are read through merges."""

    step: str
    position: int
    role: str
    state: str
    scope: str | None
    event_types: tuple[str, ...]
    entity_types: tuple[str, ...]
    text: str
    calls: tuple[str, ...] = ()
    """The tools it calls, each with its arguments."""
    references: tuple[Reference, ...]


class Timeline(PageResponse):
    """A trajectory: its scopes, and its steps, those of the page."""

    trajectory: str
    length: int
    scopes: tuple[ScopeSpans, ...]
    steps: tuple[TimelineStep, ...]


class InventoryRequest(PartRequest):
    """Asks for the label space of a trajectory, or of all; a limit counts labels and merges of all kinds together."""

    trajectory: Name | None = None


class InventoryResponse(LabelInventory):
    """The label space of a trajectory, or of all, or a part of it."""

    next: str | None = None
    """Of a page: what to give as `after` for the labels that follow; null behind the last."""


class LabelsRequest(PartRequest):
    """Asks for the labels of a trajectory, or of all; a limit counts labels and merges of all kinds together."""

    trajectory: Name | None = None


class ScopeRow(Response):
    """A thematic scope."""

    name: str
    trajectory: str
    steps: int
    spans: tuple[tuple[int, int], ...]
    summary: str


class EntityTypeRow(Response):
    """A key entity type."""

    steps: int
    values: tuple[str, ...]
    """Some recent ones."""


class LabelsResponse(Response):
    """The labels of a memory with how many steps carry them, those of most steps first."""

    scopes: tuple[ScopeRow, ...]
    event_types: Mapping[str, int]
    entity_types: Mapping[str, EntityTypeRow]
    merges: tuple[LabelMerge, ...]
    next: str | None = None
    """Of a page: what to give as `after` for the labels that follow; null behind the last."""


class CallTotals(Response):
    """What calls of a model came to."""

    calls: int
    prompt_tokens: int
    reply_tokens: int
    cost_usd: float | None
    """Null if a price is not known."""
    rejected: Mapping[str, int] = {}
    """How many references of replies were left out, by reason."""
    unusable: int = 0
    """How many replies were cut or of no use."""
    tokens: int


class StepMean(Response):
    """The mean over steps that were labeled, or questions whose labels were chosen."""

    calls: float
    tokens: float
    cost_usd: float | None


class SpendingResponse(Response):
    """What language models have cost."""

    total: CallTotals
    models: Mapping[str, CallTotals]
    stages: Mapping[str, CallTotals]
    trajectories: Mapping[str, CallTotals]
    steps: int
    """How many steps were labeled with these calls."""
    a_step: StepMean | None
    """Of labeling; null if no step was labeled."""
    questions: int = 0
    """For how many questions a model chose labels."""
    a_question: StepMean | None = None
    """Of choosing them; null if it chose for none."""


class StatusRequest(PartRequest):
    """Asks how many steps have come how far, and what language models have cost; a limit counts trajectories."""


class StatusResponse(MemoryStatus):
    """How many steps have come how far, and what language models have cost."""

    model: SpendingResponse
    next: str | None = None
    """Of a page: what to give as `after` for what the trajectories that follow have cost; null behind the last."""


class OwnTotalsResponse(Response):
    """What calls of a model came to since the memory was opened, for its tenant."""

    total: CallTotals
    stages: Mapping[str, CallTotals]


class StepsRequest(PageRequest):
    """Asks for the steps of a trajectory as the memory keeps them."""

    trajectory: Name


class StepRow(Response):
    """A step with its labels and how far it has come."""

    trajectory: str
    position: int
    step: Step
    recorded: float
    """When it was accepted, in Unix seconds."""
    state: StepState
    reason: str
    labels: StepLabels | None
    retired_at: float | None


class StepRequest(Request):
    """Asks for one step as the memory keeps it."""

    trajectory: Name
    step: str


class StepResponse(Response):
    """One step."""

    found: StepRow | None
    """Null if there is none of this id."""


class StepsResponse(PageResponse):
    """Steps of a trajectory, in order."""

    steps: tuple[StepRow, ...]


class ReceiptsRequest(Request):
    """Asks what has become of each step, in the order of acceptance."""

    state: StepState | None = None
    """Only of those in this state."""
    limit: Annotated[int, Field(ge=1, le=10 * MOST_PAGE_ITEMS)] = PAGE_ITEMS
    after: str | None = None
    """The `next` of the page before; the beginning if there is none."""


class ReceiptsResponse(PageResponse):
    """What has become of steps."""

    receipts: tuple[Receipt, ...]


class RetryResponse(Response):
    """What became of what had failed."""

    stored: int
    """How many steps are stored now that were not."""
    failed: int
    """How many have failed again."""


class FinishRequest(Request):
    """Labels now what waits for more steps of a trajectory."""

    trajectory: Name


class FinishResponse(Response):
    """How many steps were labeled."""

    steps: int


class RecallsRequest(PartRequest):
    """Asks what was asked last."""

    last: Annotated[int, Field(ge=1)] | None = None
    """Only so many questions."""


class RecallsResponse(PageResponse):
    """What was asked last and what came back, oldest first; nothing unless the setting `recall_log` keeps it."""

    recalls: tuple[Recall, ...]
