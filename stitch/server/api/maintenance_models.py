"""Requests and responses of what is done with steps that are there: corrected, copied, compared, made anew."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pydantic import JsonValue

from stitch.core import LabelKind, ReferenceRewrite, Rejection, StepLabels
from stitch.core.retention import RetentionRule
from stitch.core.steps import Name
from stitch.server.api.listing_models import PartRequest
from stitch.server.api.models import PageResponse, ProofModel, Request, Response


class CorrectRequest(Request):
    """What a person knows better of a step."""

    step: str
    trajectory: Name | None = None
    """Needed if several have such a step."""
    text: str | None = None
    labels: Mapping[str, JsonValue] = {}  # pydantic copies it
    """The right labels: `scope`, `event_types`, `entity_types`; those not named stay."""
    references: Sequence[ReferenceRewrite] | None = None
    """Which of the step's references stay; the others are undone."""
    undo: Sequence[str] = ()
    """References to undo, by their numbers in the timeline, or `all`."""
    asks: Sequence[str] | None = None
    """What it answers, in other words than its own, in place of what was."""
    metadata: Mapping[str, JsonValue] | None = None
    """What else is known of the step, in place of what was."""
    by: str = "person"


class CorrectResponse(Response):
    """A step was corrected."""

    step: str
    trajectory: str
    revisions: int
    """How many earlier versions are kept."""


class HistoryRequest(PartRequest):
    """Asks what a step was before each of its corrections."""

    step: str
    trajectory: Name | None = None
    """Needed if several have such a step."""


class RevisionRow(Response):
    """What a step was before it was corrected."""

    until: float
    """In Unix seconds."""
    corrected_by: str
    step: Mapping[str, JsonValue]
    labels: Mapping[str, JsonValue] | None


class HistoryResponse(PageResponse):
    """What a step was, oldest first."""

    step: str
    trajectory: str
    revisions: tuple[RevisionRow, ...]


class CorrectionRow(Response):
    """The labels of a step that a person has put right."""

    trajectory: str
    position: int
    by: str
    kinds: tuple[LabelKind, ...]
    """Which were changed."""
    labels: StepLabels


class ExpireRequest(Request):
    """Retires or erases what is older than rules allow."""

    rules: Sequence[RetentionRule] | None = None
    """Those of the settings if there are none here."""
    now: float | None = None
    """Unix seconds; the clock of the memory's machine by default."""
    dry_run: bool = False
    """Only count."""
    trust_clock: bool = False
    """Apply them though the clock may have jumped ahead."""


class ExpiredRow(RetentionRule):
    """What a rule came to."""

    steps: int
    waiting: int
    """How many more it would retire if they had labels."""


class ExpireResponse(Response):
    """What the rules came to."""

    rules: tuple[ExpiredRow, ...]
    dry_run: bool
    proof: ProofModel | None
    """Of what was erased, that it is gone."""
    silent_days: int
    """So many days without a step let the clock seem to have jumped ahead; 0 if none do."""
    to_come: int
    """How many steps were accepted at a time that is yet to come."""


class ImportRequest(Request):
    """Takes in the lines of an export."""

    source: str = "-"
    """Where they come from, for the lines that cannot be used."""
    again: bool = False
    """Whether steps that were erased are taken in."""


class ImportResponse(Response):
    """What became of the lines."""

    steps: int
    """How many were not there before."""
    known: int
    trajectories: int
    rejections: tuple[Rejection, ...]
    erased: int
    failed: int
    trees: int = 0
    """How many trees were not there before."""


class ExportRequest(Request):
    """Asks for all that a memory holds, or one trajectory."""

    trajectory: Name | None = None


class ExportLine(Response):
    """A line of an export, which another memory takes in."""

    line: str


class BackupRequest(Request):
    """Copies a tenant's memory while it is in use."""

    to: str
    """A folder on the memory's machine that is empty or not there."""


class BackupResponse(Response):
    """What a backup holds."""

    folder: str
    tenants: int
    steps: int
    megabytes: float


class VerifyRequest(Request):
    """Compares journal, store and labels."""

    repair: bool = False
    """Put what is missing, remove what the journal does not know."""


class DisagreementRow(Response):
    """One thing that is not as the journal says."""

    trajectory: str
    step: str
    what: str


class VerifyResponse(Response):
    """What was compared, and what does not agree."""

    steps: int
    snippets: int
    disagreements: tuple[DisagreementRow, ...]
    choices: tuple[str, ...] = ()
    """After a repair: which of two copies were believed."""


class ReindexResponse(Response):
    """What a store built anew holds."""

    snippets: int
    written: int
    embedder: str


class RelabelResponse(Response):
    """What became of labels that another labeler had made."""

    trajectories: int
    steps: int
    relabeled: int
