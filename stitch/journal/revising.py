"""Steps that are corrected, retired, put back or erased, and what they were before."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from stitch.core import ChangeKind, Step, StepLabels, StepState
from stitch.core.steps import KEPT
from stitch.errors import JournalError
from stitch.journal import tables
from stitch.journal.database import Session
from stitch.journal.entries import Checkpoint, Revision, encode_labels, encode_step
from stitch.journal.erased import ErasedSteps
from stitch.journal.intake import drop_if_empty, take_seqs
from stitch.journal.progress import forget_checkpoint, save_checkpoint_of
from stitch.journal.rows import STEPS, Part, label_rows, note_changes, number_of, set_state
from stitch.journal.tables import OF_A_STEP, history, named_checksum, purges, revision_checksum

_AS_IT_IS = """
SELECT steps.step, trajectory, payload, labels FROM steps LEFT JOIN labels ON labels.seq = steps.seq
WHERE steps.seq = :seq
"""
_REWRITE = "UPDATE steps SET payload = :payload, checksum = :checksum"
_ACCEPTED = "SELECT digest FROM steps WHERE seq = :seq AND NOT EXISTS (SELECT 1 FROM history WHERE history.seq = :seq)"
_OF_STEPS = f"FROM history JOIN ({STEPS}) ON steps.seq = history.seq WHERE trajectories.tenant = :tenant"
_REVISION = "history.seq, history.number, history.at, history.made_by, history.payload, history.labels"
REVISIONS = f"SELECT {_REVISION} FROM history WHERE seq IN :given ORDER BY number"
_AS_THEY_WERE = f"SELECT {_REVISION} {_OF_STEPS} AND history.at > :at ORDER BY history.number"


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
        payload, _ = encode_step(step, max_chars=self.max_step_chars)
        with self._db.transaction() as db:
            name, number = _keep_as_it_is(db, seq, at=at, by=by)
            db.write(f"{_REWRITE} WHERE seq = :of", of=seq, payload=payload, checksum=named_checksum(name, payload))
            if labels is not None:
                db.put(tables.labels, label_rows([(seq, encode_labels(labels, step=name))]))
            set_state(db, [seq], StepState.ACCEPTED if labels is None else StepState.LABELED)
            if checkpoint is None:
                forget_checkpoint(db, number)
            else:
                save_checkpoint_of(db, seq, checkpoint)
            note_changes(db, ChangeKind.CORRECTED, [seq])

    def retire(self, seqs: Sequence[int], *, at: float, reason: str) -> int:
        """Take steps out of retrieval; return how many were not retired before."""
        with self._db.transaction() as db:
            query = "SELECT seq FROM states WHERE state <> 'retired' AND seq IN :given ORDER BY seq"
            fresh = [seq for (seq,) in db.rows(query, given=list(seqs))]
            set_state(db, fresh, StepState.RETIRED, reason, retired_at=at)
            note_changes(db, ChangeKind.RETIRED, fresh)
        return len(fresh)

    def unretire(self, seqs: Sequence[int], *, at: float, by: str) -> int:
        """Take retirements back, and leave the steps to be put; return how many were retired.

        Two revisions stay of each: the step until it was retired, and the same until now; see `retirements`.
        """
        with self._db.transaction() as db:
            query = "SELECT seq, retired_at FROM states WHERE state = 'retired' AND seq IN :given ORDER BY seq"
            retired = db.rows(query, given=list(seqs))
            for seq, since in retired:
                for end in (at if since is None else min(since, at), at):
                    _keep_as_it_is(db, seq, at=end, by=by)
            back = [seq for seq, _ in retired]
            set_state(db, back, StepState.LABELED)
            note_changes(db, ChangeKind.RESTORED, back)
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
        Labels of other steps of the trajectory, and of revisions by their numbers (`KeptRevision`), take the place of
        what they have: clean of the erased.
        """
        given, relabeled = list(seqs), [seq for seq, _ in labels]
        with self._db.transaction() as db:
            take_seqs(db, 0)  # the last number is not given again
            there = dict(db.rows("SELECT seq, step FROM steps WHERE seq IN :given", given=given))
            number = number_of(db, tenant, trajectory)
            ErasedSteps(db, tenant).note(trajectory, there.values())
            note_changes(db, ChangeKind.ERASED, there)
            for table in OF_A_STEP:
                db.write(f"DELETE FROM {table.name} WHERE seq IN :given", given=given)
            forget_checkpoint(db, number)
            db.put(tables.labels, label_rows(labels))
            _clean_revisions(db, revisions)
            db.write("UPDATE states SET state = 'labeled' WHERE state = 'stored' AND seq IN :given", given=relabeled)
            note_changes(db, ChangeKind.LABELED, relabeled)
            drop_if_empty(db, number, tenant=tenant)
            owe_purge(db)

    def forget_tenant(self, tenant: str) -> None:
        """Forget what is kept of a tenant that has no steps: its records, and which steps were erased, with its key."""
        with self._db.transaction() as db:
            ErasedSteps(db, tenant).forget_all()
            db.write("DELETE FROM records WHERE tenant = :tenant", tenant=tenant)
            owe_purge(db)

    def owes_purge(self) -> bool:
        """Whether steps were erased since `record_purged`."""
        return bool(self._db.rows("SELECT number FROM purges LIMIT 1"))

    def record_purged(self) -> None:
        """Note that no file but the journal holds erased bytes, and remove them from the journal's log."""
        with self._db.transaction() as db:
            db.write("DELETE FROM purges")
        self._db.purge_log()

    def mend(self, seq: int, *, step: Step) -> bool:
        """Keep a damaged step as another copy has it, if that is how it was accepted by its digest; return whether."""
        payload, digest = encode_step(step, max_chars=self.max_step_chars)
        name = str(step.id)
        with self._db.transaction() as db:
            if db.value(_ACCEPTED, seq=seq) != digest:  # or it was corrected since
                return False
            check = named_checksum(name, payload)
            db.write(f"{_REWRITE}, step = :step WHERE seq = :of", of=seq, step=name, payload=payload, checksum=check)
        return True

    # What corrected steps were.

    def revisions(self, seqs: Sequence[int]) -> dict[int, list[Revision]]:
        """Steps before each of their corrections, oldest first; nothing of those never corrected."""
        found: dict[int, list[Revision]] = {}
        for seq, _, *fields in self._db.rows(REVISIONS, given=list(seqs)):
            found.setdefault(seq, []).append(_revision(*fields))
        return found

    def as_they_were(self, tenant: str, *, at: float) -> dict[int, Revision]:
        """Steps that were corrected after a moment as they were then, by their numbers."""
        first: dict[int, Sequence[Any]] = {}
        for seq, _, *fields in self._db.rows(_AS_THEY_WERE, tenant=tenant, at=at):
            first.setdefault(seq, fields)
        return {seq: _revision(*fields) for seq, fields in first.items()}

    def correctors(self, tenant: str) -> frozenset[tuple[int, str]]:
        """The steps of a tenant that were corrected, with who did it."""
        return frozenset(self._db.rows(f"SELECT history.seq, history.made_by {_OF_STEPS}", tenant=tenant))


def owe_purge(db: Session) -> None:
    """Note that bytes of what was erased may be left in files."""
    db.write(purges, number=db.value("SELECT coalesce(max(number), 0) + 1 FROM purges"))


def _keep_as_it_is(db: Session, seq: int, *, at: float, by: str) -> tuple[str, int]:
    """Keep a step as it is now as its last revision; return its id and the number of its trajectory."""
    ((name, number, payload, made),) = db.rows(_AS_IT_IS, seq=seq)
    check = revision_checksum(seq, at, by, payload, made)
    db.write(history, seq=seq, at=at, made_by=by, payload=payload, labels=made, checksum=check)
    return name, number


def _clean_revisions(db: Session, revisions: Sequence[tuple[int, bytes]]) -> None:
    """Keep other labels of revisions that are there: those of erased steps are gone already."""
    for number, made in revisions:
        for seq, _, at, by, payload, _ in db.rows(f"SELECT {_REVISION} FROM history WHERE number = :of", of=number):
            check = revision_checksum(seq, at, by, payload, made)
            db.write("UPDATE history SET labels = :labels, checksum = :check WHERE number = :of",
                     of=number, labels=made, check=check)  # fmt: skip


def _revision(at: float, by: str, step: bytes, row: bytes | None) -> Revision:
    try:
        made = None if row is None else StepLabels.model_validate_json(row)
        return Revision(at, by, Step.model_validate_json(step, context=KEPT), made)
    except ValueError as error:
        raise JournalError(
            "what a step was before its correction is damaged in the journal", hint="`stitch verify` names the step"
        ) from error
