"""The journal in a SQLite file: one connection, shared by all threads of the process that owns the file.

Copies are made of a file that is open here, or that another process may be writing.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from stitch.core.files import copy_private, private
from stitch.core.process import in_each_fork, never_free
from stitch.core.progress import Progress
from stitch.errors import ForkedProcessError, JournalError
from stitch.journal.database import SQLITE, Database, Session
from stitch.journal.erased import ErasedSteps
from stitch.journal.rows import STEPS
from stitch.journal.tables import OF_A_STEP
from stitch.journal.versions import bring_up, check_version

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

_PAGES = 1_000
"""So many are copied before it is said how far it is."""
_ATTEMPTS = 50
_WAL_HEADER_BYTES = 32
_INHERITED = set[Path]()
"""Files that were open when this process was forked: SQLite goes on to count the parent's locks as its own."""


class SqliteFile(Database):
    """The database in a SQLite file, made if it is not there, its folder is not; `:memory:` for none.

    Raises:
        ForkedProcessError: The process of which this is a fork had it open.
        JournalError: It cannot be opened, is owned by another process, or is not a journal.
        StoreMismatchError: It was written by a later version of this library; it is not touched.
    """

    def __init__(self, path: Path, *, power_safe: bool = False) -> None:
        super().__init__(str(path), compiled=SQLITE, causes=_CAUSES, errors=(sqlite3.Error,))
        self.path = path
        check_version(path)
        if path.absolute() in _INHERITED:
            raise ForkedProcessError(
                f"the journal {str(path)!r} was open in the process of which this one is a fork",
                hint="open it in a process that was forked before, or started anew (spawn)",
            )
        if str(path) != ":memory:":
            with suppress(OSError):  # SQLite says it in its own words
                os.close(private(str(path), os.O_RDWR | os.O_CREAT))
        with self.errors():
            self._db = sqlite3.connect(path, timeout=0.25, isolation_level=None, check_same_thread=False)
        self._is_open = True
        in_each_fork(self._leave_to_parent)
        try:
            with self.errors():
                self._open(power_safe=power_safe)
        except BaseException:
            self.close()
            raise

    def _leave_to_parent(self) -> None:
        """In a fork: to close the file there, even by ending, would delete the parent's log."""
        if not self._is_open:
            return
        never_free(self._db)
        _INHERITED.add(self.path.absolute())

    def _open(self, *, power_safe: bool) -> None:
        db = self._db
        # One owner: a second process is told so at once, and no shared-memory file is needed.
        db.execute("PRAGMA locking_mode = EXCLUSIVE")
        db.execute("PRAGMA trusted_schema = OFF")  # a stranger's file calls no functions
        db.execute("PRAGMA secure_delete = ON")  # what is deleted or replaced is overwritten, not only unlinked
        brought_up = bring_up(db, self.path)
        db.execute("PRAGMA journal_mode = WAL")
        db.execute(f"PRAGMA synchronous = {'FULL' if power_safe else 'NORMAL'}")
        if brought_up:  # its version stands in the file then, where it is read before anything is opened
            self._checkpoint("TRUNCATE")

    @contextmanager
    def session(self) -> Iterator[Session]:
        """The connection, for this thread alone."""
        with self.lock, self.errors():
            yield Session(self._db, self.compiled)

    @contextmanager
    def transaction(self, *, derived: bool = False) -> Iterator[Session]:
        """One transaction, for this thread alone."""
        with self.session() as db:
            try:
                self._db.execute("BEGIN IMMEDIATE")
                yield db
                self._db.execute("COMMIT")
            except BaseException:
                if self._db.in_transaction:
                    self._db.rollback()
                raise

    def damage(self) -> list[str]:
        """Damage that SQLite finds in the file."""
        with self.session():
            messages = self._db.execute("PRAGMA integrity_check(20)").fetchall()
        return [str(message) for (message,) in messages if message != "ok"]

    def purge_log(self) -> None:
        """Empty the write-ahead log."""
        self._checkpoint("TRUNCATE")

    def sync(self) -> None:
        """Make everything written survive a loss of power."""
        self._checkpoint("PASSIVE")

    def compact(self) -> None:
        """Write the file anew."""
        with self.session():
            self._db.execute("VACUUM")
        self._checkpoint("TRUNCATE")

    def copy_to(self, path: Path) -> None:
        """Write all into another file, as it is now."""
        with self.session(), closing(sqlite3.connect(path)) as copy:
            progress = Progress("pages copied", of=self._db.execute("PRAGMA page_count").fetchone()[0])
            self._db.backup(
                copy, pages=_PAGES, progress=lambda _, left, of: progress.advance(max(0, of - left - progress.done))
            )

    def close(self) -> None:
        """Let go of the file."""
        with self.lock, self.errors():
            self._db.close()
            self._is_open = False

    def _checkpoint(self, how: str) -> None:
        with self.session():
            self._db.execute(f"PRAGMA wal_checkpoint({how})").fetchall()


def copy_running(journal: Path, *, to: Path, tenant: str | None = None) -> tuple[int, int]:
    """Copy the file of a journal that another process may be writing, with its log; make one sound file of them.

    File and log are consistent at any moment, as after a kill, as long as the log is not begun anew between the copies:
    then its header changes, and the copies are made again.

    Returns:
        How many tenants and steps it holds, of one tenant if it is named.

    Raises:
        JournalError: It was begun anew each time, or is damaged.
        OSError: A file cannot be read or written.
    """
    log, copied_log = (path.with_name(f"{path.name}-wal") for path in (journal, to))
    for _ in range(_ATTEMPTS):
        before = _log_header(log), journal.stat().st_mtime_ns
        copy_private(journal, to)
        copied_log.unlink(missing_ok=True)
        if before[0]:
            try:
                copy_private(log, copied_log)
            except FileNotFoundError:  # its owner has just closed it
                continue
        # With the same log, what has come into the file meanwhile is in the log too.
        if _log_header(log) == before[0] and (before[0] or journal.stat().st_mtime_ns == before[1]):
            return settle(to, tenant=tenant)
    raise JournalError(f"journal {str(journal)!r} changes too fast to be copied", hint="try again when less is added")


def settle(copy: Path, *, tenant: str | None) -> tuple[int, int]:
    """Make one sound file of a copied journal, of one tenant if it is named; return its tenants and steps.

    Raises:
        JournalError: It is damaged, or cannot be written.
    """
    try:
        with closing(sqlite3.connect(copy, isolation_level=None)) as db:
            db.execute("PRAGMA journal_mode = DELETE").fetchall()
            bring_up(db, copy)
            session = Session(db, SQLITE)
            if tenant is not None:
                _keep_only(session, tenant)
                db.execute("VACUUM")
            if (found := db.execute("PRAGMA integrity_check(1)").fetchall()) != [("ok",)]:
                raise JournalError(
                    f"the journal is damaged and cannot be backed up: {found[0][0]}", hint="`stitch verify` says more"
                )
            ((tenants, step_count),) = session.rows(f"SELECT count(DISTINCT tenant), count(*) FROM {STEPS}")
    except sqlite3.Error as error:
        raise JournalError(f"the journal cannot be copied to {str(copy)!r}: {error}") from error
    return tenants, step_count


def _keep_only(db: Session, tenant: str) -> None:
    """Delete what other tenants have."""
    for table in ("trajectories", "changes", "records"):
        db.write(f"DELETE FROM {table} WHERE tenant <> :tenant", tenant=tenant)
    for table in ("checkpoints", "cuts", "replies", "steps"):
        db.write(f"DELETE FROM {table} WHERE trajectory NOT IN (SELECT number FROM trajectories)")
    for table in (each.name for each in OF_A_STEP if each.name != "steps"):
        db.write(f"DELETE FROM {table} WHERE seq NOT IN (SELECT seq FROM steps)")
    ErasedSteps(db, tenant).keep_only()


def _log_header(log: Path) -> bytes:
    try:
        with log.open("rb") as file:
            return file.read(_WAL_HEADER_BYTES)
    except FileNotFoundError:
        return b""
