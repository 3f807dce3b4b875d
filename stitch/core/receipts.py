"""Receipts and events: what happened to a step, said only when it is true."""

from __future__ import annotations

from enum import Enum
from typing import TypeAlias

from pydantic import BaseModel, ConfigDict

from stitch.core.intent import IntentFilter, LabelMerge


class StepState(str, Enum):
    """How far a step has come. A step only moves forward, except that a failed one may be retried."""

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


class Redaction(BaseModel):
    """Secrets of one kind that were taken out of one place of a step before it was written; never their values."""

    model_config = ConfigDict(frozen=True)

    kind: str
    """Such as `password` or `github-token`."""
    count: int
    place: str
    """The field of the step: `content`, `tool_calls`, `metadata`, or a name."""


class Receipt(BaseModel):
    """What the memory promises about one step."""

    model_config = ConfigDict(frozen=True)

    tenant: str
    trajectory: str
    step: str
    position: int
    """Its place in the trajectory, from 0; -1 for a step that was erased."""
    state: StepState
    reason: str = ""
    """Why it failed, or what it waits for."""
    repeated: bool = False
    """The step was known already, word for word: nothing was changed."""
    redacted: tuple[Redaction, ...] = ()
    """The secrets that were taken out of it."""


class Rejection(BaseModel):
    """Input that was not accepted, and where it stands."""

    model_config = ConfigDict(frozen=True)

    source: str
    """File name, or `-` for standard input."""
    line: int
    reason: str
    text: str = ""
    """The beginning of the rejected input."""


class StepsAccepted(BaseModel):
    """Steps became durable."""

    model_config = ConfigDict(frozen=True)

    tenant: str
    trajectory: str
    steps: tuple[str, ...]


class StepsStored(BaseModel):
    """Steps can be found by their labels."""

    model_config = ConfigDict(frozen=True)

    tenant: str
    trajectory: str
    steps: tuple[str, ...]
    made_by: str


class StepsFailed(BaseModel):
    """Steps could not be labeled or stored; they stay accepted and can be retried."""

    model_config = ConfigDict(frozen=True)

    tenant: str
    trajectory: str
    steps: tuple[str, ...]
    reason: str


class StoreAway(BaseModel):
    """The store cannot be reached; steps are accepted and labeled, and wait."""

    model_config = ConfigDict(frozen=True)

    reason: str


class StoreBack(BaseModel):
    """The store is reached again; what waits for it is put."""

    model_config = ConfigDict(frozen=True)

    away_s: float
    """How many seconds it was away."""
    waiting: int
    """How many steps are not stored yet, those that wait for labels included."""


class InputRejected(BaseModel):
    """Input was not accepted."""

    model_config = ConfigDict(frozen=True)

    tenant: str
    rejection: Rejection


class LabelsMerged(BaseModel):
    """Two labels were found to mean the same."""

    model_config = ConfigDict(frozen=True)

    tenant: str
    trajectory: str
    merge: LabelMerge


class StepCorrected(BaseModel):
    """The text, the labels or the references of a step were put right."""

    model_config = ConfigDict(frozen=True)

    tenant: str
    trajectory: str
    step: str
    by: str


class StepsRetired(BaseModel):
    """Steps were taken out of retrieval."""

    model_config = ConfigDict(frozen=True)

    tenant: str
    trajectory: str
    steps: tuple[str, ...]
    reason: str


class StepsErased(BaseModel):
    """Steps were erased everywhere; only how many is told, for nothing of them may be left in what is told."""

    model_config = ConfigDict(frozen=True)

    tenant: str
    steps: int
    trajectories: int


class Searched(BaseModel):
    """A question was answered."""

    model_config = ConfigDict(frozen=True)

    tenant: str
    trajectory: str | None
    query: str
    intent_filter: IntentFilter
    hits: tuple[str, ...]
    """Ids of the snippets returned, best first."""
    parts: tuple[dict[str, float], ...] = ()
    """The parts of their scores, in the same order."""
    decided_by: str = ""
    """What part labels had in the order."""
    milliseconds: float


MemoryEvent: TypeAlias = (
    StepsAccepted
    | StepsStored
    | StepsFailed
    | StepCorrected
    | StepsRetired
    | StepsErased
    | StoreAway
    | StoreBack
    | InputRejected
    | LabelsMerged
    | Searched
)
