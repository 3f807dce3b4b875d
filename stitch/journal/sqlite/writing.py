"""Statements of one transaction: steps accepted, restored, corrected, retired, erased; and each as a change.

More than 400 lines because all that becomes of a step is written here, and what it leaves in each table side by side.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal

from stitch.core import ChangeKind, Redaction, Step, StepLabels, StepState
from stitch.errors import JournalError, StepConflictError, StepRejectedError
from stitch.journal.entries import Checkpoint, Entry, KeptStep, encode_labels, encode_step, erased_entry
from stitch.journal.sqlite.compact import expand, shrink
from stitch.journal.sqlite.erased import ErasedSteps
from stitch.journal.sqlite.schema import checksum, revision_checksum, step_checksum

ENTRIES = """
SELECT s.seq, t.tenant, t.name, s.position, s.payload, s.recorded, states.state, states.reason,
       expand(labels.labels, s.payload), states.retired_at
FROM steps s JOIN trajectories t ON t.number = s.trajectory JOIN states USING (seq) LEFT JOIN labels USING (seq)
"""
GIVEN = "(SELECT value FROM json_each(?))"

_STEP = (
    "INSERT INTO steps (seq, trajectory, position, step, recorded, digest, payload, checksum)"
    " VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
)
_REVISION = "INSERT INTO history (seq, at, made_by, payload, labels, checksum) VALUES (?, ?, ?, ?, ?, ?)"
_OF_A_STEP = ("steps", "labels", "states", "history", "redactions")


def entry_of(row: Sequence[Any]) -> Entry:
    """A row of `ENTRIES` as an entry."""
    seq, tenant, trajectory, position, payload, recorded, state, reason, labels, retired_at = row
    try:
        step = Step.model_validate_json(payload)
        made = StepLabels.model_validate_json(labels) if labels is not None else None
        kept_state = StepState(state)
    except ValueError as error:
        raise JournalError(
            f"step {position} of trajectory {trajectory!r} is damaged in the journal", hint="stitch verify --repair"
        ) from error
    return Entry(seq, tenant, trajectory, position, step, recorded, kept_state, reason, made, retired_at=retired_at)


def one(db: sqlite3.Connection, query: str, *arguments: Any) -> Any:
    """The first value of the first row."""
    return db.execute(query, arguments).fetchone()[0]


def number_of(db: sqlite3.Connection, tenant: str, trajectory: str) -> int | None:
    """The number of a trajectory."""
    row = db.execute("SELECT number FROM trajectories WHERE tenant = ? AND name = ?", (tenant, trajectory)).fetchone()
    return row[0] if row else None


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


def note_changes(
    db: sqlite3.Connection, kind: ChangeKind, seqs: Iterable[int], *, tenant: str, number: int | None
) -> None:
    """Write down what became of steps of a trajectory."""
    db.executemany(
        "INSERT INTO changes (kind, tenant, trajectory, first, last) VALUES (?, ?, ?, ?, ?)",
        [(kind.value, tenant, number, first, last) for first, last in runs(seqs)],
    )


def note_merge(db: sqlite3.Connection, *, tenant: str, number: int | None) -> None:
    """Write down that labels of a trajectory were merged."""
    query = "INSERT INTO changes (kind, tenant, trajectory, first, last) VALUES (?, ?, ?, 0, -1)"
    db.execute(query, (ChangeKind.MERGED.value, tenant, number))


def note_changes_of(db: sqlite3.Connection, kind: ChangeKind, seqs: Sequence[int]) -> None:
    """As `note_changes`, of steps of any trajectories."""
    groups: dict[tuple[str, int], list[int]] = {}
    query = "SELECT t.tenant, t.number FROM steps s JOIN trajectories t ON t.number = s.trajectory WHERE s.seq = ?"
    for seq in seqs:
        for tenant, number in db.execute(query, (seq,)):
            groups.setdefault((tenant, number), []).append(seq)
    for (tenant, number), group in groups.items():
        note_changes(db, kind, group, tenant=tenant, number=number)


class Appending:
    """Steps accepted at the end of a trajectory, in one transaction."""

    def __init__(self, db: sqlite3.Connection, *, tenant: str, trajectory: str, seq: int, max_chars: int) -> None:
        number = number_of(db, tenant, trajectory)
        self._db, self._tenant, self._trajectory, self._max_chars = db, tenant, trajectory, max_chars
        self._begins = number is None
        self._number = one(db, "SELECT coalesce(max(number), 0) + 1 FROM trajectories") if number is None else number
        self._position = one(db, "SELECT coalesce(max(position) + 1, 0) FROM steps WHERE trajectory = ?", self._number)
        self._seq = self._first = seq
        self._known: dict[str, tuple[int, bytes]] = {}
        self._erased = ErasedSteps(db, tenant)
        self._rows: list[tuple[Any, ...]] = []
        self._redactions: list[tuple[Any, ...]] = []

    def accept(
        self,
        steps: Sequence[Step],
        *,
        recorded: float,
        whole: bool,
        again: bool,
        redacted: Mapping[int, Sequence[Redaction]],
    ) -> tuple[list[Entry | StepRejectedError], int]:
        """Accept steps; return one result each, and how many are new."""
        self._known = self._digests([step.id for step in steps if step.id is not None])
        given = {step.id for step in steps}
        results: list[Entry | StepRejectedError] = []
        repeats: dict[int, int] = {}
        for index, step in enumerate(steps):
            if step.id is None:
                step = step.model_copy(update={"id": self._free_id(given)})
            elif step.id not in self._known and self._erased.known(self._trajectory, step.id):
                if not again:
                    results.append(erased_entry(step, tenant=self._tenant, trajectory=self._trajectory))
                    continue
                self._erased.forget(self._trajectory, step.id)
            taken_out = tuple(redacted.get(index, ()))
            try:
                known = self._accept(step, recorded=recorded, redacted=taken_out)
            except StepRejectedError as error:
                if whole:
                    raise
                results.append(error)
                continue
            if known is not None:
                repeats[len(results)] = known
            entry = Entry(self._seq, self._tenant, self._trajectory, self._position, step, recorded, redacted=taken_out)
            results.append(entry)
            if known is None:
                self._seq, self._position = self._seq + 1, self._position + 1
        self._write()
        for index, first in repeats.items():
            row = self._db.execute(f"{ENTRIES} WHERE s.seq = ?", (first,)).fetchone()
            results[index] = entry_of(row)._replace(repeated=True, redacted=tuple(redacted.get(index, ())))
        return results, len(self._rows)

    def _accept(self, step: Step, *, recorded: float, redacted: Sequence[Redaction]) -> int | None:
        """Take in a step; return the number of the one that says the same under the same id, if there is one."""
        assert step.id is not None
        payload, digest = encode_step(step, max_chars=self._max_chars)
        if step.id in self._known:
            first, content = self._known[step.id]
            if content != digest:
                raise StepConflictError(
                    f"step {step.id!r} of trajectory {self._trajectory!r} is known with other content",
                    hint="give it an id of its own; what was accepted is never changed",
                )
            return first
        self._known[step.id] = (self._seq, digest)
        check = step_checksum(step.id, payload)
        self._rows.append((self._seq, self._number, self._position, step.id, recorded, digest, payload, check))
        self._redactions += [(self._seq, each.kind, each.count, each.place) for each in redacted]
        return None

    def _write(self) -> None:
        if not self._rows:
            return
        db = self._db
        if self._begins:
            db.execute(
                "INSERT INTO trajectories (number, tenant, name) VALUES (?, ?, ?)",
                (self._number, self._tenant, self._trajectory),
            )
        db.executemany(_STEP, self._rows)
        db.executemany("INSERT INTO states VALUES (?, 'accepted', '', NULL)", [row[:1] for row in self._rows])
        db.executemany("INSERT INTO redactions VALUES (?, ?, ?, ?)", self._redactions)
        seqs = range(self._first, self._seq)
        note_changes(db, ChangeKind.ACCEPTED, seqs, tenant=self._tenant, number=self._number)

    def _digests(self, ids: Sequence[str]) -> dict[str, tuple[int, bytes]]:
        if not ids:
            return {}
        query = f"SELECT step, seq, digest FROM steps WHERE trajectory = ? AND step IN {GIVEN}"
        rows = self._db.execute(query, (self._number, json.dumps(ids)))
        return {step: (seq, digest) for step, seq, digest in rows}

    def _free_id(self, given: Collection[str | None]) -> str:
        name, suffix = str(self._position), 1
        query = "SELECT count(*) FROM steps WHERE trajectory = ? AND step = ?"
        while name in given or one(self._db, query, self._number, name) or self._erased.known(self._trajectory, name):
            suffix += 1
            name = f"{self._position}-{suffix}"
        return name


def restore(
    db: sqlite3.Connection, kept: KeptStep, *, number: int, erased: ErasedSteps, again: bool
) -> Literal["new", "known", "erased"]:
    """Write down a step with all its past; return whether it is new, was there already, or was erased.

    Raises:
        StepRejectedError: Another step has its place or its id.
    """
    held = db.execute(
        "SELECT step, position, digest FROM steps WHERE trajectory = ? AND (step = ? OR position = ?)",
        (number, kept.id, kept.position),
    ).fetchall()
    if held == [(kept.id, kept.position, kept.digest)]:
        return "known"
    if erased.known(kept.trajectory, kept.id):
        if not again:
            return "erased"
        erased.forget(kept.trajectory, kept.id)
    if held:
        raise StepRejectedError(
            f"trajectory {kept.trajectory!r} has other steps here than there: step {held[0][0]!r} is in its place"
        )
    check = step_checksum(kept.id, kept.step)
    row = (kept.seq, number, kept.position, kept.id, kept.recorded, kept.digest, kept.step, check)
    db.execute(_STEP, row)
    db.execute("INSERT INTO states VALUES (?, ?, ?, ?)", (kept.seq, kept.state.value, kept.reason, kept.retired_at))
    if kept.labels is not None:
        made = shrink(kept.labels, kept.step)
        db.execute("INSERT INTO labels VALUES (?, ?, ?)", (kept.seq, made, checksum(made)))
    for at, by, step, labels in kept.revisions:
        each = (at, by, step, None if labels is None else shrink(labels, step))
        db.execute(_REVISION, (kept.seq, *each, revision_checksum(kept.seq, *each)))
    db.executemany(
        "INSERT INTO redactions (seq, kind, count, place) VALUES (?, ?, ?, ?)",
        [(kept.seq, taken.kind, taken.count, taken.place) for taken in kept.redactions],
    )
    return "new"


def record_state(db: sqlite3.Connection, seqs: Sequence[int], state: StepState, reason: str) -> None:
    """Note how far steps have come."""
    db.executemany(
        "UPDATE states SET state = ?, reason = ?, retired_at = NULL WHERE seq = ?",
        [(state.value, reason, seq) for seq in seqs],
    )


def label_rows(db: sqlite3.Connection, labels: Iterable[tuple[int, bytes]]) -> Iterator[tuple[int, bytes, int]]:
    """Labels of steps that are there as rows of `labels`."""
    for seq, made in labels:
        (step,) = db.execute("SELECT payload FROM steps WHERE seq = ?", (seq,)).fetchone()
        row = shrink(made, step)
        yield seq, row, checksum(row)


def replace_labels(db: sqlite3.Connection, labels: Sequence[tuple[int, bytes]]) -> None:
    """Keep labels in place of those that are there, if any."""
    db.executemany("INSERT OR REPLACE INTO labels VALUES (?, ?, ?)", [*label_rows(db, labels)])


def forget_checkpoint(db: sqlite3.Connection, number: int | None) -> None:
    """Forget what the labeling of a trajectory remembered, and what it was about to write down."""
    db.execute("DELETE FROM checkpoints WHERE trajectory = ?", (number,))
    db.execute("UPDATE trajectories SET learned = 0 WHERE number = ?", (number,))
    for table in ("cuts", "replies"):
        db.execute(f"DELETE FROM {table} WHERE trajectory = ?", (number,))


def save_checkpoint(db: sqlite3.Connection, number: int | None, checkpoint: Checkpoint, *, tenant: str) -> None:
    """Keep a checkpoint in place of the last one; merges that this one brings are a change."""
    inventory = checkpoint.inventory.model_dump_json(exclude_defaults=True).encode()
    merges = len(checkpoint.inventory.merges)
    before = db.execute("SELECT merges FROM checkpoints WHERE trajectory = ?", (number,)).fetchone()
    row = (number, *checkpoint[:3], inventory, merges, checksum(checkpoint.session, inventory))
    db.execute("INSERT OR REPLACE INTO checkpoints VALUES (?, ?, ?, ?, ?, ?, ?)", row)
    db.execute("UPDATE trajectories SET learned = 1 WHERE number = ? AND learned = 0", (number,))
    if merges != (before[0] if before else 0):
        note_merge(db, tenant=tenant, number=number)


def save_checkpoint_of(db: sqlite3.Connection, seq: int, checkpoint: Checkpoint) -> None:
    """As `save_checkpoint`, of the trajectory of a step; the replies that were kept for it go."""
    query = "SELECT t.tenant, t.number FROM steps s JOIN trajectories t ON t.number = s.trajectory WHERE s.seq = ?"
    tenant, number = db.execute(query, (seq,)).fetchone()
    save_checkpoint(db, number, checkpoint, tenant=tenant)
    db.execute("DELETE FROM replies WHERE trajectory = ?", (number,))


def correct(
    db: sqlite3.Connection,
    seq: int,
    *,
    payload: bytes,
    labels: StepLabels | None,
    at: float,
    by: str,
    checkpoint: Checkpoint | None,
) -> None:
    """Keep another content and other labels of a step; what it was becomes its last revision."""
    name, number, *before = db.execute(
        "SELECT s.step, s.trajectory, s.payload, labels.labels FROM steps s LEFT JOIN labels USING (seq)"
        " WHERE s.seq = ?",
        (seq,),
    ).fetchone()
    db.execute(_REVISION, (seq, at, by, *before, revision_checksum(seq, at, by, *before)))
    check = step_checksum(name, payload)
    db.execute("UPDATE steps SET payload = ?, checksum = ? WHERE seq = ?", (payload, check, seq))
    if labels is not None:
        replace_labels(db, [(seq, encode_labels(labels, step=name))])
    elif (made := expand(before[1], before[0])) is not None:  # they are of the step as it was
        replace_labels(db, [(seq, made)])
    record_state(db, [seq], StepState.ACCEPTED if labels is None else StepState.LABELED, "")
    if checkpoint is None:
        forget_checkpoint(db, number)
    else:
        save_checkpoint_of(db, seq, checkpoint)
    note_changes_of(db, ChangeKind.CORRECTED, [seq])


def mend(db: sqlite3.Connection, seq: int, *, step: str, payload: bytes, digest: bytes) -> bool:
    """Keep a step as it was accepted, which its digest says; return whether it was."""
    row = db.execute("SELECT digest FROM steps WHERE seq = ?", (seq,)).fetchone()
    corrected = db.execute("SELECT 1 FROM history WHERE seq = ? LIMIT 1", (seq,)).fetchone()
    if row is None or corrected or row[0] != digest:
        return False
    check = step_checksum(step, payload)
    db.execute("UPDATE steps SET step = ?, payload = ?, checksum = ? WHERE seq = ?", (step, payload, check, seq))
    return True


def retire(db: sqlite3.Connection, seqs: Sequence[int], *, at: float, reason: str) -> int:
    """Take steps out of retrieval; return how many were not retired before."""
    query = f"SELECT seq FROM states WHERE seq IN {GIVEN} AND state <> 'retired'"
    fresh = [seq for (seq,) in db.execute(query, (json.dumps(list(seqs)),))]
    db.executemany(
        "UPDATE states SET state = 'retired', reason = ?, retired_at = ? WHERE seq = ?",
        [(reason, at, seq) for seq in fresh],
    )
    note_changes_of(db, ChangeKind.RETIRED, fresh)
    return len(fresh)


def erase(
    db: sqlite3.Connection,
    seqs: Sequence[int],
    *,
    tenant: str,
    trajectory: str,
    labels: Sequence[tuple[int, bytes]],
    revisions: Sequence[tuple[int, bytes]],
) -> None:
    """Erase steps of a trajectory and all that is kept of them; a trajectory without steps goes too."""
    given = json.dumps(list(seqs))
    there = dict(db.execute(f"SELECT seq, step FROM steps WHERE seq IN {GIVEN}", (given,)))
    number = number_of(db, tenant, trajectory)
    ErasedSteps(db, tenant).note(trajectory, there.values())
    for table in _OF_A_STEP:
        db.execute(f"DELETE FROM {table} WHERE seq IN {GIVEN}", (given,))
    forget_checkpoint(db, number)
    replace_labels(db, labels)
    _clean_revisions(db, revisions)
    db.executemany(
        "UPDATE states SET state = 'labeled' WHERE seq = ? AND state = 'stored'", [(seq,) for seq, _ in labels]
    )
    note_changes(db, ChangeKind.ERASED, there, tenant=tenant, number=number)
    note_changes(db, ChangeKind.LABELED, [seq for seq, _ in labels], tenant=tenant, number=number)
    drop_empty(db, tenant, number=number)
    db.execute("INSERT INTO purges VALUES (NULL)")


def _clean_revisions(db: sqlite3.Connection, revisions: Sequence[tuple[int, bytes]]) -> None:
    """Keep other labels of revisions that are there: those of erased steps are gone already."""
    for number, made in revisions:
        kept = db.execute("SELECT seq, at, made_by, payload FROM history WHERE number = ?", (number,)).fetchall()
        for seq, at, by, payload in kept:
            row = shrink(made, payload)
            db.execute(
                "UPDATE history SET labels = ?, checksum = ? WHERE number = ?",
                (row, revision_checksum(seq, at, by, payload, row), number),
            )


def drop_empty(db: sqlite3.Connection, tenant: str, *, number: int | None = None) -> None:
    """Forget the trajectories of a tenant that have no steps, or this one; changes name what is gone no more."""
    empty = (
        "SELECT number FROM trajectories WHERE tenant = ? AND (? IS NULL OR number = ?)"
        " AND NOT EXISTS (SELECT 1 FROM steps WHERE steps.trajectory = trajectories.number)"
    )
    rows = db.execute(empty, (tenant, number, number)).fetchall()
    db.executemany("UPDATE changes SET trajectory = NULL WHERE trajectory = ?", rows)
    db.executemany("DELETE FROM trajectories WHERE number = ?", rows)
    if rows and not db.execute("SELECT 1 FROM trajectories WHERE tenant = ? LIMIT 1", (tenant,)).fetchone():
        db.execute("UPDATE changes SET tenant = '' WHERE tenant = ?", (tenant,))


def forget_tenant(db: sqlite3.Connection, tenant: str) -> None:
    """Forget what is kept of a tenant beside its trajectories."""
    ErasedSteps(db, tenant).forget_all()
    db.execute("DELETE FROM records WHERE tenant = ?", (tenant,))
    db.execute("INSERT INTO purges VALUES (NULL)")
