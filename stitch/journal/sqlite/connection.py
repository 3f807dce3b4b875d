"""One connection to the file of a journal, shared by all threads of the process that owns it."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from stitch.core.files import private
from stitch.core.process import ProcessLock, in_each_fork, never_free
from stitch.errors import ForkedProcessError, InputError, JournalError

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

_INHERITED = set[Path]()
"""Files that were open when this process was forked: SQLite goes on to count the parent's locks as its own."""

PAGE = 512
"""Rows that are read at a time: an iteration holds no more, and no lock between them."""


class Connection:
    """A connection to a SQLite file. Safe to use from several threads, refused in a fork.

    Raises:
        ForkedProcessError: The process of which this is a fork had it open.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.lock = ProcessLock(f"the journal {str(path)!r}")
        if path.absolute() in _INHERITED:
            raise ForkedProcessError(
                f"the journal {str(path)!r} was open in the process of which this one is a fork",
                hint="open it in a process that was forked before, or started anew (spawn)",
            )
        if str(path) != ":memory:":
            with suppress(OSError):  # SQLite says it in its own words
                os.close(private(str(path), os.O_RDWR | os.O_CREAT))
        with self.errors():
            self.db = sqlite3.connect(path, timeout=0.25, isolation_level=None, check_same_thread=False)
        self._is_open = True
        in_each_fork(self._leave_to_parent)

    def _leave_to_parent(self) -> None:
        """In a fork: to close the file there, even by ending, would delete the parent's log."""
        if not self._is_open:
            return
        never_free(self.db)
        _INHERITED.add(self.path.absolute())

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
            self._is_open = False

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
        except UnicodeEncodeError as error:  # a name that somebody asks for
            raise InputError(f"{error.object[:60]!r} is no text") from None
        except OverflowError:
            raise InputError("a number is larger than any that a journal holds") from None
