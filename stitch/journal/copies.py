"""Copies of a journal's file: of one that is open here, or that another process may be writing."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from itertools import islice
from pathlib import Path

from stitch.core.files import copy_private
from stitch.errors import JournalError
from stitch.journal.database import PAGE, SQLITE, Session
from stitch.journal.erased import ErasedSteps
from stitch.journal.rows import STEPS
from stitch.journal.tables import OF_A_STEP, metadata
from stitch.journal.versions import bring_up

_ATTEMPTS = 50
_WAL_HEADER_BYTES = 32


def copy_rows(source: Session, target: Session) -> None:
    """Write all rows of one database into another one that has none."""
    for table in metadata.sorted_tables:
        target.write(f"DELETE FROM {table.name}")
        names = [column.name for column in table.columns]
        rows = source.stream(f"SELECT {', '.join(names)} FROM {table.name}")
        while page := [dict(zip(names, row, strict=True)) for row in islice(rows, PAGE)]:
            target.write_many(table, page)


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
