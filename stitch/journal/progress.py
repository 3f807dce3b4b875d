"""Progress of steps: labeled, put into a store, failed; and the checkpoints of labelings."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from stitch.core import ChangeKind, LabelInventory, StepState
from stitch.journal.database import Session
from stitch.journal.entries import Checkpoint
from stitch.journal.rows import NAMED, STEPS, Part, label_rows, note_changes, number_of, set_state
from stitch.journal.tables import changes, checkpoints, checksum, cuts, is_sound, labels, replies

_log = logging.getLogger(__name__)

_OF_NAMED = f"JOIN trajectories ON trajectories.number = trajectory WHERE {NAMED}"
_CHECKPOINT = f"SELECT labeler, position, session, inventory, checksum FROM checkpoints {_OF_NAMED}"


class Progress(Part):
    """Steps are labeled, put into a store, and sometimes fail.

    What is noted here can be made again from the steps, but for the replies of a model: those were paid for.
    """

    def record_labels(self, made: Sequence[tuple[int, bytes]], *, checkpoint: Checkpoint | None = None) -> None:
        """Keep the labels of steps that have none; they are labeled now.

        The checkpoint of the one trajectory that they are of is kept with them, and the replies that were kept for them
        go.
        """
        seqs = [seq for seq, _ in made]
        with self._db.transaction(derived=True) as db:
            db.write_many(labels, label_rows(made))
            set_state(db, seqs, StepState.LABELED)
            note_changes(db, ChangeKind.LABELED, seqs)
            if checkpoint is not None:
                save_checkpoint_of(db, seqs[0], checkpoint)

    def replace_labels(self, made: Sequence[tuple[int, bytes]], *, tenant: str, trajectory: str) -> None:
        """Keep labels of a trajectory's steps in place of others; what labeling it remembered is forgotten."""
        seqs = [seq for seq, _ in made]
        with self._db.transaction() as db:
            db.put(labels, label_rows(made))
            set_state(db, seqs, StepState.LABELED)
            forget_checkpoint(db, number_of(db, tenant, trajectory))
            note_changes(db, ChangeKind.LABELED, seqs)

    def record_cut(self, tenant: str, trajectory: str, position: int) -> None:
        """Note that the steps of a trajectory before a position are labeled without those behind it."""
        with self._db.transaction() as db:
            if (number := number_of(db, tenant, trajectory)) is not None:  # it may have been erased meanwhile
                db.put(cuts, [{"trajectory": number, "position": position}])

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
                db.put(replies, [{"trajectory": number, "request": request, "reply": reply}])

    def replies(self, tenant: str, trajectory: str) -> dict[bytes, bytes]:
        """The replies about a trajectory whose labels are not kept yet, by the digest of what was asked."""
        query = f"SELECT request, reply FROM replies {_OF_NAMED}"
        return dict(self._db.rows(query, tenant=tenant, trajectory=trajectory))

    def drop_replies(self, tenant: str, trajectory: str) -> None:
        """Forget the replies about a trajectory."""
        with self._db.transaction() as db:
            db.write("DELETE FROM replies WHERE trajectory = :of", of=number_of(db, tenant, trajectory))

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
                _save_checkpoint(db, number, checkpoint, tenant=tenant)

    def forget_checkpoint(self, tenant: str, trajectory: str) -> None:
        """Forget what the labeling of a trajectory remembered: it is learnt again from the steps and their labels.

        So are its replies and its last cut. Whatever else forgets a checkpoint forgets them too.
        """
        with self._db.transaction() as db:
            forget_checkpoint(db, number_of(db, tenant, trajectory))


def forget_checkpoint(db: Session, number: int | None) -> None:
    """Forget what the labeling of a trajectory remembered, and what it was about to write down."""
    db.write("UPDATE trajectories SET learned = 0 WHERE number = :of", of=number)
    for table in (checkpoints, cuts, replies):
        db.write(f"DELETE FROM {table.name} WHERE trajectory = :of", of=number)


def save_checkpoint_of(db: Session, seq: int, checkpoint: Checkpoint) -> None:
    """Keep a checkpoint of the trajectory of a step; the replies that were kept for it go."""
    ((tenant, number),) = db.rows(f"SELECT tenant, number FROM {STEPS} WHERE steps.seq = :seq", seq=seq)
    _save_checkpoint(db, number, checkpoint, tenant=tenant)
    db.write("DELETE FROM replies WHERE trajectory = :of", of=number)


def _save_checkpoint(db: Session, number: int, checkpoint: Checkpoint, *, tenant: str) -> None:
    """Keep a checkpoint in place of the last one; merges that this one brings are a change."""
    labeler, position, session, made = checkpoint
    inventory, merges = made.model_dump_json(exclude_defaults=True).encode(), len(made.merges)
    before = db.value("SELECT merges FROM checkpoints WHERE trajectory = :of", of=number)
    row = {
        "trajectory": number, "labeler": labeler, "position": position, "session": session, "inventory": inventory,
        "merges": merges, "checksum": checksum(session, inventory),
    }  # fmt: skip
    db.put(checkpoints, [row])
    if before is None:
        db.write("UPDATE trajectories SET learned = 1 WHERE number = :of", of=number)
    if merges != (before or 0):
        db.write(changes, kind=ChangeKind.MERGED.value, tenant=tenant, trajectory=number, first=0, last=-1)
