"""Versions of a journal in a SQLite file: how the tables of an earlier one become those of today."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import orjson
from sqlalchemy.dialects.sqlite import dialect as sqlite_dialect
from sqlalchemy.schema import CreateColumn, CreateIndex, CreateTable

from stitch.core import ChangeKind, StepState
from stitch.errors import JournalError, StoreMismatchError
from stitch.journal.database import SQLITE, Session
from stitch.journal.entries import read_retirement
from stitch.journal.rows import note_changes
from stitch.journal.tables import VERSION, checksum, is_sound, metadata, named_checksum, revision_checksum

_APPLICATION_ID = 0x53544348

_HEADER_BYTES = 100
_VERSION_AT = 60

_GONE = "unflushed"
"""The table of earlier versions that this one has not."""
_WORDS = f"""
create table index on where stored integer bigint real double text blob not null default 0 primary key unique
autoincrement without rowid {_GONE} ordinal sqlite_sequence
sqlite_stat1 tbl idx stat sqlite_stat4 neq nlt ndlt sample
"""
"""Words in what makes tables of any version beside names of today, and those that SQLite adds by itself."""
_PLAIN, _WORD = re.compile(r"[\w\s(),'<>\"]*"), re.compile(r"\w+")

_BECAME = {
    ChangeKind.ACCEPTED: "SELECT seq FROM steps",
    ChangeKind.LABELED: "SELECT seq FROM labels",
    ChangeKind.CORRECTED: "SELECT DISTINCT seq FROM history",
    ChangeKind.RETIRED: "SELECT seq FROM states WHERE state = 'retired'",
}
_FILLED = (
    (2, "INSERT INTO next_seq SELECT coalesce(max(seq), 0) + 1 FROM steps"),
    (2, "UPDATE steps SET checksum = named_checksum(step, payload)"),
    (2, "UPDATE labels SET checksum = checksum(labels)"),
    (4, "UPDATE records SET checksum = named_checksum(key, payload)"),
    (4, "UPDATE checkpoints SET checksum = checksum(session, inventory)"),
    (5, "UPDATE trajectories SET learned = 1 WHERE number IN (SELECT trajectory FROM checkpoints)"),
    (5, "UPDATE history SET checksum = revision_checksum(seq, at, made_by, payload, labels)"),
    (7, """
UPDATE labels SET (labels, checksum) = (
    SELECT made, checksum(made) FROM (SELECT expanded(labels.labels, payload) AS made FROM steps WHERE seq = labels.seq)
) WHERE is_sound(checksum, labels) AND seq IN (SELECT seq FROM steps WHERE is_sound(checksum, step, payload))
"""),
    (7, """
UPDATE history SET (labels, checksum) = (
    SELECT made, revision_checksum(history.seq, at, made_by, payload, made)
    FROM (SELECT expanded(history.labels, history.payload) AS made)
) WHERE labels IS NOT NULL AND is_sound_revision(checksum, seq, at, made_by, payload, labels)
"""),
)  # fmt: skip
"""What new columns and tables say of the rows that are there: the version that has them, and how they are filled."""


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
        _make_what_lacks(db)
        _fill(db, version)
        db.execute(f"PRAGMA user_version = {VERSION}")
        db.execute(f"PRAGMA application_id = {_APPLICATION_ID}")
        db.execute("COMMIT")
    except BaseException:
        db.rollback()
        raise
    return True


class _Made(NamedTuple):
    """Statements that make a table of today, each of its columns in an earlier one, and its indexes."""

    table: str
    columns: dict[str, str]
    indexes: dict[str, str]


@cache
def _today() -> dict[str, _Made]:
    """The tables of this version by name; SQLAlchemy takes milliseconds to write them."""

    def sql(part: Any) -> str:
        return str(part.compile(dialect=sqlite_dialect())).strip()

    return {
        table.name: _Made(
            sql(CreateTable(table)),
            {each.name: f"ALTER TABLE {table.name} ADD COLUMN {sql(CreateColumn(each))}" for each in table.columns},
            {str(each.name): sql(CreateIndex(each)) for each in table.indexes},
        )
        for table in metadata.sorted_tables
    }


def _make_what_lacks(db: sqlite3.Connection) -> None:
    """Make tables, columns and indexes that a journal has not; of a new one that is all."""
    there = {name for (name,) in db.execute("SELECT name FROM sqlite_master")}
    for name, made in _today().items():
        if name not in there:
            db.execute(made.table)
        known = {column for _, column, *_ in db.execute(f"PRAGMA table_info({name})")}
        lacking = [statement for column, statement in made.columns.items() if column not in known]
        lacking += [statement for index, statement in made.indexes.items() if index not in there]
        for statement in lacking:
            db.execute(statement)
    db.execute(f"DROP TABLE IF EXISTS {_GONE}")


def _fill(db: sqlite3.Connection, version: int) -> None:
    """Fill what an earlier version has not; what is damaged stays so, and is told by `verify`."""
    functions: dict[str, Callable[..., Any]] = {
        "checksum": checksum, "named_checksum": named_checksum, "revision_checksum": revision_checksum,
        "is_sound": _is_sound, "is_sound_revision": _is_sound_revision, "expanded": _expanded,
    }  # fmt: skip
    for name, made in functions.items():
        db.create_function(name, -1, made, deterministic=True)
    for first, statement in _FILLED:
        if version < first:
            db.execute(statement)
    if version < 2:
        # Times of retirement stood in the reasons, and nobody had noted what became of steps.
        rows = db.execute("SELECT seq, reason FROM states WHERE state = ?", (StepState.RETIRED.value,)).fetchall()
        moved = [(*read_retirement(note), seq) for seq, note in rows]
        db.executemany("UPDATE states SET retired_at = ?, reason = ? WHERE seq = ?", moved)
        for kind, steps in _BECAME.items():
            note_changes(Session(db, SQLITE), kind, [seq for (seq,) in db.execute(steps)])


def _refuse_strange_parts(db: sqlite3.Connection, path: Path) -> None:
    """Refuse what this library never makes, and SQLite would run or heed: triggers, views, other tables and indexes.

    A table counts as another if one word of it does: a constraint can replace rows, a default can run a function.

    Raises:
        JournalError: There is any.
    """
    parts = db.execute("SELECT type, name, sql FROM sqlite_master WHERE sql IS NOT NULL").fetchall()
    known = _known_words()
    strange = sorted(
        f"{kind} {name!r}"
        for kind, name, sql in parts
        if kind not in ("table", "index")
        or not _PLAIN.fullmatch(sql)
        or not known.issuperset(_WORD.findall(sql.lower()))
    )
    if strange:
        raise JournalError(
            f"journal {str(path)!r} cannot be used: it holds {', '.join(strange)}, which no memory has",
            hint="do not use it if you do not know who made it; restore the memory from a backup of your own",
        )


@cache
def _known_words() -> frozenset[str]:
    """The words in what makes the tables and indexes of any version."""
    made = _today().values()
    return frozenset([*_today(), *(word for each in made for word in (*each.columns, *each.indexes)), *_WORDS.split()])


def _no_journal(path: Path) -> JournalError:
    return JournalError(f"journal {str(path)!r} cannot be used: it is not a journal", hint="check the path")


def _is_sound(check: int, *parts: object) -> bool:
    return is_sound(check, *(part.encode() if isinstance(part, str) else part for part in parts))


def _is_sound_revision(check: int, *parts: Any) -> bool:
    try:
        return revision_checksum(*parts) == check
    except (TypeError, AttributeError, ValueError):
        return False


# Labels as rows of version 6 have them: JSON lists without names of fields, and without the words of their step.
#
# What is not there is null, or left out at the end. A summary that says who did what in which scope, and then words of
# the step, is where these words begin and end in its content. A reference is a list of its fields, of which the last
# may be missing; mentions are one list, an entity type and a value in turn. A row that is no list is JSON as today.

_INTENT = ("scope", "event_types", "entity_types", "targets")
_LABELS = (*_INTENT, "made_by", "trust", "summary", "context", "references", "mentions", "asks")
_REFERENCE = ("start", "end", "replacement", "antecedent", "confidence")


def _expanded(row: bytes, step: bytes) -> bytes:
    """The labels of a row as JSON; of a row that cannot be read, as it is."""
    try:
        values = orjson.loads(row)
        if not isinstance(values, list):
            return row
        made = _named(_LABELS, values)
        made["intent"] = {name: made.pop(name) for name in _INTENT if name in made}
        if "references" in made:
            made["references"] = [_named(_REFERENCE, each) for each in made["references"]]
        if mentions := made.get("mentions"):
            pairs = zip(mentions[::2], mentions[1::2], strict=True)
            made["mentions"] = [{"entity_type": kind, "value": value} for kind, value in pairs]
        if isinstance(place := made.get("summary"), list):
            said = orjson.loads(step)
            head = f"{said['role']}: {' and '.join(values[1] or ())} ({values[0]})"
            made["summary"] = f"{head}: {said['content'][place[0] : place[1]]}" if place else head
        return orjson.dumps(made)
    except (ValueError, KeyError, TypeError, IndexError, AttributeError):
        return row


def _named(names: Iterable[str], values: list[Any]) -> dict[str, Any]:
    return {name: value for name, value in zip(names, values, strict=False) if value is not None}
