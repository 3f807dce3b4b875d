"""Tables of a journal, the same in SQLite and PostgreSQL, and the checksums of their rows."""

from __future__ import annotations

import zlib

from sqlalchemy import (
    BigInteger,
    Column,
    Double,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
    UniqueConstraint,
    text,
)

VERSION = 7
"""Of the tables. A journal of an earlier one is brought to this when it is opened; one of a later one is refused."""

_WHOLE = BigInteger().with_variant(Integer(), "sqlite")
"""64 bits in both: SQLite numbers rows by what is called `INTEGER` alone."""


def _key(name: str, *, counted: bool = False) -> Column[int]:
    return Column(name, _WHOLE, primary_key=True, autoincrement=counted)


def _whole(name: str, *, default: int | None = None) -> Column[int]:
    return Column(name, _WHOLE, nullable=False, server_default=None if default is None else text(str(default)))


def _words(name: str) -> Column[str]:
    return Column(name, Text, nullable=False)


def _bytes(name: str) -> Column[bytes]:
    return Column(name, LargeBinary, nullable=False)


def _seconds(name: str) -> Column[float]:
    return Column(name, Double, nullable=False)


metadata = MetaData()
trajectories = Table(
    "trajectories", metadata, _key("number"), _words("tenant"), _words("name"),
    _whole("learned", default=0),  # whether there has to be a checkpoint: one that somebody takes away is missed
    UniqueConstraint("tenant", "name"),
)  # fmt: skip
steps = Table(
    "steps", metadata, _key("seq"), _whole("trajectory"), _whole("position"), _words("step"), _seconds("recorded"),
    _bytes("digest"), _bytes("payload"), _whole("checksum", default=0),
    UniqueConstraint("trajectory", "step"), UniqueConstraint("trajectory", "position"),
)  # fmt: skip
labels = Table("labels", metadata, _key("seq"), _bytes("labels"), _whole("checksum", default=0))
states = Table("states", metadata, _key("seq"), _words("state"), _words("reason"), Column("retired_at", Double))
checkpoints = Table(
    "checkpoints", metadata, _key("trajectory"), _words("labeler"), _whole("position"), _bytes("session"),
    _bytes("inventory"), _whole("merges", default=0), _whole("checksum", default=0),
)  # fmt: skip
history = Table(
    "history", metadata, _key("number", counted=True), _whole("seq"), _seconds("at"), _words("made_by"),
    _bytes("payload"), Column("labels", LargeBinary), _whole("checksum", default=0),
)  # fmt: skip
redactions = Table("redactions", metadata, _whole("seq"), _words("kind"), _whole("count"), _words("place"))
purges = Table("purges", metadata, _key("number", counted=True))
changes = Table(
    "changes", metadata, _key("number", counted=True), _words("kind"), _words("tenant"), Column("trajectory", _WHOLE),
    _whole("first"), _whole("last"),
)  # fmt: skip
projections = Table("projections", metadata, Column("name", Text, primary_key=True), _whole("change"))
records = Table(
    "records", metadata, _key("number", counted=True), _words("tenant"), _words("kind"), _words("key"),
    _bytes("payload"), _whole("checksum", default=0), sqlite_autoincrement=True,
)  # fmt: skip
cuts = Table("cuts", metadata, _key("trajectory"), _whole("position"))
replies = Table(
    "replies", metadata, _key("trajectory"), Column("request", LargeBinary, primary_key=True), _bytes("reply")
)
next_seq = Table("next_seq", metadata, _whole("seq"))
erasers = Table(
    "erasers", metadata, _key("number", counted=True), Column("tenant", LargeBinary, nullable=False, unique=True),
    _bytes("key"),
)  # fmt: skip
erased = Table(
    "erased", metadata, _key("owner"), Column("digest", LargeBinary, primary_key=True), sqlite_with_rowid=False
)
NOT_STORED = text("state <> 'stored'")
unfinished = Index("unfinished", states.c.state, sqlite_where=NOT_STORED)
"""In PostgreSQL of the same rows: to say so here would load what SQLAlchemy has for it, wherever a journal is."""
Index("history_of", history.c.seq)
Index("redactions_of", redactions.c.seq)
Index("records_of", records.c.tenant, records.c.kind, records.c.key)

OF_A_STEP = (steps, labels, states, history, redactions)
"""The tables whose rows are of one step each, named by `seq`."""

COUNTED = tuple(table for table in metadata.sorted_tables if table.autoincrement_column is not None)
"""The tables whose rows the database numbers."""


def checksum(*parts: bytes) -> int:
    """Checksum by which damage of a row is known."""
    value = 0
    for part in parts:
        value = zlib.crc32(part, value)
    return value


def is_sound(check: int, *parts: object) -> bool:
    """Whether columns are as they were when their checksum was made."""
    written = [part for part in parts if isinstance(part, bytes)]
    return len(written) == len(parts) and checksum(*written) == check


def named_checksum(name: str, payload: bytes) -> int:
    """The checksum of a row of `steps` or `records`, by its id or key."""
    return checksum(name.encode(), payload)


def revision_checksum(seq: int, at: float, by: str, payload: bytes, labels: bytes | None) -> int:
    """The checksum of a row of `history`: of which step it is and when it ended, too."""
    return checksum(f"{seq} {float(at)!r} ".encode(), by.encode(), payload, labels or b"")
