"""The lines of an export: what each holds, and what cannot be one."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
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

_HALF_CHARACTER = re.compile(r"\\u[dD][89a-fA-F]")


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


Seconds = Annotated[float, Field(strict=True), AfterValidator(_finite)]
Position = Annotated[int, Field(strict=True, ge=0, lt=MAX_LENGTH)]
Count = Annotated[int, Field(strict=True, ge=0, le=MAX_LENGTH)]


class _Line(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Head(_Line):
    """The first line: whose memory it was, and in which schema."""

    kind: Literal["memory"] = "memory"
    schema_version: Annotated[int, Field(strict=True, ge=1)]
    tenant: str


class TrajectoryLine(_Line):
    """A trajectory; they stand in the order in which they began."""

    kind: Literal["trajectory"] = "trajectory"
    trajectory: Name
    length: Count | None = None
    gaps: tuple[tuple[Position, Position], ...] = ()
    """Said by some of versions 3 and 4, and not needed: each step says where it stands."""


class RevisionLine(_Line):
    """What a step was before a correction."""

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
    """When it was retired."""
    digest: Annotated[str, AfterValidator(_digest)]
    """Of the step as its source gave it, which is not as it is here if it was corrected."""
    step: Step
    labels: StepLabels | None = None
    history: tuple[RevisionLine, ...] = ()
    redactions: tuple[Redaction, ...] = ()
    """The secrets that were taken out of it."""


class SessionLine(_Line):
    """What the labeling of a trajectory remembered after its first `position` steps."""

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
    recorded: Seconds

    def taken_out(self) -> Counter[str]:
        """How many secrets of each kind were taken out of it where it comes from."""
        return Counter(self.redacted)


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
    fields: dict[str, Any] = {
        "trajectory": kept.trajectory, "position": kept.position, "recorded": kept.recorded,
        "state": kept.state.value, "digest": kept.digest.hex(), "step": json.loads(kept.step),
    }  # fmt: skip
    if kept.reason:
        fields["reason"] = kept.reason
    if kept.retired_at is not None:
        fields["retired_at"] = kept.retired_at
    if kept.labels is not None:
        fields["labels"] = json.loads(kept.labels)
    if kept.revisions:
        fields["history"] = [_revision_fields(*revision) for revision in kept.revisions]
    if kept.redactions:
        fields["redactions"] = [each.model_dump() for each in kept.redactions]
    return dump_line("step", **fields)


def _revision_fields(at: float, by: str, step: bytes, labels: bytes | None) -> dict[str, Any]:
    fields = {"at": at, "by": by, "step": json.loads(step)}
    return fields if labels is None else {**fields, "labels": json.loads(labels)}


def parse_line(text: str) -> Line:
    """What a line says.

    Raises:
        ValueError: It is none that this library reads; says why.
    """
    try:
        fields = json.loads(text, parse_constant=_no_number)
        if isinstance(fields, dict) and fields.get("kind") == "memory":
            version = fields.get("schema_version")
            if not isinstance(version, int) or version > EXPORT_VERSION:
                raise ValueError(f"it has schema version {version!r}, this library reads {EXPORT_VERSION}")
        if _HALF_CHARACTER.search(text):
            json.dumps(fields, ensure_ascii=False).encode()
        parsed = _LINE.validate_python(fields)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    except json.JSONDecodeError as error:
        raise ValueError(f"it is no whole line of JSON: {error.msg.lower()}, column {error.colno}") from None
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(map(str, first["loc"]))
        raise ValueError(f"{where}: {first['msg'].lower()}" if where else first["msg"].lower()) from None
    if isinstance(parsed, StepLine) and parsed.step.id is None:
        raise ValueError("its step has no id")
    if isinstance(parsed, StepLine):
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


def _no_number(constant: str) -> None:
    raise ValueError(f"{constant} is no number of JSON")
