"""Statements and rows that reading and writing of a journal share."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import orjson
from sqlalchemy import Text, and_, bindparam, func, insert, select, update

from stitch.core import ChangeKind, Step, StepLabels, StepState
from stitch.core.steps import KEPT
from stitch.journal.database import Database, Session
from stitch.journal.entries import DamagedStepError, Entry
from stitch.journal.tables import NOT_STORED, changes, checksum, labels, one_of, states, steps, trajectories

if TYPE_CHECKING:
    from stitch.journal.database import Query

STEPS = steps.join(trajectories, trajectories.c.number == steps.c.trajectory)
STEPS_AND_STATES = STEPS.join(states, states.c.seq == steps.c.seq)
ALL_OF_STEPS = STEPS_AND_STATES.outerjoin(labels, labels.c.seq == steps.c.seq)
IN_ORDER = steps.join(trajectories, trajectories.c.number == steps.c.trajectory + 0)
"""As `STEPS`, for pages of a whole tenant in the order of acceptance: the sum keeps a database from gathering and
sorting all of the tenant's steps for each page."""
NAMED = and_(trajectories.c.tenant == bindparam("tenant"), trajectories.c.name == bindparam("trajectory"))
AFTER = steps.c.seq > bindparam("after")
SIZE: Any = bindparam("size")

ENTRIES = select(
    steps.c.seq, trajectories.c.tenant, trajectories.c.name, steps.c.position, steps.c.payload, steps.c.recorded,
    states.c.state, states.c.reason, labels.c.labels, states.c.retired_at,
).select_from(ALL_OF_STEPS)  # fmt: skip
_CONDITIONS = {
    "tenant": trajectories.c.tenant == bindparam("tenant"),
    "trajectory": trajectories.c.name == bindparam("trajectory"),
    "step": steps.c.step == bindparam("step"),
    "accepted_before": steps.c.recorded < bindparam("accepted_before"),
    "stored": states.c.state == bindparam("stored"),
    # the first half of it leads to the index of `states`, which leaves out what is stored
    "state": and_(NOT_STORED, states.c.state == bindparam("state")),
}
_NARROWED: dict[tuple[Query, tuple[str, ...]], Query] = {}
_NUMBER = select(trajectories.c.number).where(NAMED)
_PLACED = (
    select(
        steps.c.seq, trajectories.c.tenant, trajectories.c.number,
        # the same for numbers of a trajectory that follow each other
        (steps.c.seq - func.row_number().over(partition_by=trajectories.c.number, order_by=steps.c.seq)).label("run"),
    )
    .select_from(STEPS)
    .where(one_of(steps.c.seq))
    .subquery()
)  # fmt: skip
_FIRST, _LAST = func.min(_PLACED.c.seq), func.max(_PLACED.c.seq)
_NOTE_CHANGES_OF = insert(changes).from_select(
    [changes.c.kind, changes.c.tenant, changes.c.trajectory, changes.c.first, changes.c.last],
    select(bindparam("became", type_=Text()), _PLACED.c.tenant, _PLACED.c.number, _FIRST, _LAST)
    .group_by(_PLACED.c.tenant, _PLACED.c.number, _PLACED.c.run)
    .order_by(_FIRST),
)
_SET_STATE = update(states).where(one_of(states.c.seq))


class Part:
    """A part of `Journal`."""

    _db: Database
    _max_step_chars: int


def given(state: StepState | None = None, **values: Any) -> dict[str, Any]:
    """The values that are given, as `narrowed` wants them."""
    if state is not None:
        values["stored" if state is StepState.STORED else "state"] = state.value
    return {name: value for name, value in values.items() if value is not None}


def narrowed(statement: Query, *names: str) -> Query:
    """A query of that alone to which the named values apply; the same one each time, so that it is compiled once."""
    if (found := _NARROWED.get((statement, names))) is None:
        found = _NARROWED[statement, names] = statement.where(*(_CONDITIONS[name] for name in names))
    return found


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
    number: int | None = db.value(_NUMBER, tenant=tenant, trajectory=trajectory)
    return number


def runs(numbers: Iterable[int]) -> Iterator[tuple[int, int]]:
    """The first and the last of numbers that follow each other, each run once."""
    first = last = None
    for number in sorted(numbers):
        if last is None or number != last + 1:
            if first is not None and last is not None:
                yield first, last
            first = number
        last = number
    if first is not None and last is not None:
        yield first, last


def note_changes(db: Session, kind: ChangeKind, seqs: Iterable[int], *, tenant: str, number: int | None) -> None:
    """Write down what became of steps of a trajectory."""
    whose = {"kind": kind.value, "tenant": tenant, "trajectory": number}
    db.write_many(changes, [{**whose, "first": first, "last": last} for first, last in runs(seqs)])


def note_changes_of(db: Session, kind: ChangeKind, seqs: Sequence[int]) -> None:
    """As `note_changes`, of steps of any trajectories."""
    db.write(_NOTE_CHANGES_OF, given=list(seqs), became=kind.value)


def set_state(db: Session, seqs: Sequence[int], state: StepState, reason: str = "") -> None:
    """Note how far steps have come."""
    db.write(_SET_STATE, given=list(seqs), state=state.value, reason=reason, retired_at=None)


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
