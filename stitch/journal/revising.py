"""Steps that are corrected, retired, put back or erased, and what they were before."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import bindparam, delete, func, select, update

from stitch.core import ChangeKind, Step, StepLabels, StepState
from stitch.core.steps import KEPT
from stitch.errors import JournalError
from stitch.journal.database import Session
from stitch.journal.entries import Checkpoint, Encoded, Revision, encode_labels, encode_step
from stitch.journal.erased import ErasedSteps
from stitch.journal.intake import drop_empty, take_seqs
from stitch.journal.progress import forget_checkpoint, save_checkpoint_of
from stitch.journal.rows import (
    NAMED,
    STEPS,
    Part,
    label_rows,
    note_changes,
    note_changes_of,
    number_of,
    set_state,
)
from stitch.journal.tables import (
    OF_A_STEP,
    history,
    labels,
    one_of,
    purges,
    records,
    revision_checksum,
    states,
    step_checksum,
    steps,
    trajectories,
)

_AS_IT_IS = (
    select(steps.c.step, steps.c.trajectory, steps.c.payload, labels.c.labels)
    .outerjoin_from(steps, labels, labels.c.seq == steps.c.seq)
    .where(steps.c.seq == bindparam("seq"))
)
_REWRITE = update(steps).where(steps.c.seq == bindparam("of"))
_DIGEST = select(steps.c.digest).where(
    steps.c.seq == bindparam("seq"), ~select(history.c.seq).where(history.c.seq == steps.c.seq).exists()
)
_NOT_RETIRED = select(states.c.seq).where(one_of(states.c.seq), states.c.state != "retired").order_by(states.c.seq)
_RETIRE = update(states).where(one_of(states.c.seq))
_RETIRED = (
    select(states.c.seq, states.c.retired_at)
    .where(one_of(states.c.seq), states.c.state == "retired")
    .order_by(states.c.seq)
)
_NAMES = select(steps.c.seq, steps.c.step).where(one_of(steps.c.seq))
_ERASE = [delete(table).where(one_of(table.c.seq)) for table in OF_A_STEP]
_STORED = update(states).where(one_of(states.c.seq), states.c.state == "stored")
_REVISION = select(history.c.seq, history.c.at, history.c.made_by, history.c.payload).where(
    history.c.number == bindparam("number")
)
_CLEAN = update(history).where(history.c.number == bindparam("of"))
_FORGET_RECORDS = delete(records).where(records.c.tenant == bindparam("of"))
_OWES = select(purges.c.number).limit(1)
_NEXT_PURGE = select(func.coalesce(func.max(purges.c.number), 0) + 1)
_PAID = delete(purges)
_OF_STEPS = history.join(STEPS, steps.c.seq == history.c.seq)
_OF_TENANT = trajectories.c.tenant == bindparam("tenant")
REVISIONS = (
    select(history.c.seq, history.c.at, history.c.made_by, history.c.payload, history.c.labels)
    .where(one_of(history.c.seq))
    .order_by(history.c.number)
)
_AS_THEY_WERE = (
    select(history.c.seq, history.c.at, history.c.made_by, history.c.payload, history.c.labels)
    .select_from(_OF_STEPS)
    .where(_OF_TENANT, history.c.at > bindparam("at"))
    .order_by(history.c.number)
)
_CORRECTORS = select(history.c.seq, history.c.made_by).select_from(_OF_STEPS).where(_OF_TENANT)
_ENCODED = (
    select(history.c.number, history.c.payload, history.c.labels)
    .select_from(_OF_STEPS)
    .where(NAMED)
    .order_by(history.c.number)
)


class Revising(Part):
    """Steps are corrected, retired, put back, erased."""

    def correct(
        self, seq: int, *, step: Step, labels: StepLabels | None, at: float, by: str, checkpoint: Checkpoint | None
    ) -> None:
        """Keep another content and other labels of a step; what it was becomes its last revision.

        The digest stays: the source will go on giving the step as it was.
        Labels are None for a step that waits for them. Without a checkpoint, what labeling the trajectory remembered is
        forgotten.
        """
        payload, _ = encode_step(step, max_chars=self._max_step_chars)
        with self._db.transaction() as db:
            name, number = _keep_as_it_is(db, seq, at=at, by=by)
            db.write(_REWRITE, of=seq, payload=payload, checksum=step_checksum(name, payload))
            if labels is not None:
                _put_labels(db, [(seq, encode_labels(labels, step=name))])
            set_state(db, [seq], StepState.ACCEPTED if labels is None else StepState.LABELED)
            if checkpoint is None:
                forget_checkpoint(db, number)
            else:
                save_checkpoint_of(db, seq, checkpoint)
            note_changes_of(db, ChangeKind.CORRECTED, [seq])

    def retire(self, seqs: Sequence[int], *, at: float, reason: str) -> int:
        """Take steps out of retrieval; return how many were not retired before."""
        with self._db.transaction() as db:
            fresh = [seq for (seq,) in db.rows(_NOT_RETIRED, given=list(seqs))]
            db.write(_RETIRE, given=fresh, state="retired", reason=reason, retired_at=at)
            note_changes_of(db, ChangeKind.RETIRED, fresh)
        return len(fresh)

    def unretire(self, seqs: Sequence[int], *, at: float, by: str) -> int:
        """Take retirements back, and leave the steps to be put; return how many were retired.

        Two revisions stay of each: the step until it was retired, and the same until now; see `retirements`.
        """
        with self._db.transaction() as db:
            retired = [(seq, since) for seq, since in db.rows(_RETIRED, given=list(seqs))]
            for seq, since in retired:
                for end in (at if since is None else min(since, at), at):
                    _keep_as_it_is(db, seq, at=end, by=by)
            back = [seq for seq, _ in retired]
            set_state(db, back, StepState.LABELED)
            note_changes_of(db, ChangeKind.RESTORED, back)
        return len(retired)

    def erase(
        self,
        seqs: Sequence[int],
        *,
        tenant: str,
        trajectory: str,
        labels: Sequence[tuple[int, bytes]] = (),
        revisions: Sequence[tuple[int, bytes]] = (),
    ) -> None:
        """Erase steps of a trajectory and all that is kept of them; a trajectory without steps goes too.

        What its labeling remembers goes: it is learnt again from the journal.

        Their bytes are overwritten, except in a log that `record_purged` empties; until then `owes_purge`. What stays
        is a digest of trajectory and id, by a key of the tenant, so that a step that was erased is known when it is
        given again. No step is named so automatically.
        Labels of other steps of the trajectory, and of revisions by their numbers (`Encoded.number`), take the place of
        what they have: clean of the erased.
        """
        given, relabeled = list(seqs), [seq for seq, _ in labels]
        with self._db.transaction() as db:
            take_seqs(db, 0)  # the last number is not given again
            there = dict(db.rows(_NAMES, given=given))
            number = number_of(db, tenant, trajectory)
            ErasedSteps(db, tenant).note(trajectory, there.values())
            for statement in _ERASE:
                db.write(statement, given=given)
            forget_checkpoint(db, number)
            _put_labels(db, labels)
            _clean_revisions(db, revisions)
            db.write(_STORED, given=relabeled, state="labeled")
            note_changes(db, ChangeKind.ERASED, there, tenant=tenant, number=number)
            note_changes(db, ChangeKind.LABELED, relabeled, tenant=tenant, number=number)
            drop_empty(db, tenant, number=number)
            owe_purge(db)

    def forget_tenant(self, tenant: str) -> None:
        """Forget what is kept of a tenant that has no steps: its records, and which steps were erased, with its key."""
        with self._db.transaction() as db:
            ErasedSteps(db, tenant).forget_all()
            db.write(_FORGET_RECORDS, of=tenant)
            owe_purge(db)

    def owes_purge(self) -> bool:
        """Whether steps were erased since `record_purged`."""
        return bool(self._db.rows(_OWES))

    def record_purged(self) -> None:
        """Note that no file but the journal holds erased bytes, and remove them from the journal's log."""
        with self._db.transaction() as db:
            db.write(_PAID)
        self._db.purge_log()

    def mend(self, seq: int, *, step: Step) -> bool:
        """Keep a damaged step as another copy has it, if that is how it was accepted by its digest; return whether."""
        payload, digest = encode_step(step, max_chars=self._max_step_chars)
        name = str(step.id)
        with self._db.transaction() as db:
            if db.value(_DIGEST, seq=seq) != digest:  # or it was corrected since
                return False
            db.write(_REWRITE, of=seq, step=name, payload=payload, checksum=step_checksum(name, payload))
        return True

    # What corrected steps were.

    def revisions(self, seqs: Sequence[int]) -> dict[int, list[Revision]]:
        """Steps before each of their corrections, oldest first; nothing of those never corrected."""
        found: dict[int, list[Revision]] = {}
        for seq, *fields in self._db.rows(REVISIONS, given=list(seqs)):
            found.setdefault(seq, []).append(_revision(*fields))
        return found

    def as_they_were(self, tenant: str, *, at: float) -> dict[int, Revision]:
        """Steps that were corrected after a moment as they were then, by their numbers."""
        first: dict[int, Sequence[Any]] = {}
        for seq, *fields in self._db.rows(_AS_THEY_WERE, tenant=tenant, at=at):
            first.setdefault(seq, fields)
        return {seq: _revision(*fields) for seq, fields in first.items()}

    def correctors(self, tenant: str) -> frozenset[tuple[int, str]]:
        """The steps of a tenant that were corrected, with who did it."""
        return frozenset((seq, by) for seq, by in self._db.rows(_CORRECTORS, tenant=tenant))

    def encoded_revisions(self, tenant: str, trajectory: str) -> list[Encoded]:
        """The steps of a trajectory before their corrections, as JSON."""
        return [Encoded(*row) for row in self._db.rows(_ENCODED, tenant=tenant, trajectory=trajectory)]


def owe_purge(db: Session) -> None:
    """Note that bytes of what was erased may be left in files."""
    db.write(purges, number=db.value(_NEXT_PURGE))


def _keep_as_it_is(db: Session, seq: int, *, at: float, by: str) -> tuple[str, int]:
    """Keep a step as it is now as its last revision; return its id and the number of its trajectory."""
    ((name, number, payload, made),) = db.rows(_AS_IT_IS, seq=seq)
    check = revision_checksum(seq, at, by, payload, made)
    db.write(history, seq=seq, at=at, made_by=by, payload=payload, labels=made, checksum=check)
    return name, number


def _put_labels(db: Session, made: Sequence[tuple[int, bytes]]) -> None:
    """Keep labels in place of those that are there, if any."""
    db.put(labels, label_rows(made))


def _clean_revisions(db: Session, revisions: Sequence[tuple[int, bytes]]) -> None:
    """Keep other labels of revisions that are there: those of erased steps are gone already."""
    for number, made in revisions:
        for seq, at, by, payload in db.rows(_REVISION, number=number):
            db.write(_CLEAN, of=number, labels=made, checksum=revision_checksum(seq, at, by, payload, made))


def _revision(at: float, by: str, step: bytes, row: bytes | None) -> Revision:
    try:
        made = None if row is None else StepLabels.model_validate_json(row)
        return Revision(at, by, Step.model_validate_json(step, context=KEPT), made)
    except ValueError as error:
        raise JournalError(
            "what a step was before its correction is damaged in the journal", hint="`stitch verify` names the step"
        ) from error
