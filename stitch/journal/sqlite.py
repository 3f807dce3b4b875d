"""The append-only truth: which steps were accepted, how they were labeled, and how far they have come.

More than 400 lines because all that is asked of the file in SQL stands in one place.
"""

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from stitch.core import SCHEMA_VERSION, LabelInventory, Redaction, Step, StepLabels, StepState
from stitch.errors import JournalError, StepRejectedError, StoreMismatchError
from stitch.journal.entries import Checkpoint, Entry, IngestCounts, encode_step

MAX_STEP_CHARS = 1_000_000
"""The longest step, in characters of its JSON."""

_APPLICATION_ID = 0x53544348
_PAGE = 512
"""How many rows are read at a time: an iteration holds no more, and no lock between them."""

_SCHEMA = """
CREATE TABLE trajectories (
    number INTEGER PRIMARY KEY, tenant TEXT NOT NULL, name TEXT NOT NULL, UNIQUE (tenant, name));
CREATE TABLE steps (
    seq INTEGER PRIMARY KEY, trajectory INTEGER NOT NULL, position INTEGER NOT NULL, step TEXT NOT NULL,
    recorded REAL NOT NULL, digest BLOB NOT NULL, payload BLOB NOT NULL,
    UNIQUE (trajectory, step), UNIQUE (trajectory, position));
CREATE TABLE labels (seq INTEGER PRIMARY KEY, labels BLOB NOT NULL);
CREATE TABLE states (seq INTEGER PRIMARY KEY, state TEXT NOT NULL, reason TEXT NOT NULL);
CREATE INDEX unfinished ON states (state) WHERE state <> 'stored';
CREATE TABLE unflushed (ordinal INTEGER PRIMARY KEY, seq INTEGER NOT NULL);
CREATE TABLE checkpoints (
    trajectory INTEGER PRIMARY KEY, labeler TEXT NOT NULL, position INTEGER NOT NULL,
    session BLOB NOT NULL, inventory BLOB NOT NULL);
"""

_ADDED = """
CREATE TABLE IF NOT EXISTS history (
    number INTEGER PRIMARY KEY, seq INTEGER NOT NULL, at REAL NOT NULL, made_by TEXT NOT NULL,
    payload BLOB NOT NULL, labels BLOB);
CREATE INDEX IF NOT EXISTS history_of ON history (seq);
CREATE TABLE IF NOT EXISTS purges (number INTEGER PRIMARY KEY);
CREATE TABLE IF NOT EXISTS redactions (
    seq INTEGER NOT NULL, kind TEXT NOT NULL, count INTEGER NOT NULL, place TEXT NOT NULL);
CREATE INDEX IF NOT EXISTS redactions_of ON redactions (seq);
"""

_ENTRIES = """
SELECT s.seq, t.tenant, t.name, s.position, s.payload, s.recorded, states.state, states.reason, labels.labels
FROM steps s JOIN trajectories t ON t.number = s.trajectory JOIN states USING (seq) LEFT JOIN labels USING (seq)
"""

_CAUSES = (
    ("disk is full", "the disk is full", "free some space and repeat the command; nothing accepted is lost"),
    ("locked", "another process owns it", "end the other process, or send it your steps"),
    ("readonly", "it is read-only", "make the folder and its files writable"),
    ("unable to open", "its folder is missing or not accessible", "check the path and its permissions"),
    ("not a database", "it is not a journal", "check the path"),
    ("malformed", "it is damaged", "restore the folder from a backup"),
    ("disk I/O", "the disk reports an error", "check the disk, then repeat the command"),
    ("closed database", "it is closed", ""),
)

_GIVEN = "(SELECT value FROM json_each(?))"


class Journal:
    """The journal of a memory, in one SQLite file. Safe to use from several threads; one process owns it at a time.

    What `append_many` has returned is accepted: it outlives the death of the process at any moment (kill -9), because
    the transaction is in the file system by then. Not every transaction waits for the disk, for that would cost 4 to
    5 ms each. The disk is waited for by `sync`, and whenever the write-ahead log has grown by 4 MB. So a loss of
    *power* may take the steps since then, and what remains is consistent. With `power_safe` every transaction waits,
    and nothing accepted is lost then either.

    Args:
        path: The file; it is made if it is not there. Its folder must exist.
        power_safe: Wait for the disk at each transaction.
        max_step_chars: The longest step that is accepted, in characters of its JSON.

    Raises:
        JournalError: The file cannot be opened, is owned by another process, or is not a journal.
        StoreMismatchError: It was written by a later version of this library.
    """

    def __init__(self, path: str | Path, *, power_safe: bool = False, max_step_chars: int = MAX_STEP_CHARS) -> None:
        self.path = Path(path)
        self.max_step_chars = max_step_chars
        self._lock = threading.RLock()
        self._next_seq = 0
        with self._errors():
            self._db = sqlite3.connect(self.path, timeout=0.25, isolation_level=None, check_same_thread=False)
        try:
            with self._errors():
                self._open(power_safe=power_safe)
        except BaseException:
            self._db.close()
            raise

    def append_many(
        self,
        steps: Sequence[Step],
        *,
        tenant: str,
        trajectory: str,
        recorded: float,
        whole: bool = False,
        redacted: Mapping[int, Sequence[Redaction]] | None = None,
    ) -> list[Entry | StepRejectedError]:
        """Accept steps at the end of a trajectory, in one transaction; one result a step, in order.

        A step without an id is named after its position. One that is known word for word changes nothing and comes
        back as it was first accepted; one whose id is known with other content, or that is too long, is rejected.

        Args:
            steps: What to accept.
            tenant: Whose trajectory it is.
            trajectory: Its name; a new one begins a trajectory.
            recorded: When this happens, in Unix seconds.
            whole: Accept all or nothing.
            redacted: What was taken out of steps, by their place in `steps`.

        Raises:
            StepRejectedError: `whole` was asked for and a step is rejected; nothing was accepted.
            JournalError: Nothing was accepted.
        """
        with self.transaction() as db:
            number = _number(db, tenant, trajectory)
            begins = number is None
            if number is None:
                number = _one(db, "SELECT coalesce(max(number), 0) + 1 FROM trajectories")
            known = _digests(db, number, [step.id for step in steps if step.id is not None])
            position = _one(db, "SELECT coalesce(max(position) + 1, 0) FROM steps WHERE trajectory = ?", number)
            seq = self.take_seqs(0)
            given = {step.id for step in steps}
            results: list[Entry | StepRejectedError] = []
            rows: list[tuple[Any, ...]] = []
            repeats: dict[int, int] = {}
            taken_out: list[tuple[Any, ...]] = []
            for number_given, step in enumerate(steps):
                if step.id is None:
                    step = step.model_copy(update={"id": _free_id(db, number, position, given)})
                assert step.id is not None
                try:
                    payload, digest = encode_step(step, max_chars=self.max_step_chars)
                    if step.id in known:
                        first, content = known[step.id]
                        if content != digest:
                            raise StepRejectedError(
                                f"step {step.id!r} of trajectory {trajectory!r} is known with other content",
                                hint="give it an id of its own; what was accepted is never changed",
                            )
                        repeats[len(results)] = first
                except StepRejectedError as error:
                    if whole:
                        raise
                    results.append(error)
                    continue
                secrets = tuple(redacted.get(number_given, ())) if redacted else ()
                results.append(Entry(seq, tenant, trajectory, position, step, recorded, redacted=secrets))
                if step.id not in known:
                    taken_out += [(seq, each.kind, each.count, each.place) for each in secrets]
                    rows.append((seq, number, position, step.id, recorded, digest, payload))
                    known[step.id] = (seq, digest)
                    seq, position = seq + 1, position + 1
            self.take_seqs(len(rows))
            if rows and begins:
                db.execute("INSERT INTO trajectories VALUES (?, ?, ?)", (number, tenant, trajectory))
            db.executemany("INSERT INTO steps VALUES (?, ?, ?, ?, ?, ?, ?)", rows)
            db.executemany("INSERT INTO states VALUES (?, 'accepted', '')", [row[:1] for row in rows])
            db.executemany("INSERT INTO redactions VALUES (?, ?, ?, ?)", taken_out)
            for index, first in repeats.items():
                row = db.execute(f"{_ENTRIES} WHERE s.seq = ?", (first,)).fetchone()
                results[index] = _entry(row)._replace(repeated=True, redacted=tuple((redacted or {}).get(index, ())))
        return results

    def take_seqs(self, count: int) -> int:
        """The first of so many numbers in a row (`Entry.seq`) that no step has or had since this was first asked.

        Asked before a step is erased, with 0: who holds its number then means no step any more, and never a new one.
        """
        with self._lock:
            if not self._next_seq:
                ((self._next_seq,),) = self.rows("SELECT coalesce(max(seq), 0) + 1 FROM steps")
            first, self._next_seq = self._next_seq, self._next_seq + count
        return first

    def record_labels(self, labels: Sequence[tuple[int, bytes]]) -> None:
        """Keep the labels of steps, named by `Entry.seq`, as `encode_labels` gave them; they are labeled now."""
        with self.transaction() as db:
            db.executemany("INSERT INTO labels VALUES (?, ?)", labels)
            _record_state(db, [seq for seq, _ in labels], StepState.LABELED, "")

    def record_stored(self, seqs: Sequence[int]) -> None:
        """Note that steps were put into the store with their labels."""
        with self.transaction() as db:
            _record_put(db, seqs)
            _record_state(db, seqs, StepState.STORED, "")

    def record_failed(self, seqs: Sequence[int], reason: str, *, put: bool) -> None:
        """Note that steps could not be labeled or stored, and why; `put` if they are in the store without labels."""
        with self.transaction() as db:
            if put:
                _record_put(db, seqs)
            _record_state(db, seqs, StepState.FAILED, reason)

    def entries(
        self,
        tenant: str,
        trajectory: str,
        *,
        start: int = 0,
        stop: int | None = None,
        states: Collection[StepState] = tuple(StepState),
    ) -> Iterator[Entry]:
        """Iterate over a trajectory's steps from position `start` to before `stop`; over none if it is unknown."""
        query = (
            f"{_ENTRIES} WHERE t.tenant = ? AND t.name = ? AND s.position >= ? AND s.position < ?"
            f" AND states.state IN {_GIVEN} ORDER BY s.position LIMIT ?"
        )
        end = 1 << 60 if stop is None else stop
        while rows := self.rows(query, tenant, trajectory, start, end, _values(states), _PAGE):
            yield from map(_entry, rows)
            start = rows[-1][3] + 1

    def every_entry(self, tenant: str | None = None, *, state: StepState | None = None) -> Iterator[Entry]:
        """Iterate over the steps of a tenant, or of all, in the order in which they were accepted."""
        query = (
            f"{_ENTRIES} WHERE s.seq > ? AND (? IS NULL OR t.tenant = ?) AND (? IS NULL OR states.state = ?)"
            " ORDER BY s.seq LIMIT ?"
        )
        wanted = state and state.value
        last = 0
        while rows := self.rows(query, last, tenant, tenant, wanted, wanted, _PAGE):
            yield from map(_entry, rows)
            last = rows[-1][0]

    def entries_of(self, seqs: Sequence[int]) -> Iterator[Entry]:
        """Iterate over the steps with these numbers, in the order of acceptance."""
        wanted = sorted(seqs)
        for start in range(0, len(wanted), _PAGE):
            page = json.dumps(wanted[start : start + _PAGE])
            yield from map(_entry, self.rows(f"{_ENTRIES} WHERE s.seq IN {_GIVEN} ORDER BY s.seq", page))

    def tenants(self) -> list[str]:
        """All tenants, the oldest first."""
        return [name for (name,) in self.rows("SELECT tenant FROM trajectories GROUP BY tenant ORDER BY min(number)")]

    def trajectories(self, tenant: str) -> list[str]:
        """The names of a tenant's trajectories, the oldest first."""
        rows = self.rows("SELECT name FROM trajectories WHERE tenant = ? ORDER BY number", tenant)
        return [name for (name,) in rows]

    def unfinished(self, states: Collection[StepState]) -> list[tuple[str, str]]:
        """The trajectories that have steps in one of `states` (which must not be `STORED`), with their tenants."""
        query = (
            "SELECT t.tenant, t.name FROM states JOIN steps s USING (seq)"
            " JOIN trajectories t ON t.number = s.trajectory"
            " WHERE states.state <> 'stored' AND states.state IN (SELECT value FROM json_each(?))"
            " GROUP BY t.number ORDER BY min(s.seq)"
        )
        return [(tenant, name) for tenant, name in self.rows(query, _values(states))]

    def length(self, tenant: str, trajectory: str) -> int:
        """The position after the last step of a trajectory; 0 if there is none."""
        query = (
            "SELECT coalesce(max(s.position) + 1, 0) FROM trajectories t JOIN steps s ON s.trajectory = t.number"
            " WHERE t.tenant = ? AND t.name = ?"
        )
        return int(self.rows(query, tenant, trajectory)[0][0])

    def labeled(self, tenant: str, trajectory: str) -> int:
        """How many steps of a trajectory are labeled. They are its first ones: labels are made in order."""
        query = (
            "SELECT s.position + 1 FROM trajectories t JOIN steps s ON s.trajectory = t.number JOIN labels USING (seq)"
            " WHERE t.tenant = ? AND t.name = ? ORDER BY s.position DESC LIMIT 1"
        )
        rows = self.rows(query, tenant, trajectory)
        return int(rows[0][0]) if rows else 0

    def counts(self, tenant: str | None = None) -> IngestCounts:
        """How many steps of a tenant, or of all, have come how far."""
        query = (
            "SELECT count(*), count(labels.seq), coalesce(sum(state = 'stored'), 0),"
            " coalesce(sum(state = 'failed'), 0), count(DISTINCT t.number), coalesce(sum(state = 'retired'), 0)"
            " FROM trajectories t JOIN steps s ON s.trajectory = t.number JOIN states USING (seq)"
            " LEFT JOIN labels USING (seq) WHERE ? IS NULL OR t.tenant = ?"
        )
        return IngestCounts(*self.rows(query, tenant, tenant)[0])

    def entry(self, tenant: str, trajectory: str, step: str) -> Entry | None:
        """One step; None if there is none of this id."""
        rows = self.rows(f"{_ENTRIES} WHERE t.tenant = ? AND t.name = ? AND s.step = ?", tenant, trajectory, step)
        return _entry(rows[0]) if rows else None

    def redactions(self, tenant: str) -> dict[int, tuple[Redaction, ...]]:
        """What was taken out of the steps of a tenant, by `Entry.seq`."""
        query = (
            "SELECT seq, kind, count, place FROM redactions JOIN steps s USING (seq)"
            " JOIN trajectories t ON t.number = s.trajectory WHERE t.tenant = ? ORDER BY redactions.rowid"
        )
        found: dict[int, tuple[Redaction, ...]] = {}
        for seq, kind, count, place in self.rows(query, tenant):
            found[seq] = (*found.get(seq, ()), Redaction(kind=kind, count=count, place=place))
        return found

    def checkpoint(self, tenant: str, trajectory: str) -> Checkpoint | None:
        """The last checkpoint of a trajectory's labeling."""
        query = (
            "SELECT labeler, position, session, inventory FROM checkpoints c JOIN trajectories t"
            " ON t.number = c.trajectory WHERE t.tenant = ? AND t.name = ?"
        )
        rows = self.rows(query, tenant, trajectory)
        if not rows:
            return None
        labeler, position, session, inventory = rows[0]
        return Checkpoint(labeler, position, session, LabelInventory.model_validate_json(inventory))

    def save_checkpoint(self, tenant: str, trajectory: str, checkpoint: Checkpoint) -> None:
        """Keep a checkpoint in place of the last one."""
        inventory = checkpoint.inventory.model_dump_json(exclude_defaults=True).encode()
        with self.transaction() as db:
            row = (_number(db, tenant, trajectory), *checkpoint[:3], inventory)
            db.execute("INSERT OR REPLACE INTO checkpoints VALUES (?, ?, ?, ?, ?)", row)

    def unflushed(self, *, after: int = 0) -> list[tuple[int, Entry]]:
        """Some steps that were put into the store since it was last flushed, each with its ordinal, in that order.

        Those after ordinal `after`; none when there are no more.
        """
        query = f"{_ENTRIES} JOIN unflushed u USING (seq) WHERE u.ordinal > ? ORDER BY u.ordinal LIMIT ?"
        query = query.replace("SELECT ", "SELECT u.ordinal, ", 1)
        return [(row[0], _entry(row[1:])) for row in self.rows(query, after, _PAGE)]

    def last_put(self) -> int:
        """The ordinal of the last put that is not flushed; 0 if there is none."""
        return int(self.rows("SELECT coalesce(max(ordinal), 0) FROM unflushed")[0][0])

    def record_flushed(self, ordinal: int) -> None:
        """Note that the store was flushed after the put with this ordinal."""
        with self.transaction() as db:
            db.execute("DELETE FROM unflushed WHERE ordinal <= ?", (ordinal,))

    def sync(self) -> None:
        """Make everything written survive a loss of power."""
        self.rows("PRAGMA wal_checkpoint(PASSIVE)")

    def compact(self) -> None:
        """Rewrite the file and empty its log, so that no byte of what was deleted is left in them."""
        self.rows("VACUUM")
        self.rows("PRAGMA wal_checkpoint(TRUNCATE)")

    def copy_to(self, path: Path) -> None:
        """Write all into another file, as it is now; who writes meanwhile waits."""
        with self._lock, self._errors(), closing(sqlite3.connect(path)) as copy:
            self._db.backup(copy)

    def close(self) -> None:
        """Let go of the file; closing twice is harmless."""
        with self._lock, self._errors():
            self._db.close()

    def _open(self, *, power_safe: bool) -> None:
        db = self._db
        # One owner: a second process is told so at once, and no shared-memory file is needed.
        db.execute("PRAGMA locking_mode = EXCLUSIVE")
        version = _one(db, "PRAGMA user_version")
        if version > SCHEMA_VERSION:
            raise StoreMismatchError(
                f"journal {str(self.path)!r} has schema version {version}, this library reads {SCHEMA_VERSION}",
                hint="open it with the version of stitch-memory that wrote it, or a later one",
            )
        if _one(db, "PRAGMA application_id") != _APPLICATION_ID and _one(db, "SELECT count(*) FROM sqlite_master"):
            raise JournalError(f"journal {str(self.path)!r} cannot be used: it is not a journal", hint="check the path")
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("PRAGMA secure_delete = ON")  # what is deleted or replaced is overwritten, not only unlinked
        db.execute(f"PRAGMA synchronous = {'FULL' if power_safe else 'NORMAL'}")
        with self.transaction():
            if version == 0:
                for statement in filter(str.strip, _SCHEMA.split(";")):
                    db.execute(statement)
                db.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
                db.execute(f"PRAGMA application_id = {_APPLICATION_ID}")
            for statement in filter(str.strip, _ADDED.split(";")):
                db.execute(statement)

    def rows(self, query: str, *arguments: Any) -> list[tuple[Any, ...]]:
        """The rows of one query; for the modules of this package."""
        with self._lock, self._errors():
            return self._db.execute(query, arguments).fetchall()

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """One transaction, for this thread alone: written whole or not at all; for the modules of this package."""
        with self._lock, self._errors():
            try:
                self._db.execute("BEGIN IMMEDIATE")
                yield self._db
                self._db.execute("COMMIT")
            except BaseException:
                if self._db.in_transaction:
                    self._db.rollback()
                raise

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            for sign, cause, hint in _CAUSES:
                if sign in str(error):
                    raise JournalError(f"journal {str(self.path)!r} cannot be used: {cause}", hint=hint) from error
            raise JournalError(f"journal {str(self.path)!r} cannot be used: {error}") from error


def _one(db: sqlite3.Connection, query: str, *arguments: Any) -> Any:
    return db.execute(query, arguments).fetchone()[0]


def _number(db: sqlite3.Connection, tenant: str, trajectory: str) -> int | None:
    row = db.execute("SELECT number FROM trajectories WHERE tenant = ? AND name = ?", (tenant, trajectory)).fetchone()
    return row[0] if row else None


def _digests(db: sqlite3.Connection, number: int, ids: Sequence[str]) -> dict[str, tuple[int, bytes]]:
    query = "SELECT step, seq, digest FROM steps WHERE trajectory = ? AND step IN (SELECT value FROM json_each(?))"
    rows = db.execute(query, (number, json.dumps(ids)))
    return {step: (seq, digest) for step, seq, digest in rows}


def _values(states: Collection[StepState]) -> str:
    return json.dumps([state.value for state in states])


def _free_id(db: sqlite3.Connection, number: int, position: int, given: Collection[str | None]) -> str:
    name, suffix = str(position), 1
    query = "SELECT count(*) FROM steps WHERE trajectory = ? AND step = ?"
    while name in given or _one(db, query, number, name):
        suffix += 1
        name = f"{position}-{suffix}"
    return name


def _record_state(db: sqlite3.Connection, seqs: Sequence[int], state: StepState, reason: str) -> None:
    db.executemany(
        "UPDATE states SET state = ?, reason = ? WHERE seq = ?", [(state.value, reason, seq) for seq in seqs]
    )


def _record_put(db: sqlite3.Connection, seqs: Sequence[int]) -> None:
    db.executemany("INSERT INTO unflushed (seq) VALUES (?)", [(seq,) for seq in seqs])


def _entry(row: Sequence[Any]) -> Entry:
    seq, tenant, trajectory, position, payload, recorded, state, reason, labels = row
    step = Step.model_validate_json(payload)
    made = StepLabels.model_validate_json(labels) if labels is not None else None
    return Entry(seq, tenant, trajectory, position, step, recorded, StepState(state), reason, made)


def forget_checkpoint(db: sqlite3.Connection, tenant: str, trajectory: str) -> None:
    """Forget what the labeling of a trajectory remembered: it is learnt again from the steps and their labels."""
    db.execute(
        "DELETE FROM checkpoints WHERE trajectory = (SELECT number FROM trajectories WHERE tenant = ? AND name = ?)",
        (tenant, trajectory),
    )
