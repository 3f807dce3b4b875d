"""What a journal hands around: the snippet and the receipt of a step, its JSON, and what SQLite says in our words."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from stitch.core import (
    ContextualIntent,
    MemorySnippet,
    Origin,
    ReferenceRewrite,
    Step,
    StepLabels,
    Trust,
)
from stitch.errors import JournalError
from stitch.journal import SqliteJournal
from stitch.journal.entries import (
    Entry,
)
from stitch.journal.sqlite.connection import Connection

INTENT = ContextualIntent(scope="day 1", event_types=("ask",))
LABELS = StepLabels(
    intent=INTENT, made_by="local", summary="short", context="before", trust=Trust.MEDIUM,
    references=(ReferenceRewrite(start=5, end=7, replacement="the inn", antecedent="0"),),
)  # fmt: skip


def entry(step: Step, **about: Any) -> Entry:
    about = {"seq": 7, "tenant": "a", "trajectory": "t", "position": 3, "recorded": 9.5, **about}
    return Entry(step=step, **about)


def test_a_snippet_has_all_of_its_step_and_its_labels() -> None:
    step = Step(id="s", role="user", content="Book it now", session="1", timestamp=None, metadata={"k": 1})
    about: dict[str, Any] = {
        "tenant": "a", "trajectory": "t", "step": "s", "position": 3, "role": "user", "text": "Book it now",
        "session": "1", "recorded": 9.5, "origin": Origin.USER, "metadata": {"k": 1},
    }  # fmt: skip
    bare = MemorySnippet(**about, resolved="Book it now", intent=ContextualIntent(), trust=Trust.HIGH)
    assert entry(step).snippet() == bare
    assert entry(step, labels=LABELS).snippet() == MemorySnippet(
        **about, resolved="Book it [the inn] now", summary="short", context="before", intent=INTENT, trust=Trust.MEDIUM,
        references=LABELS.references, labeled_by="local",
    )  # fmt: skip


def test_what_sqlite_says_is_said_with_what_to_do(tmp_path: Path) -> None:
    file = Connection(tmp_path / "journal.db")
    said = {
        "database or disk is full": (
            "the disk is full", "free some space and repeat the command; nothing accepted is lost"
        ),
        "database is locked": ("another process owns it", "end the other process, or send it your steps"),
        "attempt to write a readonly database": ("it is read-only", "make the folder and its files writable"),
        "unable to open database file": (
            "its folder is missing or not accessible", "check the path and its permissions"
        ),
        "file is not a database": ("it is not a journal", "check the path"),
        "database disk image is malformed": ("it is damaged", "restore the folder from a backup"),
        "disk I/O error": ("the disk reports an error", "check the disk, then repeat the command"),
        "Cannot operate on a closed database.": ("it is closed", ""),
        "no such table: x": ("no such table: x", ""),
    }  # fmt: skip
    for reason, (cause, hint) in said.items():
        with pytest.raises(JournalError) as refused, file.errors():
            raise sqlite3.OperationalError(reason)
        assert refused.value.message == f"journal {str(file.path)!r} cannot be used: {cause}"
        assert refused.value.hint == hint
    assert file.path.stat().st_mode & 0o777 == 0o600
    assert file.rows("SELECT ? + 1", 2) == [(3,)]

    def interrupted() -> None:
        with file.transaction() as db:
            db.execute("CREATE TABLE x (y)")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        interrupted()
    assert file.rows("SELECT name FROM sqlite_master") == []
    with file.transaction() as db:
        db.execute("CREATE TABLE x (y)")
    assert file.rows("SELECT name FROM sqlite_master") == [("x",)]
    file.close()
    file.close()
    with pytest.raises(JournalError, match="it is closed"):
        file.rows("SELECT 1")


def rewritten(old: str, new: str) -> str:
    """What gives the table of steps another text, as a stranger's journal may have it."""
    return (
        f"PRAGMA writable_schema = 1;UPDATE sqlite_master SET sql = replace(sql, '{old}', '{new}') WHERE name = 'steps'"
    )


@pytest.mark.parametrize(
    ("statement", "strange"),
    [
        ("CREATE TABLE other (y)", "table 'other'"),
        ("DROP TABLE records; CREATE VIRTUAL TABLE records USING fts5(text)", "table 'records'"),
        ("CREATE VIEW shown AS SELECT 1", "view 'shown'"),
        ("CREATE TRIGGER ran AFTER INSERT ON steps BEGIN DELETE FROM steps; END", "trigger 'ran'"),
        ("ALTER TABLE records ADD COLUMN twice AS (1 + 1)", "table 'records'"),
        ("CREATE INDEX quick ON steps (abs(position))", "index 'quick'"),
        (rewritten("UNIQUE (trajectory, step)", "UNIQUE (trajectory, step) ON CONFLICT REPLACE"), "table 'steps'"),
        (rewritten("step TEXT NOT NULL", "step TEXT NOT NULL COLLATE NOCASE"), "table 'steps'"),
        (rewritten("digest BLOB NOT NULL", "digest BLOB NOT NULL CHECK (length(digest) < 9)"), "table 'steps'"),
        (rewritten("checksum INTEGER NOT NULL DEFAULT 0", "checksum DEFAULT (random())"), "table 'steps'"),
    ],
)
def test_a_journal_that_holds_what_no_memory_has_is_refused(tmp_path: Path, statement: str, strange: str) -> None:
    path = tmp_path / "journal.db"
    SqliteJournal(path).close()
    with closing(sqlite3.connect(path)) as db:
        db.executescript(statement)
    with pytest.raises(JournalError) as refused:
        SqliteJournal(path)
    before, _, behind = refused.value.message.partition(" it holds ")
    assert (before, behind[-21:]) == (f"journal {str(path)!r} cannot be used:", ", which no memory has")
    assert strange in behind
    assert refused.value.hint == (
        "do not use it if you do not know who made it; restore the memory from a backup of your own"
    )


def test_a_purge_leaves_nothing_in_the_log_of_the_journal(tmp_path: Path) -> None:
    journal = SqliteJournal(tmp_path / "j")
    journal.append_many([Step(role="user", content="x")], tenant="a", trajectory="t", recorded=1.0)
    assert (tmp_path / "j-wal").stat().st_size > 0
    journal.record_purged()
    assert (tmp_path / "j-wal").stat().st_size == 0
    journal.close()
