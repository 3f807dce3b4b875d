"""The journal in one SQLite file: what is written to it."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from stitch.core import Change, ChangeKind, LabelInventory, Redaction, Step, StepLabels, StepState
from stitch.errors import JournalError, StepRejectedError
from stitch.journal.entries import MAX_STEP_CHARS, Checkpoint, Entry, KeptStep, encode_step, erased_entry
from stitch.journal.sqlite import writing
from stitch.journal.sqlite.compact import expand
from stitch.journal.sqlite.connection import PAGE, Connection
from stitch.journal.sqlite.copies import copy_database, settle
from stitch.journal.sqlite.erased import ErasedSteps
from stitch.journal.sqlite.reading import SqliteReading
from stitch.journal.sqlite.schema import bring_up, check_version, is_sound
from stitch.journal.sqlite.writing import ENTRIES, GIVEN, entry_of, number_of

_log = logging.getLogger(__name__)


class Journal(SqliteReading):
    """The append-only truth, in one SQLite file: which steps were accepted, how they were labeled, how far they came.

    Safe to use from several threads of the one process that owns it at a time. Each method that writes is one
    transaction: what it says is durable when it returns, or nothing of it was written; whoever reads sees all of it or
    nothing. A step is named by its number (`Entry.seq`), which is never given to another step. Every method raises
    `JournalError` if the journal cannot be used; nothing was written then.

    What `append_many` has returned is accepted: it outlives the death of the process at any moment (kill -9), because
    the transaction is in the file system by then. Not every transaction waits for the disk, for that would cost 4 to
    5 ms each. The disk is waited for by `sync`, and whenever the write-ahead log has grown by 4 MB. So a loss of
    *power* may take the steps since then, and what remains is consistent. With `power_safe` every transaction waits,
    and nothing accepted is lost then either.

    A file of an earlier version is brought to this one when it is opened.
    The file is made if it is not there, its folder is not.

    Raises:
        JournalError: The file cannot be opened, is owned by another process, or is not a journal.
        StoreMismatchError: It was written by a later version of this library; it is not touched.
    """

    def __init__(self, path: str | Path, *, power_safe: bool = False, max_step_chars: int = MAX_STEP_CHARS) -> None:
        self._path, self._max_step_chars = Path(path), max_step_chars
        self._next_seq = 0
        check_version(self._path)
        self._file = Connection(self._path)
        try:
            with self._file.errors():
                self._open(power_safe=power_safe)
        except BaseException:
            self._file.close()
            raise

    @property
    def path(self) -> Path:
        """The file it is kept in, if it is one file."""
        return self._path

    @property
    def max_step_chars(self) -> int:
        """The longest step that is accepted, in characters of its JSON."""
        return self._max_step_chars

    # Steps come in.

    def append_many(
        self,
        steps: Sequence[Step],
        *,
        tenant: str,
        trajectory: str,
        recorded: float,
        whole: bool = False,
        again: bool = False,
        redacted: Mapping[int, Sequence[Redaction]] | None = None,
    ) -> list[Entry | StepRejectedError]:
        """Accept steps at the end of a trajectory; one result a step, in order.

        A step without an id is named after its position. One that is known word for word changes nothing and comes
        back as it was first accepted; one whose id is known with other content, or that is too long, is rejected.
        One that was erased (see `erase`) is not accepted: it comes back with the state `ERASED`.

        Args:
            steps: What to accept.
            tenant: Whose trajectory it is.
            trajectory: Its name; a new one begins a trajectory.
            recorded: When this happens, in Unix seconds.
            whole: Accept all or nothing; what was erased is left out of this.
            again: Accept also what was erased.
            redacted: What was taken out of steps, by their place in `steps`.

        Raises:
            StepRejectedError: `whole` was asked for and a step is rejected; nothing was accepted.
        """
        with self._file.transaction() as db:
            appending = writing.Appending(
                db, tenant=tenant, trajectory=trajectory, seq=self.take_seqs(0), max_chars=self.max_step_chars
            )
            results, fresh = appending.accept(
                steps, recorded=recorded, whole=whole, again=again, redacted=redacted or {}
            )
            self.take_seqs(fresh)
        return results

    def begin(self, tenant: str, trajectory: str) -> None:
        """Begin a trajectory that has no steps yet, unless it is there; `drop_empty` ends it."""
        with self._file.transaction() as db:
            db.execute(
                "INSERT OR IGNORE INTO trajectories (number, tenant, name)"
                " SELECT coalesce(max(number), 0) + 1, ?, ? FROM trajectories",
                (tenant, trajectory),
            )

    def drop_empty(self, tenant: str) -> None:
        """Forget the trajectories of a tenant that have no steps."""
        with self._file.transaction() as db:
            writing.drop_empty(db, tenant)

    def take_seqs(self, count: int) -> int:
        """Set aside so many numbers in a row for steps that `restore` brings; return the first."""
        with self._file.lock:
            if not self._next_seq:
                query = "SELECT max((SELECT coalesce(max(seq), 0) + 1 FROM steps), seq) FROM next_seq"
                ((self._next_seq,),) = self._file.rows(query)
            first, self._next_seq = self._next_seq, self._next_seq + count
        return first

    def restore(
        self, steps: Sequence[KeptStep], *, tenant: str, again: bool = False
    ) -> list[Entry | StepRejectedError]:
        """Take in steps of one trajectory that was begun, with all their past; one result a step, in order.

        A step that is there with the same id, place and digest changes nothing and comes back as repeated; one whose
        place or id another step has is rejected. One that was erased comes back with the state `ERASED`, unless
        `again` is asked for.
        """
        results: list[Entry | StepRejectedError] = []
        with self._file.transaction() as db:
            fresh: dict[int, list[int]] = {}
            erased = ErasedSteps(db, tenant)
            for kept in steps:
                number = number_of(db, tenant, kept.trajectory)
                if number is None:
                    raise JournalError(f"trajectory {kept.trajectory!r} was not begun", hint="repeat the import")
                try:
                    became = writing.restore(db, kept, number=number, erased=erased, again=again)
                except StepRejectedError as error:
                    results.append(error)
                    continue
                if became == "erased":
                    step = Step.model_validate_json(kept.step)
                    results.append(erased_entry(step, tenant=tenant, trajectory=kept.trajectory))
                    continue
                if became == "new":
                    fresh.setdefault(number, []).append(kept.seq)
                query = f"{ENTRIES} WHERE s.trajectory = ? AND s.position = ?"
                row = db.execute(query, (number, kept.position)).fetchone()
                results.append(entry_of(row)._replace(repeated=became == "known"))
            for number, seqs in fresh.items():
                writing.note_changes(db, ChangeKind.RESTORED, seqs, tenant=tenant, number=number)
        return results

    # They are labeled, put into a store, and sometimes fail.

    def record_labels(self, labels: Sequence[tuple[int, bytes]], *, checkpoint: Checkpoint | None = None) -> None:
        """Keep the labels of steps that have none; they are labeled now.

        The checkpoint of the one trajectory that they are of is kept with them, and the replies that were kept for them
        go.
        """
        seqs = [seq for seq, _ in labels]
        with self._file.transaction() as db:
            db.executemany("INSERT INTO labels VALUES (?, ?, ?)", [*writing.label_rows(db, labels)])
            writing.record_state(db, seqs, StepState.LABELED, "")
            writing.note_changes_of(db, ChangeKind.LABELED, seqs)
            if checkpoint is not None:
                writing.save_checkpoint_of(db, seqs[0], checkpoint)

    def record_cut(self, tenant: str, trajectory: str, position: int) -> None:
        """Note that the steps of a trajectory before a position are labeled without those behind it."""
        with self._file.transaction() as db:
            db.execute("INSERT OR REPLACE INTO cuts VALUES (?, ?)", (number_of(db, tenant, trajectory), position))

    def cut(self, tenant: str, trajectory: str) -> int:
        """The position that `record_cut` noted last; 0 if there is none."""
        query = "SELECT coalesce(max(position), 0) FROM cuts c JOIN trajectories t ON t.number = c.trajectory"
        return int(self._file.rows(f"{query} WHERE t.tenant = ? AND t.name = ?", tenant, trajectory)[0][0])

    def keep_reply(self, tenant: str, trajectory: str, *, request: bytes, reply: bytes) -> None:
        """Keep what a model replied about steps, until their labels are kept.

        Of each request, named by its digest, one reply is kept.
        """
        with self._file.transaction() as db:
            row = (number_of(db, tenant, trajectory), request, reply)
            db.execute("INSERT OR REPLACE INTO replies VALUES (?, ?, ?)", row)

    def replies(self, tenant: str, trajectory: str) -> dict[bytes, bytes]:
        """The replies about a trajectory whose labels are not kept yet, by the digest of what was asked."""
        query = "SELECT request, reply FROM replies r JOIN trajectories t ON t.number = r.trajectory"
        return dict(self._file.rows(f"{query} WHERE t.tenant = ? AND t.name = ?", tenant, trajectory))

    def drop_replies(self, tenant: str, trajectory: str) -> None:
        """Forget the replies about a trajectory."""
        with self._file.transaction() as db:
            db.execute("DELETE FROM replies WHERE trajectory = ?", (number_of(db, tenant, trajectory),))

    def replace_labels(self, labels: Sequence[tuple[int, bytes]], *, tenant: str, trajectory: str) -> None:
        """Keep labels of a trajectory's steps in place of others; what labeling it remembered is forgotten."""
        seqs = [seq for seq, _ in labels]
        with self._file.transaction() as db:
            number = number_of(db, tenant, trajectory)
            writing.replace_labels(db, labels)
            writing.record_state(db, seqs, StepState.LABELED, "")
            writing.forget_checkpoint(db, number)
            writing.note_changes(db, ChangeKind.LABELED, seqs, tenant=tenant, number=number)

    def record_stored(self, seqs: Sequence[int]) -> None:
        """Note that steps were put into the store with their labels."""
        with self._file.transaction() as db:
            writing.record_state(db, seqs, StepState.STORED, "")

    def record_failed(self, seqs: Sequence[int], reason: str) -> None:
        """Note that steps could not be labeled or stored, and why."""
        with self._file.transaction() as db:
            writing.record_state(db, seqs, StepState.FAILED, reason)

    def record_removed(self, seqs: Sequence[int]) -> list[int]:
        """Note that steps are about to be erased; return those of them that there are.

        Whoever follows is told, and one that was stored is labeled only: should it go no further, it is derived again.
        """
        given = json.dumps(list(seqs))
        with self._file.transaction() as db:
            db.execute(f"UPDATE states SET state = 'labeled' WHERE state = 'stored' AND seq IN {GIVEN}", (given,))
            there = [seq for (seq,) in db.execute(f"SELECT seq FROM steps WHERE seq IN {GIVEN}", (given,))]
            writing.note_changes_of(db, ChangeKind.ERASED, there)
        return there

    def checkpoint(self, tenant: str, trajectory: str) -> Checkpoint | None:
        """The last checkpoint of a trajectory's labeling."""
        query = (
            "SELECT labeler, position, session, inventory, checksum FROM checkpoints c JOIN trajectories t"
            " ON t.number = c.trajectory WHERE t.tenant = ? AND t.name = ?"
        )
        rows = self._file.rows(query, tenant, trajectory)
        if not rows:
            return None
        labeler, position, session, inventory, check = rows[0]
        if not is_sound(check, session, inventory):
            _log.warning("what the labeling of a trajectory remembers was damaged, and is learned from its steps anew")
            return None
        return Checkpoint(labeler, position, session, LabelInventory.model_validate_json(inventory))

    def save_checkpoint(self, tenant: str, trajectory: str, checkpoint: Checkpoint) -> None:
        """Keep a checkpoint in place of the last one."""
        with self._file.transaction() as db:
            writing.save_checkpoint(db, number_of(db, tenant, trajectory), checkpoint, tenant=tenant)

    def forget_checkpoint(self, tenant: str, trajectory: str) -> None:
        """Forget what the labeling of a trajectory remembered: it is learnt again from the steps and their labels.

        So are its replies and its last cut. Whatever else forgets a checkpoint forgets them too.
        """
        with self._file.transaction() as db:
            writing.forget_checkpoint(db, number_of(db, tenant, trajectory))

    # They are corrected, retired, erased.

    def correct(
        self, seq: int, *, step: Step, labels: StepLabels | None, at: float, by: str, checkpoint: Checkpoint | None
    ) -> None:
        """Keep another content and other labels of a step; what it was becomes its last revision.

        The digest stays: the source will go on giving the step as it was.
        Labels are None for a step that waits for them. Without a checkpoint, what labeling the trajectory remembered is
        forgotten.
        """
        payload, _ = encode_step(step, max_chars=self.max_step_chars)
        with self._file.transaction() as db:
            writing.correct(db, seq, payload=payload, labels=labels, at=at, by=by, checkpoint=checkpoint)

    def retire(self, seqs: Sequence[int], *, at: float, reason: str) -> int:
        """Take steps out of retrieval; return how many were not retired before."""
        with self._file.transaction() as db:
            return writing.retire(db, seqs, at=at, reason=reason)

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
        after = self.take_seqs(0)
        with self._file.transaction() as db:
            db.execute("UPDATE next_seq SET seq = max(seq, ?)", (after,))
            writing.erase(db, seqs, tenant=tenant, trajectory=trajectory, labels=labels, revisions=revisions)

    def forget_tenant(self, tenant: str) -> None:
        """Forget what is kept of a tenant that has no steps: its records, and which steps were erased, with its key."""
        with self._file.transaction() as db:
            writing.forget_tenant(db, tenant)

    def owes_purge(self) -> bool:
        """Whether steps were erased since `record_purged`."""
        return bool(self._file.rows("SELECT 1 FROM purges LIMIT 1"))

    def record_purged(self) -> None:
        """Note that no file but the journal holds erased bytes, and remove them from the journal's log."""
        with self._file.transaction() as db:
            db.execute("DELETE FROM purges")
        self._file.rows("PRAGMA wal_checkpoint(TRUNCATE)")

    # Whoever derives something follows.

    def changes(self, *, after: int = 0, tenant: str | None = None) -> Iterator[Change]:
        """Iterate over the changes after a number, of a tenant or of all, in the order in which they came about."""
        query = (
            "SELECT c.number, c.kind, c.tenant, t.name, c.first, c.last FROM changes c"
            " LEFT JOIN trajectories t ON t.number = c.trajectory"
            " WHERE c.number > ? AND (? IS NULL OR c.tenant = ?) ORDER BY c.number LIMIT ?"
        )
        while rows := self._file.rows(query, after, tenant, tenant, PAGE):
            for number, kind, owner, trajectory, first, last in rows:
                yield Change(number, ChangeKind(kind), owner, trajectory, range(first, last + 1))
            after = rows[-1][0]

    def last_change(self) -> int:
        """The number of the last change; 0 if there is none."""
        return int(self._file.rows("SELECT coalesce(max(number), 0) FROM changes")[0][0])

    # It is looked after.

    def mend(self, seq: int, *, step: Step) -> bool:
        """Keep a damaged step as another copy has it, if that is how it was accepted by its digest; return whether."""
        payload, digest = encode_step(step, max_chars=self.max_step_chars)
        with self._file.transaction() as db:
            return writing.mend(db, seq, step=str(step.id), payload=payload, digest=digest)

    def sync(self) -> None:
        """Make everything written survive a loss of power."""
        self._file.rows("PRAGMA wal_checkpoint(PASSIVE)")

    def compact(self) -> None:
        """Write the whole anew, so that no byte of what was erased is left in it."""
        self._file.rows("VACUUM")
        self._file.rows("PRAGMA wal_checkpoint(TRUNCATE)")

    def copy_to(self, path: Path, *, tenant: str | None = None) -> tuple[int, int]:
        """Write all, or what is one tenant's, into a file, as it is now; return its numbers of tenants and steps."""
        with self._file.lock, self._file.errors():
            copy_database(self._file.db, to=path)
        return settle(path, tenant=tenant)

    def close(self) -> None:
        """Let go of it; closing twice is harmless. Whatever is called then raises `JournalError`."""
        self._file.close()

    def _open(self, *, power_safe: bool) -> None:
        db = self._file.db
        # One owner: a second process is told so at once, and no shared-memory file is needed.
        db.execute("PRAGMA locking_mode = EXCLUSIVE")
        db.execute("PRAGMA trusted_schema = OFF")  # a stranger's file calls no functions
        db.execute("PRAGMA secure_delete = ON")  # what is deleted or replaced is overwritten, not only unlinked
        db.create_function("expand", 2, expand, deterministic=True)
        brought_up = bring_up(db, self.path)
        db.execute("PRAGMA journal_mode = WAL")
        db.execute(f"PRAGMA synchronous = {'FULL' if power_safe else 'NORMAL'}")
        if brought_up:  # its version stands in the file then, where it is read before anything is opened
            db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
