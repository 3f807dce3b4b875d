"""Progress of steps: labeled, stored, failed, corrected, retired, put back or erased; and what labelings remember."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

from stitch.core import ChangeKind, LabelInventory, Step, StepLabels, StepState
from stitch.core.steps import KEPT
from stitch.errors import JournalError
from stitch.journal import tables
from stitch.journal.database import Session
from stitch.journal.entries import Checkpoint, Revision, encode_labels, encode_step
from stitch.journal.erased import ErasedSteps
from stitch.journal.intake import drop_if_empty, take_seqs
from stitch.journal.rows import NAMED, STEPS, Part, label_rows, note_changes, number_of, set_state
from stitch.journal.tables import OF_A_STEP, checksum, is_sound, named_checksum, revision_checksum

_log = logging.getLogger(__name__)

_OF_NAMED = f"JOIN trajectories ON trajectories.number = trajectory WHERE {NAMED}"
_CHECKPOINT = f"SELECT labeler, position, session, inventory, checksum FROM checkpoints {_OF_NAMED}"
_DROP_REPLIES = "DELETE FROM replies WHERE trajectory = :of"
_NOTE_MERGES = f"""
INSERT INTO changes (kind, tenant, trajectory, first, last)
SELECT '{ChangeKind.MERGED.value}', tenant, number, 0, -1 FROM trajectories WHERE number = :of
"""
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


class Progress(Part):
    """Steps go their way.

    Labels, states and checkpoints can be made again from the steps, but for the replies of a model: those were paid
    for.
    """

    def record_labels(self, made: Sequence[tuple[int, bytes]], *, checkpoint: Checkpoint | None = None) -> None:
        """Keep the labels of steps that have none; they are labeled now.

        The checkpoint of the one trajectory that they are of is kept with them, and the replies that were kept for them
        go.
        """
        seqs = [seq for seq, _ in made]
        with self._db.transaction(derived=True) as db:
            db.write_many(tables.labels, label_rows(made))
            set_state(db, seqs, StepState.LABELED)
            note_changes(db, ChangeKind.LABELED, seqs)
            if checkpoint is not None:
                number = db.value("SELECT trajectory FROM steps WHERE seq = :seq", seq=seqs[0])
                _save_checkpoint(db, number, checkpoint)
                db.write(_DROP_REPLIES, of=number)

    def replace_labels(self, made: Sequence[tuple[int, bytes]], *, tenant: str, trajectory: str) -> None:
        """Keep labels of a trajectory's steps in place of others; what labeling it remembered is forgotten."""
        seqs = [seq for seq, _ in made]
        with self._db.transaction() as db:
            db.put(tables.labels, label_rows(made))
            set_state(db, seqs, StepState.LABELED)
            forget_checkpoint(db, number_of(db, tenant, trajectory))
            note_changes(db, ChangeKind.LABELED, seqs)

    def record_cut(self, tenant: str, trajectory: str, position: int) -> None:
        """Note that the steps of a trajectory before a position are labeled without those behind it."""
        with self._db.transaction() as db:
            if (number := number_of(db, tenant, trajectory)) is not None:  # it may have been erased meanwhile
                db.put(tables.cuts, [{"trajectory": number, "position": position}])

    def cut(self, tenant: str, trajectory: str) -> int:
        """The position that `record_cut` noted last; 0 if there is none."""
        return int(
            self._db.value(
                f"SELECT coalesce(max(position), 0) FROM cuts {_OF_NAMED}", tenant=tenant, trajectory=trajectory
            )
        )

    def keep_reply(self, tenant: str, trajectory: str, *, request: bytes, reply: bytes) -> None:
        """Keep what a model replied about steps, until their labels are kept.

        Of each request, named by its digest, one reply is kept.
        """
        with self._db.transaction() as db:
            if (number := number_of(db, tenant, trajectory)) is not None:
                db.put(tables.replies, [{"trajectory": number, "request": request, "reply": reply}])

    def replies(self, tenant: str, trajectory: str) -> dict[bytes, bytes]:
        """The replies about a trajectory whose labels are not kept yet, by the digest of what was asked."""
        query = f"SELECT request, reply FROM replies {_OF_NAMED}"
        return dict(self._db.rows(query, tenant=tenant, trajectory=trajectory))

    def drop_replies(self, tenant: str, trajectory: str) -> None:
        """Forget the replies about a trajectory."""
        with self._db.transaction() as db:
            db.write(_DROP_REPLIES, of=number_of(db, tenant, trajectory))

    def record_stored(self, seqs: Sequence[int]) -> None:
        """Note that steps were put into the store with their labels."""
        with self._db.transaction(derived=True) as db:
            set_state(db, seqs, StepState.STORED)

    def record_failed(self, seqs: Sequence[int], reason: str) -> None:
        """Note that steps could not be labeled or stored, and why."""
        with self._db.transaction(derived=True) as db:
            set_state(db, seqs, StepState.FAILED, reason)

    def record_removed(self, seqs: Sequence[int]) -> list[int]:
        """Note that steps are about to be erased; return those of them that there are.

        Whoever follows is told, and one that was stored is labeled only: should it go no further, it is derived again.
        """
        with self._db.transaction() as db:
            db.write("UPDATE states SET state = 'labeled' WHERE state = 'stored' AND seq IN :given", given=list(seqs))
            there = [
                seq for (seq,) in db.rows("SELECT seq FROM steps WHERE seq IN :given ORDER BY seq", given=list(seqs))
            ]
            note_changes(db, ChangeKind.ERASED, there)
        return there

    def checkpoint(self, tenant: str, trajectory: str) -> Checkpoint | None:
        """The last checkpoint of a trajectory's labeling."""
        rows = self._db.rows(_CHECKPOINT, tenant=tenant, trajectory=trajectory)
        if not rows:
            return None
        labeler, position, session, inventory, check = rows[0]
        if not is_sound(check, session, inventory):
            _log.warning("what the labeling of a trajectory remembers was damaged, and is learned from its steps anew")
            return None
        return Checkpoint(labeler, position, session, LabelInventory.model_validate_json(inventory))

    def save_checkpoint(self, tenant: str, trajectory: str, checkpoint: Checkpoint) -> None:
        """Keep a checkpoint in place of the last one."""
        with self._db.transaction(derived=True) as db:
            if (number := number_of(db, tenant, trajectory)) is not None:
                _save_checkpoint(db, number, checkpoint)

    def forget_checkpoint(self, tenant: str, trajectory: str) -> None:
        """Forget what the labeling of a trajectory remembered: it is learnt again from the steps and their labels.

        So are its replies and its last cut. Whatever else forgets a checkpoint forgets them too.
        """
        with self._db.transaction() as db:
            forget_checkpoint(db, number_of(db, tenant, trajectory))

    # Steps are corrected, retired, put back, erased.

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
                _save_checkpoint(db, number, checkpoint)
                db.write(_DROP_REPLIES, of=number)
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


def forget_checkpoint(db: Session, number: int | None) -> None:
    """Forget what the labeling of a trajectory remembered, and what it was about to write down."""
    db.write("UPDATE trajectories SET learned = 0 WHERE number = :of", of=number)
    for table in (tables.checkpoints, tables.cuts, tables.replies):
        db.write(f"DELETE FROM {table.name} WHERE trajectory = :of", of=number)


def _save_checkpoint(db: Session, number: int, checkpoint: Checkpoint) -> None:
    """Keep a checkpoint in place of the last one; merges that this one brings are a change."""
    labeler, position, session, made = checkpoint
    inventory, merges = made.model_dump_json(exclude_defaults=True).encode(), len(made.merges)
    before = db.value("SELECT merges FROM checkpoints WHERE trajectory = :of", of=number)
    row = {
        "trajectory": number, "labeler": labeler, "position": position, "session": session, "inventory": inventory,
        "merges": merges, "checksum": checksum(session, inventory),
    }  # fmt: skip
    db.put(tables.checkpoints, [row])
    if before is None:
        db.write("UPDATE trajectories SET learned = 1 WHERE number = :of", of=number)
    if merges != (before or 0):
        db.write(_NOTE_MERGES, of=number)


def owe_purge(db: Session) -> None:
    """Note that bytes of what was erased may be left in files."""
    db.write(tables.purges, number=db.value("SELECT coalesce(max(number), 0) + 1 FROM purges"))


def _keep_as_it_is(db: Session, seq: int, *, at: float, by: str) -> tuple[str, int]:
    """Keep a step as it is now as its last revision; return its id and the number of its trajectory."""
    ((name, number, payload, made),) = db.rows(_AS_IT_IS, seq=seq)
    check = revision_checksum(seq, at, by, payload, made)
    db.write(tables.history, seq=seq, at=at, made_by=by, payload=payload, labels=made, checksum=check)
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
        return Revision(float(at), by, Step.model_validate_json(step, context=KEPT), made)
    except ValueError as error:
        raise JournalError(
            "what a step was before its correction is damaged in the journal", hint="`stitch verify` names the step"
        ) from error
