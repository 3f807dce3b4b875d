"""Statements and rows that reading and writing of a journal share."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import orjson

from stitch.core import ChangeKind, Step, StepLabels, StepState
from stitch.core.steps import KEPT
from stitch.journal.database import Database, Session
from stitch.journal.entries import DamagedStepError, Entry
from stitch.journal.tables import checksum

STEPS = "steps JOIN trajectories ON trajectories.number = steps.trajectory"
STEPS_AND_STATES = f"{STEPS} JOIN states ON states.seq = steps.seq"
LABELS = "LEFT JOIN labels ON labels.seq = steps.seq"
IN_ORDER = "steps JOIN trajectories ON trajectories.number = steps.trajectory + 0"
"""As `STEPS`, for pages of a whole tenant in the order of acceptance: the sum keeps a database from gathering and
sorting all of the tenant's steps for each page."""
NAMED = "trajectories.tenant = :tenant AND trajectories.name = :trajectory"
ENTRIES = f"""
SELECT steps.seq, trajectories.tenant, trajectories.name, steps.position, steps.payload, steps.recorded, states.state,
    states.reason, labels.labels, states.retired_at
FROM {STEPS_AND_STATES} {LABELS}
"""
_CONDITIONS = {
    "tenant": "trajectories.tenant = :tenant",
    "trajectory": "trajectories.name = :trajectory",
    "step": "steps.step = :step",
    "accepted_before": "steps.recorded < :accepted_before",
    "stored": "states.state = :stored",
    # the first half of it leads to the index of `states`, which leaves out what is stored
    "state": "states.state <> 'stored' AND states.state = :state",
}
_NOTE_CHANGES = f"""
INSERT INTO changes (kind, tenant, trajectory, first, last)
SELECT CAST(:became AS TEXT), tenant, number, min(seq), max(seq) FROM (
    SELECT steps.seq, trajectories.tenant, trajectories.number,
        -- the same for numbers of a trajectory that follow each other
        steps.seq - row_number() OVER (PARTITION BY trajectories.number ORDER BY steps.seq) AS run
    FROM {STEPS} WHERE steps.seq IN :given
) AS placed GROUP BY tenant, number, run ORDER BY min(seq)
"""


class Part:
    """A part of `Journal`."""

    _db: Database
    max_step_chars: int


def given(state: StepState | None = None, **values: Any) -> dict[str, Any]:
    """The values that are given, as `narrowed` wants them."""
    if state is not None:
        values["stored" if state is StepState.STORED else "state"] = state.value
    return {name: value for name, value in values.items() if value is not None}


def narrowed(statement: str, names: Iterable[str]) -> str:
    """A query, which has `{given}` for a condition, of that alone to which the named values apply."""
    return statement.format(given=" AND ".join(_CONDITIONS[name] for name in names) or "TRUE")


def entry_of(row: Sequence[Any]) -> Entry:
    """A row of `ENTRIES` as an entry."""
    seq, tenant, trajectory, position, payload, recorded, state, reason, made, retired_at = row
    try:
        step = Step.model_validate_json(payload, context=KEPT)
        kept = None if made is None else StepLabels.model_validate_json(made)
        kept_state = StepState(state)
    except ValueError as error:
        raise DamagedStepError(
            f"step {position} of trajectory {trajectory!r} is damaged in the journal",
            hint="`stitch verify --repair` takes what the store has of it",
        ) from error
    return Entry(seq, tenant, trajectory, position, step, recorded, kept_state, reason, kept, retired_at=retired_at)


def number_of(db: Session, tenant: str, trajectory: str) -> int | None:
    """The number of a trajectory."""
    number: int | None = db.value(
        f"SELECT number FROM trajectories WHERE {NAMED}", tenant=tenant, trajectory=trajectory
    )
    return number


def note_changes(db: Session, kind: ChangeKind, seqs: Iterable[int]) -> None:
    """Write down what became of steps that are there, once for numbers of a trajectory that follow each other."""
    db.write(_NOTE_CHANGES, given=list(seqs), became=kind.value)


def set_state(
    db: Session, seqs: Sequence[int], state: StepState, reason: str = "", *, retired_at: float | None = None
) -> None:
    """Note how far steps have come."""
    statement = "UPDATE states SET state = :state, reason = :reason, retired_at = :retired_at WHERE seq IN :given"
    db.write(statement, given=list(seqs), state=state.value, reason=reason, retired_at=retired_at)


def label_rows(made: Sequence[tuple[int, bytes]]) -> list[dict[str, Any]]:
    """Labels of steps as rows of `labels`."""
    return [{"seq": seq, "labels": row, "checksum": checksum(row)} for seq, row in made]


def read_labels(row: bytes) -> tuple[str | None, Sequence[str], str]:
    """Scope, event types and maker of labels in a row; of damaged ones nothing."""
    try:
        made = orjson.loads(row)
        return made["intent"].get("scope"), made["intent"].get("event_types") or (), made["made_by"]
    except (ValueError, KeyError, TypeError, AttributeError):
        return None, (), "None"
