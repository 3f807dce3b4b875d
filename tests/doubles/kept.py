"""A step as a journal in dictionaries keeps it."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

from stitch.core import ContextualIntent, Moment, Redaction, Step, StepLabels, StepState
from stitch.journal import Entry, Revision


@dataclass
class KeptRow:
    """A step with all that is known of it."""

    seq: int
    tenant: str
    trajectory: str
    position: int
    id: str
    recorded: float
    digest: bytes
    step: bytes
    labels: bytes | None = None
    state: StepState = StepState.ACCEPTED
    reason: str = ""
    retired_at: float | None = None
    revisions: list[tuple[int, float, str, bytes, bytes | None]] = field(default_factory=list)
    redactions: tuple[Redaction, ...] = ()

    def was_there(self, moment: Moment) -> bool:
        """Whether it was known at a moment."""
        later = self.trajectory == moment.trajectory and self.position > moment.position
        return self.recorded <= moment.recorded and not later

    def entry(self) -> Entry:
        """The step as it is handed around."""
        made = None if self.labels is None else StepLabels.model_validate_json(self.labels)
        step = Step.model_validate_json(self.step)
        return Entry(
            self.seq, self.tenant, self.trajectory, self.position, step, self.recorded, self.state, self.reason, made,
            retired_at=self.retired_at,
        )  # fmt: skip


def free_id(position: int, taken: Collection[str | None]) -> str:
    """A name after a position that is not taken."""
    name, suffix = str(position), 1
    while name in taken:
        suffix += 1
        name = f"{position}-{suffix}"
    return name


def revision_of(number: int, at: float, by: str, step: bytes, labels: bytes | None) -> Revision:
    """A revision of which step and labels are JSON."""
    made = None if labels is None else StepLabels.model_validate_json(labels)
    return Revision(at, by, Step.model_validate_json(step), made)


def has_labels(entry: Entry, *, scopes: Collection[str] | None, event_types: Collection[str] | None) -> bool:
    """Whether a step has one of these scopes and one of these event types, as far as they are given."""
    intent = entry.labels.intent if entry.labels is not None else ContextualIntent()
    scoped = scopes is None or intent.scope in scopes
    return scoped and (event_types is None or not set(event_types).isdisjoint(intent.event_types))
