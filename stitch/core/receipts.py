"""Receipts and events: what happened to a step, told only when it is true."""

from __future__ import annotations

from enum import Enum
from typing import TypeAlias

from pydantic import BaseModel

from stitch.core.intent import IntentFilter, LabelMerge


class StepState(str, Enum):
    """State of a step, which only moves forward, except that a failed one may be retried."""

    ACCEPTED = "accepted"
    """Durably in the journal. From here on it is never lost."""
    LABELED = "labeled"
    """Its labels are in the journal. Where the store cannot be reached, it waits for that and is put by itself; where
    vectors follow, it is found by words and labels, and is stored by itself when its vector is there."""
    STORED = "stored"
    """It can be found by all that it is searched by."""
    FAILED = "failed"
    """Labeling or storing failed; the reason is kept, `retry` tries again."""
    RETIRED = "retired"
    """Out of retrieval on command, and kept for audit; the reason says by whom and why."""
    ERASED = "erased"
    """Given again after it was erased, and not accepted: the journal has nothing of it. Only receipts say this."""


class Redaction(BaseModel, frozen=True):
    """Secrets of one kind that were taken out of one place of a step before it was written; never their values."""

    kind: str
    """Such as `password` or `github-token`."""
    count: int
    place: str
    """The field of the step: `content`, `tool_calls`, `metadata`, or a name."""


class Receipt(BaseModel, frozen=True):
    """The memory's promise about one step."""

    tenant: str
    trajectory: str
    step: str
    position: int
    """Its place in the trajectory, from 0; -1 for a step that was erased."""
    state: StepState
    reason: str = ""
    """The reason of a failure, or what it waits for."""
    repeated: bool = False
    """The step was known already, word for word: nothing was changed."""
    redacted: tuple[Redaction, ...] = ()
    """The secrets that were taken out of it."""


class Rejection(BaseModel, frozen=True):
    """Input that was not accepted, and where it stands."""

    source: str
    """File name, or `-` for standard input."""
    line: int
    reason: str
    text: str = ""
    """The beginning of the rejected input."""
    record: str = ""
    """The rejected input whole, as JSON or as it stood; once, where several of its steps are rejected. It can be fed
    in again.
    """


class _OfSteps(BaseModel, frozen=True):
    tenant: str
    trajectory: str
    steps: tuple[str, ...]


class StepsAccepted(_OfSteps):
    """Steps became durable."""


class StepsStored(_OfSteps):
    """Steps can be found by their labels."""

    made_by: str


class StepsFailed(_OfSteps):
    """Steps could not be labeled or stored; they stay accepted and can be retried."""

    reason: str


class StepsRetired(_OfSteps):
    """Steps were taken out of retrieval."""

    reason: str


class StepsRestored(_OfSteps):
    """Steps that were retired are found again."""

    by: str


class StepCorrected(BaseModel, frozen=True):
    """The text, the labels or the references of a step were put right."""

    tenant: str
    trajectory: str
    step: str
    by: str


class StepsErased(BaseModel, frozen=True):
    """Steps were erased everywhere; only how many is told, for nothing of them may be left in what is told."""

    tenant: str
    steps: int
    trajectories: int


class StoreAway(BaseModel, frozen=True):
    """The store cannot be reached; steps are accepted and labeled, and wait."""

    reason: str


class StoreBack(BaseModel, frozen=True):
    """The store is reached again; waiting steps are put."""

    away_s: float
    waiting: int
    """Steps not stored yet, those that wait for labels included."""


class InputRejected(BaseModel, frozen=True):
    """Input was not accepted."""

    tenant: str
    rejection: Rejection


class LabelsMerged(BaseModel, frozen=True):
    """Two labels were found to mean the same."""

    tenant: str
    trajectory: str
    merge: LabelMerge


class Searched(BaseModel, frozen=True):
    """A question was answered."""

    tenant: str
    trajectory: str | None
    query: str
    intent_filter: IntentFilter
    hits: tuple[str, ...]
    """Ids of the snippets returned, best first."""
    parts: tuple[dict[str, float], ...] = ()
    """The parts of their scores, in the same order."""
    decided_by: str = ""
    """Part that labels had in the order."""
    milliseconds: float


MemoryEvent: TypeAlias = (
    StepsAccepted | StepsStored | StepsFailed | StepCorrected | StepsRetired | StepsRestored
    | StepsErased
    | StoreAway | StoreBack | InputRejected | LabelsMerged | Searched
)  # fmt: skip
