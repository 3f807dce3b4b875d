"""Versions of a journal in a SQLite file: how the tables of an earlier one become those of today."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from functools import cache
from pathlib import Path
from typing import Any

import orjson
from sqlalchemy.dialects.sqlite import dialect as sqlite_dialect
from sqlalchemy.schema import CreateIndex, CreateTable

from stitch.core import StepState
from stitch.errors import JournalError, StoreMismatchError
from stitch.journal.entries import read_retirement
from stitch.journal.tables import (
    VERSION,
    checksum,
    is_sound,
    metadata,
    named_checksum,
    revision_checksum,
)

_APPLICATION_ID = 0x53544348

_HEADER_BYTES = 100
_VERSION_AT, _APPLICATION_AT = 60, 68

_FIRST = """
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
CREATE TABLE IF NOT EXISTS history (
    number INTEGER PRIMARY KEY, seq INTEGER NOT NULL, at REAL NOT NULL, made_by TEXT NOT NULL,
    payload BLOB NOT NULL, labels BLOB);
CREATE INDEX IF NOT EXISTS history_of ON history (seq);
CREATE TABLE IF NOT EXISTS purges (number INTEGER PRIMARY KEY);
CREATE TABLE IF NOT EXISTS redactions (
    seq INTEGER NOT NULL, kind TEXT NOT NULL, count INTEGER NOT NULL, place TEXT NOT NULL);
CREATE INDEX IF NOT EXISTS redactions_of ON redactions (seq);
"""
"""Version 1. Its last tables came later than the others, and may be missing."""

_SECOND = """
ALTER TABLE states ADD COLUMN retired_at REAL;
ALTER TABLE steps ADD COLUMN checksum INTEGER NOT NULL DEFAULT 0;
ALTER TABLE labels ADD COLUMN checksum INTEGER NOT NULL DEFAULT 0;
ALTER TABLE checkpoints ADD COLUMN merges INTEGER NOT NULL DEFAULT 0;
CREATE TABLE changes (
    number INTEGER PRIMARY KEY, kind TEXT NOT NULL, tenant TEXT NOT NULL, trajectory INTEGER,
    first INTEGER NOT NULL, last INTEGER NOT NULL);
CREATE TABLE projections (name TEXT PRIMARY KEY, change INTEGER NOT NULL);
CREATE TABLE records (
    number INTEGER PRIMARY KEY AUTOINCREMENT, tenant TEXT NOT NULL, kind TEXT NOT NULL, key TEXT NOT NULL,
    payload BLOB NOT NULL);
CREATE INDEX records_of ON records (tenant, kind, key);
CREATE TABLE cuts (trajectory INTEGER PRIMARY KEY, position INTEGER NOT NULL);
CREATE TABLE replies (
    trajectory INTEGER NOT NULL, request BLOB NOT NULL, reply BLOB NOT NULL, PRIMARY KEY (trajectory, request));
CREATE TABLE next_seq (seq INTEGER NOT NULL);
INSERT INTO next_seq SELECT coalesce(max(seq), 0) + 1 FROM steps;
UPDATE steps SET checksum = named_checksum(step, payload);
UPDATE labels SET checksum = checksum(labels);
"""

_THIRD = """
ALTER TABLE history ADD COLUMN checksum INTEGER NOT NULL DEFAULT 0;
DROP TABLE unflushed;
CREATE TABLE erasers (number INTEGER PRIMARY KEY, tenant BLOB NOT NULL UNIQUE, key BLOB NOT NULL);
CREATE TABLE erased (owner INTEGER NOT NULL, digest BLOB NOT NULL, PRIMARY KEY (owner, digest)) WITHOUT ROWID;
"""

_FOURTH = """
ALTER TABLE records ADD COLUMN checksum INTEGER NOT NULL DEFAULT 0;
ALTER TABLE checkpoints ADD COLUMN checksum INTEGER NOT NULL DEFAULT 0;
UPDATE records SET checksum = named_checksum(key, payload);
UPDATE checkpoints SET checksum = checksum(session, inventory);
"""

_FIFTH = """
ALTER TABLE trajectories ADD COLUMN learned INTEGER NOT NULL DEFAULT 0;
UPDATE trajectories SET learned = 1 WHERE number IN (SELECT trajectory FROM checkpoints);
UPDATE history SET checksum = revision_checksum(seq, at, made_by, payload, labels);
"""
"""Whether there has to be a checkpoint of a trajectory: one that somebody takes away is missed."""

_PAGE = 512


def check_version(path: Path) -> None:
    """Refuse a journal of a later version by the first bytes of its file; nothing is opened or written.

    Raises:
        StoreMismatchError: It is one.
        JournalError: It is no journal.
    """
    try:
        with path.open("rb") as file:
            header = file.read(_HEADER_BYTES)
    except (FileNotFoundError, NotADirectoryError):
        return
    except OSError as error:
        raise JournalError(
            f"journal {str(path)!r} cannot be used: its folder is missing or not accessible",
            hint="check the path and its permissions",
        ) from error
    if not header:
        return
    if len(header) < _HEADER_BYTES or not header.startswith(b"SQLite format 3\0"):
        raise _no_journal(path)
    refuse_later(str(path), int.from_bytes(header[_VERSION_AT : _VERSION_AT + 4], "big"))


def refuse_later(name: str, version: int) -> None:
    """Refuse a version that only a later library reads.

    Raises:
        StoreMismatchError: It is one.
    """
    if version > VERSION:
        raise StoreMismatchError(
            f"journal {name!r} is of journal version {version}, this library reads {VERSION}",
            hint="open it with the version of stitch-memory that wrote it, or a later one",
        )


def bring_up(db: sqlite3.Connection, path: Path) -> bool:
    """Make the tables of a new journal, or those of an earlier version into this one's; return whether it did.

    Raises:
        StoreMismatchError: The journal is of a later version.
        JournalError: It is no journal.
    """
    (version,) = db.execute("PRAGMA user_version").fetchone()
    refuse_later(str(path), version)
    (application,) = db.execute("PRAGMA application_id").fetchone()
    if application != _APPLICATION_ID and db.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone():
        raise _no_journal(path)
    _refuse_strange_parts(db, path)
    if version == VERSION:
        return False
    db.execute("BEGIN IMMEDIATE")
    try:
        if version == 0:
            for statement in _today():
                db.execute(statement)
        else:
            _migrate(db, version)
        db.execute(f"PRAGMA user_version = {VERSION}")
        db.execute(f"PRAGMA application_id = {_APPLICATION_ID}")
        db.execute("COMMIT")
    except BaseException:
        db.rollback()
        raise
    return True


@cache
def _today() -> tuple[str, ...]:
    """Statements that make a new journal."""
    dialect = sqlite_dialect()
    tables = [str(CreateTable(table).compile(dialect=dialect)).strip() for table in metadata.sorted_tables]
    indexes = [index for table in metadata.sorted_tables for index in table.indexes]
    made = [str(CreateIndex(index).compile(dialect=dialect)) for index in indexes]
    return (*tables, *made, "INSERT INTO next_seq VALUES (1)")


def _migrate(db: sqlite3.Connection, version: int) -> None:
    _know_checksums(db)
    if version < 2:
        for statement in _FIRST.split(";"):
            if "IF NOT EXISTS" in statement:
                db.execute(statement)
        _run(db, _SECOND)
        _move_times(db)
        _add_changes(db)
    if version < 3:
        _run(db, _THIRD)
    if version < 4:
        _run(db, _FOURTH)
    if version < 5:
        _run(db, _FIFTH)
    if version == 6:
        _expand_labels(db)


def _run(db: sqlite3.Connection, script: str) -> None:
    for statement in script.split(";"):
        db.execute(statement)


def _refuse_strange_parts(db: sqlite3.Connection, path: Path) -> None:
    """Refuse what this library never makes, and SQLite would run or heed: triggers, views, other tables and indexes.

    A table counts as another if one word of it is: a constraint can hide or replace rows, a default can run a function.

    Raises:
        JournalError: There is any.
    """
    parts = db.execute("SELECT type, name, sql FROM sqlite_master WHERE sql IS NOT NULL").fetchall()
    known = _known_parts()
    strange = {f"{kind} {name!r}" for kind, name, sql in parts if (kind, name, " ".join(sql.split())) not in known}
    if strange:
        raise JournalError(
            f"journal {str(path)!r} cannot be used: it holds {', '.join(sorted(strange))}, which no memory has",
            hint="do not use it if you do not know who made it; restore the memory from a backup of your own",
        )


@cache
def _known_parts() -> frozenset[tuple[str, str, str]]:
    """Kind, name and text of all that a journal of any version has, and what SQLite adds for `ANALYZE`."""
    known = set[tuple[str, str, str]]()
    earlier = ";".join((_FIRST, _SECOND, _THIRD, _FOURTH, _FIFTH, "ANALYZE"))
    for statements in (earlier.split(";"), _today()):
        with closing(sqlite3.connect(":memory:")) as db:
            _know_checksums(db)
            for statement in statements:
                db.execute(statement)
                parts = db.execute("SELECT type, name, sql FROM sqlite_master WHERE sql IS NOT NULL")
                known |= {(kind, name, " ".join(sql.split())) for kind, name, sql in parts}
    return frozenset(known)


def _no_journal(path: Path) -> JournalError:
    return JournalError(f"journal {str(path)!r} cannot be used: it is not a journal", hint="check the path")


def _move_times(db: sqlite3.Connection) -> None:
    """Move the times of retirement out of the reasons."""
    rows = db.execute("SELECT seq, reason FROM states WHERE state = ?", (StepState.RETIRED.value,)).fetchall()
    moved = [(*read_retirement(note), seq) for seq, note in rows]
    db.executemany("UPDATE states SET retired_at = ?, reason = ? WHERE seq = ?", moved)


def _know_checksums(db: sqlite3.Connection) -> None:
    """Let statements ask for checksums."""
    for name, made, arguments in (("named", named_checksum, 2), ("revision", revision_checksum, 5)):
        db.create_function(f"{name}_checksum", arguments, made, deterministic=True)
    db.create_function("checksum", -1, checksum, deterministic=True)


def _expand_labels(db: sqlite3.Connection) -> None:
    """Rows of labels had no names of fields; what is damaged stays as it is, and is told by `verify`."""
    labels = (
        "SELECT labels.seq, labels.labels, labels.checksum, s.step, s.payload, s.checksum FROM labels"
        " JOIN steps s USING (seq) WHERE labels.seq > ? ORDER BY labels.seq LIMIT ?"
    )
    for seq, made, check, step, payload, step_check in _in_pages(db, labels):
        if is_sound(check, made) and is_sound(step_check, str(step).encode(), payload):
            row = expand(made, payload)
            db.execute("UPDATE labels SET labels = ?, checksum = ? WHERE seq = ?", (row, checksum(row), seq))
    history = (
        "SELECT number, seq, at, made_by, payload, labels, checksum FROM history"
        " WHERE number > ? AND labels IS NOT NULL ORDER BY number LIMIT ?"
    )
    for number, seq, at, by, step, made, check in _in_pages(db, history):
        written = isinstance(at, float) and isinstance(by, str) and isinstance(step, bytes) and isinstance(made, bytes)
        if written and revision_checksum(seq, at, by, step, made) == check:
            row = expand(made, step)
            changed = row, revision_checksum(seq, at, by, step, row), number
            db.execute("UPDATE history SET labels = ?, checksum = ? WHERE number = ?", changed)


def _in_pages(db: sqlite3.Connection, query: str) -> Iterator[tuple[Any, ...]]:
    """The rows of a query, in the order of their first column, which may be changed meanwhile."""
    last = 0
    while rows := db.execute(query, (last, _PAGE)).fetchall():
        yield from rows
        last = rows[-1][0]


def _add_changes(db: sqlite3.Connection) -> None:
    """Record a change for each state that steps have reached, as if it had just come about."""
    conditions = (
        ("accepted", "1"),
        ("labeled", "seq IN (SELECT seq FROM labels)"),
        ("corrected", "seq IN (SELECT seq FROM history)"),
        ("retired", "seq IN (SELECT seq FROM states WHERE state = 'retired')"),
    )
    for kind, condition in conditions:
        # Steps of one trajectory in a row have the same distance between their number and their place in it.
        db.execute(
            "INSERT INTO changes (kind, tenant, trajectory, first, last)"
            " SELECT ?, t.tenant, s.trajectory, min(s.seq), max(s.seq) FROM ("
            "SELECT seq, trajectory, seq - row_number() OVER (PARTITION BY trajectory ORDER BY seq) AS island"
            f" FROM steps WHERE {condition}) s JOIN trajectories t ON t.number = s.trajectory"
            " GROUP BY s.trajectory, s.island ORDER BY min(s.seq)",
            (kind,),
        )


# Labels as rows of version 6 have them: JSON lists without names of fields, and without the words of their step.
#
#     [scope, event types, entity types, targets, made by, trust, summary, context, references, mentions, asks]
#
# What is not there is null, or left out at the end. A summary that says who did what in which scope, and then words of
# the step, is where these words begin and end in its content. A reference is a list of its fields, of which the last
# may be missing; mentions are one list, an entity type and a value in turn. A row that is no list is JSON as today.

_REFERENCE = ("start", "end", "replacement", "antecedent", "confidence")
_AS_IT_IS = {"made_by": 4, "context": 7, "asks": 10, "trust": 5}
_INTENT = ("scope", "event_types", "entity_types", "targets")
_SUMMARY, _REFERENCES, _MENTIONS = 6, 8, 9
_LENGTH = 11


def expand(row: bytes, step: bytes) -> bytes:
    """The labels of a row as JSON; of a row that cannot be read, as it is."""
    try:
        made = orjson.loads(row)
        return orjson.dumps(_labels(made, orjson.loads(step))) if isinstance(made, list) else row
    except (ValueError, KeyError, TypeError, IndexError, AttributeError):
        return row


def _labels(row: list[Any], step: dict[str, Any]) -> dict[str, Any]:
    row += [None] * (_LENGTH - len(row))
    made: dict[str, Any] = {
        "intent": {name: value for name, value in zip(_INTENT, row, strict=False) if value is not None},
        "made_by": row[_AS_IT_IS["made_by"]],
    }
    if (references := row[_REFERENCES]) is not None:
        named = (zip(_REFERENCE, values, strict=False) for values in references)
        made["references"] = [{name: value for name, value in pairs if value is not None} for pairs in named]
    if (summary := row[_SUMMARY]) is not None:
        made["summary"] = summary if isinstance(summary, str) else _summary(summary, row, step)
    if (mentions := row[_MENTIONS]) is not None:
        pairs = zip(mentions[::2], mentions[1::2], strict=True)
        made["mentions"] = [{"entity_type": kind, "value": value} for kind, value in pairs]
    for name in ("context", "asks", "trust"):
        if (value := row[_AS_IT_IS[name]]) is not None:
            made[name] = value
    return made


def _summary(place: list[int], row: list[Any], step: dict[str, Any]) -> str:
    head = f"{step['role']}: {' and '.join(row[1] or ())} ({row[0]})"
    return f"{head}: {step['content'][place[0] : place[1]]}" if place else head
