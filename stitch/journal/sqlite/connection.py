"""One connection to the file of a journal, shared by all threads of the process that owns it."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from stitch.errors import JournalError

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


class Connection:
    """A connection to a SQLite file. Safe to use from several threads.

    Args:
        path: The file; it is made if it is not there.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.lock = threading.RLock()
        with self.errors():
            self.db = sqlite3.connect(path, timeout=0.25, isolation_level=None, check_same_thread=False)

    def rows(self, query: str, *arguments: Any) -> list[tuple[Any, ...]]:
        """The rows of one query."""
        with self.lock, self.errors():
            return self.db.execute(query, arguments).fetchall()

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """One transaction, for this thread alone: written whole or not at all."""
        with self.lock, self.errors():
            try:
                self.db.execute("BEGIN IMMEDIATE")
                yield self.db
                self.db.execute("COMMIT")
            except BaseException:
                if self.db.in_transaction:
                    self.db.rollback()
                raise

    def close(self) -> None:
        """Let go of the file; closing twice is harmless."""
        with self.lock, self.errors():
            self.db.close()

    @contextmanager
    def errors(self) -> Iterator[None]:
        """Say in words of the library what SQLite says."""
        try:
            yield
        except sqlite3.Error as error:
            for sign, cause, hint in _CAUSES:
                if sign in str(error):
                    raise JournalError(f"journal {str(self.path)!r} cannot be used: {cause}", hint=hint) from error
            raise JournalError(f"journal {str(self.path)!r} cannot be used: {error}") from error
