"""The lines of an export: what each holds, and what cannot be one."""

from __future__ import annotations

import json
import math
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import AfterValidator, Base64Bytes, BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from stitch.core import LabelInventory, Redaction, Step, StepLabels, StepState
from stitch.core.steps import Name, Text
from stitch.journal import KeptStep

EXPORT_VERSION = 4
"""Of the lines. Since 2 a retired step says when it was retired in a field; before, its reason did.

Since 4 trees are among them.
"""

MAX_LENGTH = 10_000_000
"""The longest trajectory that an export may speak of, in steps."""

_FIRST_SECOND, _LAST_SECOND = -62_135_596_800, 253_402_300_799  # of the years that a date can have


def _finite(value: float) -> float:
    if not math.isfinite(value):
        raise ValueError("is no finite number")
    if not _FIRST_SECOND <= value <= _LAST_SECOND:
        raise ValueError("is no moment of the years 1 to 9999")
    return value


def _digest(value: str) -> str:
    if len(bytes.fromhex(value)) != 16:
        raise ValueError("is no digest")
    return value


def _readable(version: int) -> int:
    if version > EXPORT_VERSION:
        raise ValueError(f"it is of export version {version}, this library reads {EXPORT_VERSION}")
    return version


Seconds = Annotated[float, Field(strict=True), AfterValidator(_finite)]
Position = Annotated[int, Field(strict=True, ge=0, lt=MAX_LENGTH)]
Count = Annotated[int, Field(strict=True, ge=0, le=MAX_LENGTH)]


class _Line(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Head(_Line, extra="ignore"):
    """The first line: whose memory it was, and in which schema."""

    kind: Literal["memory"] = "memory"
    schema_version: Annotated[int, Field(strict=True, ge=1), AfterValidator(_readable)]
    tenant: str


class TrajectoryLine(_Line):
    """A trajectory; they stand in the order in which they began."""

    kind: Literal["trajectory"] = "trajectory"
    trajectory: Name
    length: Count | None = None
    gaps: tuple[tuple[Position, Position], ...] = ()
    """Said by some of versions 3 and 4, and not needed: each step says where it stands."""


class RevisionLine(_Line):
    """A step as it was before a correction."""

    at: Seconds
    by: Name
    step: Step
    labels: StepLabels | None = None


class StepLine(_Line):
    """All that a journal has of a step."""

    kind: Literal["step"] = "step"
    trajectory: Name
    position: Position
    recorded: Seconds
    state: StepState
    reason: Text = ""
    retired_at: Seconds | None = None
    """Time of its retirement."""
    digest: Annotated[str, AfterValidator(_digest)]
    """Of the step as its source gave it, which is not as it is here if it was corrected."""
    step: Step
    labels: StepLabels | None = None
    history: tuple[RevisionLine, ...] = ()
    redactions: tuple[Redaction, ...] = ()
    """The secrets that were taken out of it."""


class SessionLine(_Line):
    """State of the labeling of a trajectory after its first `position` steps."""

    kind: Literal["session"] = "session"
    trajectory: Name
    labeler: Name
    position: Count
    session: Base64Bytes
    inventory: LabelInventory


class CommitFields(BaseModel):
    """A commit of a tree."""

    model_config = ConfigDict(frozen=True, extra="forbid", protected_namespaces=())

    version: Name
    parent: Name | None
    branch: Name
    time: Name
    author: Name
    message: Text
    operations: tuple[dict[str, Any], ...]
    schema_: Annotated[dict[str, Any] | None, Field(alias="schema")] = None
    redacted: dict[str, Count] = {}  # pydantic copies it
    """Number of secrets of each kind redacted where it comes from."""
    recorded: Seconds


class TreeLine(_Line):
    """A tree with its first version: the nodes in document order, each with the number of its children."""

    kind: Literal["tree"] = "tree"
    tree: Name
    nodes: tuple[tuple[str, str, dict[str, str], Count], ...]
    commit: CommitFields


class CommitLine(_Line):
    """A further version of a tree."""

    kind: Literal["commit"] = "commit"
    tree: Name
    commit: CommitFields


class BranchLine(_Line):
    """Another line of versions of a tree, which begins at one."""

    kind: Literal["branch"] = "branch"
    tree: Name
    branch: Name
    at: Name


class End(_Line):
    """The last line: how many steps there are."""

    kind: Literal["end"] = "end"
    steps: Annotated[int, Field(strict=True, ge=0)]


Line: TypeAlias = Head | TrajectoryLine | StepLine | SessionLine | TreeLine | CommitLine | BranchLine | End
_LINE: TypeAdapter[Line] = TypeAdapter(Annotated[Line, Field(discriminator="kind")])


def dump_line(kind: str, **fields: Any) -> str:
    """A line without its end, in ASCII, so that whatever splits lines splits no text."""
    return json.dumps({"kind": kind, **fields})


def dump_step(kept: KeptStep) -> str:
    """The line of a step, with all that the journal has of it."""
    fields = {
        "trajectory": kept.trajectory, "position": kept.position, "recorded": kept.recorded,
        "state": kept.state.value, "digest": kept.digest.hex(), **_parsed(kept.step, kept.labels),
        "reason": kept.reason or None, "retired_at": kept.retired_at,
        "history": [
            {"at": past.replaced, "by": past.by, **_parsed(past.step, past.labels)} for past in kept.revisions
        ] or None,
        "redactions": [each.model_dump() for each in kept.redactions] or None,
    }  # fmt: skip
    return dump_line("step", **{name: value for name, value in fields.items() if value is not None})


def _parsed(step: bytes, labels: bytes | None) -> dict[str, Any]:
    return {"step": json.loads(step), **({} if labels is None else {"labels": json.loads(labels)})}


def parse_line(text: str) -> Line:
    """Parse a line of an export.

    Raises:
        ValueError: It is none that this library reads; says why.
    """
    try:
        parsed = _LINE.validate_json(text)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        if first["type"] == "json_invalid":
            raise ValueError(f"it is no whole line of JSON: {first['ctx']['error'].lower()}") from None
        where = ".".join(map(str, first["loc"]))
        raise ValueError(f"{where}: {first['msg'].lower()}" if where else first["msg"].lower()) from None
    if isinstance(parsed, StepLine):
        if parsed.step.id is None:
            raise ValueError("its step has no id")
        _check_references(parsed.step, parsed.labels)
        for past in parsed.history:
            _check_references(past.step, past.labels)
    return parsed


def _check_references(step: Step, labels: StepLabels | None) -> None:
    end = 0
    for each in sorted(labels.references if labels else (), key=lambda each: (each.start, each.end)):
        if not end <= each.start <= each.end <= len(step.content):
            raise ValueError(f"labels.references: {each.start} to {each.end} is no place in the text of its own")
        end = each.end
