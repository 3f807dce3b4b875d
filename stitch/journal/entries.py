"""Entries of the journal, as they are handed around."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from itertools import pairwise
from typing import NamedTuple

import orjson
from pydantic import ValidationError

from stitch.core import (
    ContextualIntent,
    LabelInventory,
    MemorySnippet,
    Receipt,
    Redaction,
    Step,
    StepLabels,
    StepState,
    Trust,
    annotate_rewrites,
    with_calls,
)
from stitch.errors import JournalError, ReplyError, StepRejectedError
from stitch.text.words import count_tokens

MAX_STEP_CHARS = 1_000_000
"""The longest step, in characters of its JSON."""
_NO_LABELS = StepLabels(intent=ContextualIntent(), made_by="")


class Entry(NamedTuple):
    """A step as the journal keeps it."""

    seq: int
    """Its number in the journal, in the order of acceptance over all trajectories of all tenants."""
    tenant: str
    trajectory: str
    position: int
    """Its place in the trajectory, from 0."""
    step: Step
    """With an id, always."""
    recorded: float
    """Time of acceptance, in Unix seconds."""
    state: StepState = StepState.ACCEPTED
    reason: str = ""
    """The reason why it failed, or was retired."""
    labels: StepLabels | None = None
    repeated: bool = False
    """It had been accepted before it was given this time."""
    redacted: tuple[Redaction, ...] = ()
    """The secrets that were taken out; known only while it is accepted, later the journal is asked."""
    retired_at: float | None = None
    """Time at which it was retired, in Unix seconds; None if it is not, or nobody wrote down when."""

    @property
    def id(self) -> str:
        """The id of the step."""
        assert self.step.id is not None
        return self.step.id

    def told(self) -> Entry:
        """As a memory hands it out: numbered by its place, for the number in the journal counts others' steps, too."""
        return self._replace(seq=self.position)

    def was_retired(self, at: float) -> bool:
        """Whether it was out of retrieval at a moment, in Unix seconds."""
        return self.state is StepState.RETIRED and (self.retired_at is None or self.retired_at <= at)

    def receipt(self) -> Receipt:
        """The memory's promise about the step."""
        return Receipt(
            tenant=self.tenant, trajectory=self.trajectory, step=self.id, position=self.position, state=self.state,
            reason=self._reason() if self.retired_at is None else retirement(self.retired_at, self.reason),
            repeated=self.repeated, redacted=self.redacted,
        )  # fmt: skip

    def _reason(self) -> str:
        if self.reason or self.labels is None or not self.labels.reason:
            return self.reason
        return f"has local labels: {self.labels.reason}"

    def snippet(self) -> MemorySnippet:
        """The memory snippet m_t of the step (§2.2.4); without labels, one that waits for them.

        Tool calls are written under the words of the step, one a line, so that they can be found and read.
        """
        step, labels = self.step, self.labels or _NO_LABELS
        origin = step.whence()
        rewritten = annotate_rewrites(step.content, labels.references)
        resolved = with_calls(rewritten, step.tool_calls)
        return MemorySnippet(
            tenant=self.tenant,
            trajectory=self.trajectory,
            step=self.id,
            position=self.position,
            role=step.role,
            text=with_calls(step.content, step.tool_calls),
            resolved=resolved,
            summary=labels.summary,
            context=labels.context,
            asks=labels.asks,
            intent=labels.intent,
            entities=tuple(dict.fromkeys(mention.value for mention in labels.mentions)),
            references=labels.references,
            session=step.session,
            happened=step.timestamp,
            recorded=self.recorded,
            labeled_by=labels.made_by or None,
            origin=origin,
            trust=min(origin.trust, borrowed_trust(labels, rewritten=rewritten != step.content)),
            tokens=count_tokens(resolved),
            tools=tuple(dict.fromkeys([call.name for call in step.tool_calls] or filter(None, [step.tool_name]))),
            metadata=step.metadata,
        )


def borrowed_trust(labels: StepLabels, *, rewritten: bool) -> Trust:
    """The trust of what a step's labels took from other steps; the highest if they took nothing."""
    if labels.trust is not None:
        return labels.trust
    return Trust.LOW if rewritten or labels.context else Trust.HIGH  # nobody wrote down whose words these are


class Selected(NamedTuple):
    """A step that is meant."""

    seq: int
    trajectory: str
    step: str
    recorded: float
    labeled: bool
    retired: bool


class Damaged(NamedTuple):
    """A step of which something is not as it was written."""

    seq: int
    trajectory: str
    step: str
    what: str
    """`step`, `labels`, or, if both are sound, `history`."""

    @property
    def in_doubt(self) -> bool:
        """Whether it cannot be believed as it is now."""
        return self.what != "history"


class Revision(NamedTuple):
    """A step as it was before it was corrected, or before it was retired and put back: then it is there twice."""

    replaced: float
    """Until when, in Unix seconds."""
    by: str
    step: Step
    labels: StepLabels | None


def retirements(revisions: Sequence[Revision]) -> dict[int, tuple[float, float]]:
    """From when to when a step was retired, in Unix seconds, by the places of the revisions that ended so.

    Of two revisions that say the same, the first ended when the step was retired, and the second when it was put back:
    a correction always says something else.
    """
    found: dict[int, tuple[float, float]] = {}
    for place, (before, after) in enumerate(pairwise(revisions), 1):
        if place - 1 not in found and before[1:] == after[1:]:
            found[place] = before.replaced, after.replaced
    return found


class KeptRevision(NamedTuple):
    """A `Revision` as JSON where it is JSON."""

    number: int
    """Of all revisions; 0 before a journal has it."""
    replaced: float
    by: str
    step: bytes
    labels: bytes | None


class KeptStep(NamedTuple):
    """All that a journal has of a step, as JSON where it is JSON: for whoever reads many and decodes few."""

    seq: int
    trajectory: str
    position: int
    recorded: float
    digest: bytes
    """Of the step as its source gave it, which is not as it is now if it was corrected."""
    step: bytes
    labels: bytes | None
    state: StepState
    reason: str
    retired_at: float | None
    revisions: tuple[KeptRevision, ...]
    """Oldest first."""
    redactions: tuple[Redaction, ...]

    @property
    def id(self) -> str:
        """The id of the step."""
        return str(orjson.loads(self.step)["id"])


def retirement(at: float, reason: str) -> str:
    """The reason in the receipt of a retired step."""
    moment = datetime.fromtimestamp(at, timezone.utc).isoformat()
    return f"retired {moment}" + (f": {reason}" if reason else "")


def read_retirement(note: str) -> tuple[float | None, str]:
    """Time and reason of a retirement, by a note of version 1, which had no field for it; None if it does not say."""
    written, _, reason = note.removeprefix("retired ").partition(": ")
    try:
        return datetime.fromisoformat(written).timestamp(), reason
    except ValueError:
        return None, note


class Checkpoint(NamedTuple):
    """State of the labeling of a trajectory after its first `position` steps."""

    labeler: str
    """`Labeler.name`; the saved session is of use to no other."""
    position: int
    session: bytes
    """As `LabelSession.save` returned it."""
    inventory: LabelInventory


class IngestCounts(NamedTuple):
    """Counts of steps by how far they have come."""

    accepted: int
    """All steps of the journal."""
    labeled: int
    stored: int
    failed: int
    trajectories: int
    retired: int

    @property
    def waiting(self) -> int:
        """Steps that are accepted and neither stored nor failed yet."""
        return self.accepted - self.stored - self.failed - self.retired


def erased_entry(step: Step, *, tenant: str, trajectory: str) -> Entry:
    """A step that is not accepted, for it was erased: it has no number and no place."""
    return Entry(0, tenant, trajectory, -1, step, 0.0, StepState.ERASED, "was erased")


def encode_step(step: Step, *, max_chars: int) -> tuple[bytes, bytes]:
    """Return a step as JSON, and the digest by which its content is compared.

    The order of keys in arguments and metadata is kept, but does not count in the digest.

    Raises:
        StepRejectedError: The step is longer than `max_chars` characters, or could not be read back as it is.
    """
    try:
        fields = step.model_dump(exclude_defaults=True, warnings=False)
        try:
            payload, canonical = orjson.dumps(fields), orjson.dumps(fields, option=orjson.OPT_SORT_KEYS)
        except TypeError:  # an integer of more than 64 bits, which only the standard library writes
            payload = json.dumps(fields, ensure_ascii=False).encode()
            canonical = json.dumps(fields, ensure_ascii=False, sort_keys=True).encode()
            orjson.loads(payload)  # whoever reads a journal, an export or an answer may be stricter
        read = Step.model_validate_json(payload).model_dump(exclude_defaults=True)  # a copy may break the rules
    except ValidationError as error:
        cause = error.errors(include_url=False, include_input=False)[0]["msg"].removeprefix("Value error, ")
        raise StepRejectedError(f"step {step.id!r} cannot be written as JSON and read again: {cause}") from error
    except (TypeError, ValueError, RecursionError) as error:
        cause = str(error).splitlines()[0]
        raise StepRejectedError(f"step {step.id!r} cannot be written as JSON: {cause}") from error
    if read != fields:
        name = next(name for name in fields if read.get(name) != fields[name])
        raise StepRejectedError(f"step {step.id!r} cannot be written as JSON: {name} would not be read as it is")
    if len(payload) > max_chars and (chars := len(payload.decode())) > max_chars:
        raise StepRejectedError(
            f"step {step.id!r} has {chars} characters as JSON, at most {max_chars} are allowed",
            hint="split it, or raise max_step_chars",
        )
    return payload, hashlib.blake2b(canonical, digest_size=16).digest()


def encode_labels(labels: StepLabels, *, step: str) -> bytes:
    """Return labels as JSON.

    Raises:
        ReplyError: JSON cannot carry them: a model may have answered with half a character.
    """
    try:
        return labels.model_dump_json(exclude_defaults=True).encode()
    except ValueError as error:
        raise ReplyError(f"the labels of step {step!r} cannot be written as JSON") from error


def differences(held: MemorySnippet, wanted: MemorySnippet) -> list[str]:
    """The names of the fields in which a stored snippet is not as it should be; none if it is.

    An engine may give back a number with another last digit: that is no difference.
    """
    if held == wanted:
        return []
    here, there = held.model_dump(), wanted.model_dump()
    return [name for name in here if not _alike(here[name], there[name])]


def _alike(one: object, other: object) -> bool:
    if isinstance(one, float) and isinstance(other, float | int):
        return math.isclose(one, other, rel_tol=1e-12)
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(_alike(one[name], other[name]) for name in one)
    if isinstance(one, tuple) and isinstance(other, tuple):
        return len(one) == len(other) and all(map(_alike, one, other))
    return one == other


class Record(NamedTuple):
    """An entry that is no step: a version of a tree, an event of a hierarchy."""

    number: int
    """Its place among all records."""
    kind: str
    key: str
    payload: bytes


class DamagedRecordError(JournalError):
    """A record is not as it was written."""


class DamagedStepError(JournalError):
    """A step, or what was made of it, cannot be read."""


class NewRecord(NamedTuple):
    """A record that is to be kept."""

    kind: str
    key: str
    payload: bytes
