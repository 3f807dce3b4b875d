"""The journal in one SQLite file: `Journal`, method by method.

More than 400 lines because each question that is asked of the file stands beside the method that asks it.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path

from typing_extensions import override

from stitch.core import (
    Change,
    ChangeKind,
    KeptTrajectory,
    LabelInventory,
    Moment,
    Redaction,
    Step,
    StepLabels,
    StepState,
)
from stitch.errors import JournalError, StepRejectedError
from stitch.journal.entries import (
    Checkpoint,
    Encoded,
    Entry,
    IngestCounts,
    KeptStep,
    Selected,
    encode_step,
    erased_entry,
)
from stitch.journal.protocol import MAX_STEP_CHARS
from stitch.journal.sqlite import reading, writing
from stitch.journal.sqlite.compact import MADE_BY, expand
from stitch.journal.sqlite.connection import Connection
from stitch.journal.sqlite.copies import copy_database, settle
from stitch.journal.sqlite.erased import ErasedSteps
from stitch.journal.sqlite.history import SqliteHistory
from stitch.journal.sqlite.reading import PAGE
from stitch.journal.sqlite.schema import bring_up, check_version, is_sound
from stitch.journal.sqlite.writing import ENTRIES, GIVEN, entry_of, number_of

_log = logging.getLogger(__name__)


class SqliteJournal(SqliteHistory):
    """The journal of a memory, in one SQLite file; one process owns it at a time.

    What `append_many` has returned is accepted: it outlives the death of the process at any moment (kill -9), because
    the transaction is in the file system by then. Not every transaction waits for the disk, for that would cost 4 to
    5 ms each. The disk is waited for by `sync`, and whenever the write-ahead log has grown by 4 MB. So a loss of
    *power* may take the steps since then, and what remains is consistent. With `power_safe` every transaction waits,
    and nothing accepted is lost then either.

    A file of an earlier version is brought to this one when it is opened.
    The file is made if it is not there, its folder is not. With `power_safe` it waits for the disk at each transaction.

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
    @override
    def path(self) -> Path:
        return self._path

    @property
    @override
    def max_step_chars(self) -> int:
        return self._max_step_chars

    # Steps come in.

    @override
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
        with self._file.transaction() as db:
            appending = writing.Appending(
                db, tenant=tenant, trajectory=trajectory, seq=self.take_seqs(0), max_chars=self.max_step_chars
            )
            results, fresh = appending.accept(
                steps, recorded=recorded, whole=whole, again=again, redacted=redacted or {}
            )
            self.take_seqs(fresh)
        return results

    @override
    def begin(self, tenant: str, trajectory: str) -> None:
        with self._file.transaction() as db:
            db.execute(
                "INSERT OR IGNORE INTO trajectories (number, tenant, name)"
                " SELECT coalesce(max(number), 0) + 1, ?, ? FROM trajectories",
                (tenant, trajectory),
            )

    @override
    def drop_empty(self, tenant: str) -> None:
        with self._file.transaction() as db:
            writing.drop_empty(db, tenant)

    @override
    def take_seqs(self, count: int) -> int:
        with self._file.lock:
            if not self._next_seq:
                query = "SELECT max((SELECT coalesce(max(seq), 0) + 1 FROM steps), seq) FROM next_seq"
                ((self._next_seq,),) = self._file.rows(query)
            first, self._next_seq = self._next_seq, self._next_seq + count
        return first

    @override
    def restore(
        self, steps: Sequence[KeptStep], *, tenant: str, again: bool = False
    ) -> list[Entry | StepRejectedError]:
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

    @override
    def record_labels(self, labels: Sequence[tuple[int, bytes]], *, checkpoint: Checkpoint | None = None) -> None:
        seqs = [seq for seq, _ in labels]
        with self._file.transaction() as db:
            db.executemany("INSERT INTO labels VALUES (?, ?, ?)", [*writing.label_rows(db, labels)])
            writing.record_state(db, seqs, StepState.LABELED, "")
            writing.note_changes_of(db, ChangeKind.LABELED, seqs)
            if checkpoint is not None:
                writing.save_checkpoint_of(db, seqs[0], checkpoint)

    @override
    def record_cut(self, tenant: str, trajectory: str, position: int) -> None:
        with self._file.transaction() as db:
            db.execute("INSERT OR REPLACE INTO cuts VALUES (?, ?)", (number_of(db, tenant, trajectory), position))

    @override
    def cut(self, tenant: str, trajectory: str) -> int:
        query = "SELECT coalesce(max(position), 0) FROM cuts c JOIN trajectories t ON t.number = c.trajectory"
        return int(self._file.rows(f"{query} WHERE t.tenant = ? AND t.name = ?", tenant, trajectory)[0][0])

    @override
    def keep_reply(self, tenant: str, trajectory: str, *, request: bytes, reply: bytes) -> None:
        with self._file.transaction() as db:
            row = (number_of(db, tenant, trajectory), request, reply)
            db.execute("INSERT OR REPLACE INTO replies VALUES (?, ?, ?)", row)

    @override
    def replies(self, tenant: str, trajectory: str) -> dict[bytes, bytes]:
        query = "SELECT request, reply FROM replies r JOIN trajectories t ON t.number = r.trajectory"
        return dict(self._file.rows(f"{query} WHERE t.tenant = ? AND t.name = ?", tenant, trajectory))

    @override
    def drop_replies(self, tenant: str, trajectory: str) -> None:
        with self._file.transaction() as db:
            db.execute("DELETE FROM replies WHERE trajectory = ?", (number_of(db, tenant, trajectory),))

    @override
    def replace_labels(self, labels: Sequence[tuple[int, bytes]], *, tenant: str, trajectory: str) -> None:
        seqs = [seq for seq, _ in labels]
        with self._file.transaction() as db:
            number = number_of(db, tenant, trajectory)
            writing.replace_labels(db, labels)
            writing.record_state(db, seqs, StepState.LABELED, "")
            writing.forget_checkpoint(db, number)
            writing.note_changes(db, ChangeKind.LABELED, seqs, tenant=tenant, number=number)

    @override
    def record_stored(self, seqs: Sequence[int]) -> None:
        with self._file.transaction() as db:
            writing.record_state(db, seqs, StepState.STORED, "")

    @override
    def record_failed(self, seqs: Sequence[int], reason: str) -> None:
        with self._file.transaction() as db:
            writing.record_state(db, seqs, StepState.FAILED, reason)

    @override
    def record_removed(self, seqs: Sequence[int]) -> list[int]:
        given = json.dumps(list(seqs))
        with self._file.transaction() as db:
            db.execute(f"UPDATE states SET state = 'labeled' WHERE state = 'stored' AND seq IN {GIVEN}", (given,))
            there = [seq for (seq,) in db.execute(f"SELECT seq FROM steps WHERE seq IN {GIVEN}", (given,))]
            writing.note_changes_of(db, ChangeKind.ERASED, there)
        return there

    @override
    def checkpoint(self, tenant: str, trajectory: str) -> Checkpoint | None:
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

    @override
    def save_checkpoint(self, tenant: str, trajectory: str, checkpoint: Checkpoint) -> None:
        with self._file.transaction() as db:
            writing.save_checkpoint(db, number_of(db, tenant, trajectory), checkpoint, tenant=tenant)

    @override
    def forget_checkpoint(self, tenant: str, trajectory: str) -> None:
        with self._file.transaction() as db:
            writing.forget_checkpoint(db, number_of(db, tenant, trajectory))

    # They are read.

    @override
    def entry(self, tenant: str, trajectory: str, step: str) -> Entry | None:
        query = f"{ENTRIES} WHERE t.tenant = ? AND t.name = ? AND s.step = ?"
        rows = self._file.rows(query, tenant, trajectory, step)
        return entry_of(rows[0]) if rows else None

    @override
    def entries(
        self,
        tenant: str,
        trajectory: str,
        *,
        start: int = 0,
        stop: int | None = None,
        states: Collection[StepState] = tuple(StepState),
    ) -> Iterator[Entry]:
        query = (
            f"{ENTRIES} WHERE t.tenant = ? AND t.name = ? AND s.position >= ? AND s.position < ?"
            f" AND states.state IN {GIVEN} ORDER BY s.position LIMIT ?"
        )
        end = 1 << 60 if stop is None else stop
        while rows := self._file.rows(query, tenant, trajectory, start, end, _values(states), PAGE):
            yield from map(entry_of, rows)
            start = rows[-1][3] + 1

    @override
    def every_entry(self, tenant: str | None = None, *, state: StepState | None = None) -> Iterator[Entry]:
        query = f"{ENTRIES} WHERE s.seq > ? AND (? IS NULL OR t.tenant = ?) {_in_state(state)} ORDER BY s.seq LIMIT ?"
        wanted = () if state is None else (state.value,)
        last = 0
        while rows := self._file.rows(query, last, tenant, tenant, *wanted, PAGE):
            yield from map(entry_of, rows)
            last = rows[-1][0]

    @override
    def entries_of(self, seqs: Sequence[int]) -> Iterator[Entry]:
        wanted = sorted(seqs)
        for start in range(0, len(wanted), PAGE):
            page = json.dumps(wanted[start : start + PAGE])
            yield from map(entry_of, self._file.rows(f"{ENTRIES} WHERE s.seq IN {GIVEN} ORDER BY s.seq", page))

    @override
    def select(
        self,
        tenant: str,
        *,
        trajectory: str | None = None,
        step: str | None = None,
        accepted_before: float | None = None,
        scopes: Collection[str] | None = None,
        event_types: Collection[str] | None = None,
    ) -> list[Selected]:
        return reading.select(self._file, tenant, trajectory, step, accepted_before, scopes, event_types)

    @override
    def accepted_at(self, tenant: str) -> dict[int, float]:
        query = "SELECT s.seq, s.recorded FROM steps s JOIN trajectories t ON t.number = s.trajectory"
        return dict(self._file.rows(f"{query} WHERE t.tenant = ?", tenant))

    @override
    def tenants(self) -> list[str]:
        rows = self._file.rows("SELECT tenant FROM trajectories GROUP BY tenant ORDER BY min(number)")
        others = self._file.rows("SELECT tenant FROM records GROUP BY tenant ORDER BY min(number)")
        return list(dict.fromkeys(name for (name,) in (*rows, *others)))

    @override
    def trajectories(self, tenant: str) -> list[KeptTrajectory]:
        query = (
            "SELECT t.name, count(s.seq), coalesce(min(s.recorded), 0.0), coalesce(max(s.recorded), 0.0)"
            " FROM trajectories t LEFT JOIN steps s ON s.trajectory = t.number"
            " WHERE t.tenant = ? GROUP BY t.number ORDER BY t.number"
        )
        rows = self._file.rows(query, tenant)
        return [KeptTrajectory(name, steps=steps, began=began, ended=ended) for name, steps, began, ended in rows]

    @override
    def unfinished(self, states: Collection[StepState]) -> list[tuple[str, str]]:
        query = (
            "SELECT t.tenant, t.name FROM states JOIN steps s USING (seq)"
            " JOIN trajectories t ON t.number = s.trajectory"
            f" WHERE states.state <> 'stored' AND states.state IN {GIVEN} GROUP BY t.number ORDER BY min(s.seq)"
        )
        return [(tenant, name) for tenant, name in self._file.rows(query, _values(states))]

    @override
    def has_any(self, state: StepState, *, tenant: str | None = None, trajectory: str | None = None) -> bool:
        query = (
            "SELECT 1 FROM states JOIN steps s USING (seq) JOIN trajectories t ON t.number = s.trajectory"
            f" WHERE (? IS NULL OR t.tenant = ?) AND (? IS NULL OR t.name = ?) {_in_state(state)} LIMIT 1"
        )
        return bool(self._file.rows(query, tenant, tenant, trajectory, trajectory, state.value))

    @override
    def number_in(self, state: StepState, *, tenant: str | None = None) -> int:
        query = (
            "SELECT count(*) FROM states JOIN steps s USING (seq) JOIN trajectories t ON t.number = s.trajectory"
            f" WHERE (? IS NULL OR t.tenant = ?) {_in_state(state)}"
        )
        return int(self._file.rows(query, tenant, tenant, state.value)[0][0])

    @override
    def length(self, tenant: str, trajectory: str) -> int:
        query = (
            "SELECT coalesce(max(s.position) + 1, 0) FROM trajectories t JOIN steps s ON s.trajectory = t.number"
            " WHERE t.tenant = ? AND t.name = ?"
        )
        return int(self._file.rows(query, tenant, trajectory)[0][0])

    @override
    def labeled(self, tenant: str, trajectory: str) -> int:
        query = (
            "SELECT s.position + 1 FROM trajectories t JOIN steps s ON s.trajectory = t.number JOIN labels USING (seq)"
            " WHERE t.tenant = ? AND t.name = ? ORDER BY s.position DESC LIMIT 1"
        )
        rows = self._file.rows(query, tenant, trajectory)
        return int(rows[0][0]) if rows else 0

    @override
    def lengths_at(self, moment: Moment, *, tenant: str, trajectory: str | None = None) -> dict[str, tuple[int, int]]:
        query = (
            "SELECT t.name, count(*), sum(s.recorded <= ? AND NOT (t.name IS ? AND s.position > ?)) FROM trajectories t"
            " JOIN steps s ON s.trajectory = t.number"
            " WHERE t.tenant = ? AND (? IS NULL OR t.name = ?) GROUP BY t.number"
        )
        given = (moment.recorded, moment.trajectory, moment.position, tenant, trajectory, trajectory)
        return {name: (steps, known) for name, steps, known in self._file.rows(query, *given)}

    @override
    def counts(self, tenant: str | None = None) -> IngestCounts:
        query = (
            "SELECT count(*), count(labels.seq), coalesce(sum(state = 'stored'), 0),"
            " coalesce(sum(state = 'failed'), 0), count(DISTINCT t.number), coalesce(sum(state = 'retired'), 0)"
            " FROM trajectories t JOIN steps s ON s.trajectory = t.number JOIN states USING (seq)"
            " LEFT JOIN labels USING (seq) WHERE ? IS NULL OR t.tenant = ?"
        )
        return IngestCounts(*self._file.rows(query, tenant, tenant)[0])

    @override
    def makers(self, tenant: str) -> dict[str, int]:
        query = (
            f"SELECT {MADE_BY.format('CAST(labels.labels AS TEXT)')} AS maker, count(*) FROM labels"
            " JOIN steps s USING (seq) JOIN trajectories t ON t.number = s.trajectory WHERE t.tenant = ?"
            " GROUP BY maker ORDER BY count(*) DESC, maker"
        )
        return {str(maker): count for maker, count in self._file.rows(query, tenant)}

    @override
    def redactions(self, tenant: str) -> dict[int, tuple[Redaction, ...]]:
        return reading.redactions(self._file, tenant)

    @override
    def kept(self, tenant: str, trajectory: str | None = None) -> Iterator[KeptStep]:
        return reading.kept(self._file, tenant, trajectory, redactions=self.redactions(tenant))

    @override
    def encoded(self, tenant: str, trajectory: str) -> list[Encoded]:
        query = (
            "SELECT s.seq, s.payload, expand(labels.labels, s.payload) FROM steps s"
            " JOIN trajectories t ON t.number = s.trajectory LEFT JOIN labels USING (seq)"
            " WHERE t.tenant = ? AND t.name = ? ORDER BY s.position"
        )
        return [Encoded(*row) for row in self._file.rows(query, tenant, trajectory)]

    @override
    def said(self, tenant: str) -> Iterator[bytes]:
        return reading.said(self._file, tenant)

    @override
    def said_by_others(self, tenant: str) -> Iterator[bytes]:
        return reading.said(self._file, tenant, others=True)

    # They are corrected, retired, erased.

    @override
    def correct(
        self, seq: int, *, step: Step, labels: StepLabels | None, at: float, by: str, checkpoint: Checkpoint | None
    ) -> None:
        payload, _ = encode_step(step, max_chars=self.max_step_chars)
        with self._file.transaction() as db:
            writing.correct(db, seq, payload=payload, labels=labels, at=at, by=by, checkpoint=checkpoint)

    @override
    def retire(self, seqs: Sequence[int], *, at: float, reason: str) -> int:
        with self._file.transaction() as db:
            return writing.retire(db, seqs, at=at, reason=reason)

    @override
    def erase(
        self,
        seqs: Sequence[int],
        *,
        tenant: str,
        trajectory: str,
        labels: Sequence[tuple[int, bytes]] = (),
        revisions: Sequence[tuple[int, bytes]] = (),
    ) -> None:
        after = self.take_seqs(0)
        with self._file.transaction() as db:
            db.execute("UPDATE next_seq SET seq = max(seq, ?)", (after,))
            writing.erase(db, seqs, tenant=tenant, trajectory=trajectory, labels=labels, revisions=revisions)

    @override
    def forget_tenant(self, tenant: str) -> None:
        with self._file.transaction() as db:
            writing.forget_tenant(db, tenant)

    @override
    def owes_purge(self) -> bool:
        return bool(self._file.rows("SELECT 1 FROM purges LIMIT 1"))

    @override
    def record_purged(self) -> None:
        with self._file.transaction() as db:
            db.execute("DELETE FROM purges")
        self._file.rows("PRAGMA wal_checkpoint(TRUNCATE)")

    # Whoever derives something follows.

    @override
    def changes(self, *, after: int = 0, tenant: str | None = None) -> Iterator[Change]:
        query = (
            "SELECT c.number, c.kind, c.tenant, t.name, c.first, c.last FROM changes c"
            " LEFT JOIN trajectories t ON t.number = c.trajectory"
            " WHERE c.number > ? AND (? IS NULL OR c.tenant = ?) ORDER BY c.number LIMIT ?"
        )
        while rows := self._file.rows(query, after, tenant, tenant, PAGE):
            for number, kind, owner, trajectory, first, last in rows:
                yield Change(number, ChangeKind(kind), owner, trajectory, range(first, last + 1))
            after = rows[-1][0]

    @override
    def last_change(self) -> int:
        return int(self._file.rows("SELECT coalesce(max(number), 0) FROM changes")[0][0])

    # It is looked after.

    @override
    def damage(self) -> list[str]:
        return reading.damage(self._file)

    @override
    def damaged(self, tenant: str) -> dict[int, str]:
        return reading.damaged(self._file, tenant)

    @override
    def mend(self, seq: int, *, step: Step) -> bool:
        payload, digest = encode_step(step, max_chars=self.max_step_chars)
        with self._file.transaction() as db:
            return writing.mend(db, seq, step=str(step.id), payload=payload, digest=digest)

    @override
    def sync(self) -> None:
        self._file.rows("PRAGMA wal_checkpoint(PASSIVE)")

    @override
    def compact(self) -> None:
        self._file.rows("VACUUM")
        self._file.rows("PRAGMA wal_checkpoint(TRUNCATE)")

    @override
    def copy_to(self, path: Path, *, tenant: str | None = None) -> tuple[int, int]:
        with self._file.lock, self._file.errors():
            copy_database(self._file.db, to=path)
        return settle(path, tenant=tenant)

    @override
    def close(self) -> None:
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


def _values(states: Collection[StepState]) -> str:
    return json.dumps([state.value for state in states])


def _in_state(state: StepState | None) -> str:
    """A condition; the first half of it lets SQLite use the index of `states`, which leaves out what is stored."""
    if state is None:
        return ""
    return "AND states.state = ?" if state is StepState.STORED else "AND states.state <> 'stored' AND states.state = ?"
