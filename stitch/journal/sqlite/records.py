"""What a journal keeps beside steps: entries of other kinds, and how far whoever derives something has come."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Iterator, Sequence

from typing_extensions import override

from stitch.errors import ConflictError
from stitch.journal.protocol import CopyableJournal, DamagedRecordError, NewRecord, Record
from stitch.journal.sqlite.connection import Connection
from stitch.journal.sqlite.reading import PAGE
from stitch.journal.sqlite.schema import is_sound, record_checksum
from stitch.journal.sqlite.writing import GIVEN

_DAMAGED = "`stitch verify --repair` makes themes anew; restore trees from a backup"


class SqliteRecords(CopyableJournal):
    """The records and projections of a journal; the rest of it is `SqliteJournal`."""

    _file: Connection

    @override
    def projected(self, name: str) -> int:
        rows = self._file.rows("SELECT change FROM projections WHERE name = ?", name)
        return int(rows[0][0]) if rows else 0

    @override
    def record_projected(self, name: str, change: int) -> None:
        with self._file.transaction() as db:
            db.execute("INSERT OR REPLACE INTO projections VALUES (?, ?)", (name, change))

    @override
    def append_record(self, tenant: str, *, kind: str, key: str, payload: bytes) -> int:
        return self.append_records(tenant, [NewRecord(kind, key, payload)])[0]

    @override
    def append_records(
        self, tenant: str, records: Sequence[NewRecord], *, last: int | None = None, instead_of: Collection[str] = ()
    ) -> list[int]:
        newest = "SELECT coalesce(max(number), 0) FROM records WHERE tenant = ? AND kind = ? AND key = ?"
        numbers = []
        with self._file.transaction() as db:
            if last is not None and records:
                (number,) = db.execute(newest, (tenant, records[0].kind, records[0].key)).fetchone()
                if number != last:
                    raise ConflictError(f"record {number} of {records[0].key!r} came after record {last}")
            if instead_of and records:
                _erase(db, tenant, kind=records[0].kind, keys=json.dumps(list(instead_of)))
            for record in records:
                row = db.execute(
                    "INSERT INTO records (tenant, kind, key, payload, checksum) VALUES (?, ?, ?, ?, ?)",
                    (tenant, *record, record_checksum(record.key, record.payload)),
                )
                numbers.append(row.lastrowid or 0)
        return numbers

    @override
    def record_keys(self, tenant: str, *, kind: str) -> list[str]:
        query = "SELECT key FROM records WHERE tenant = ? AND kind = ? GROUP BY key ORDER BY min(number)"
        return [key for (key,) in self._file.rows(query, tenant, kind)]

    @override
    def records(self, tenant: str, *, kind: str, key: str | None = None, after: int = 0) -> Iterator[Record]:
        # of one key, the index leads to the records after a number at once, however many there are before it
        of_key, keys = ("", ()) if key is None else (" AND key = ?", (key,))
        query = (
            "SELECT number, kind, key, payload, checksum FROM records"
            f" WHERE tenant = ? AND kind = ?{of_key} AND number > ? ORDER BY number LIMIT ?"
        )
        while rows := self._file.rows(query, tenant, kind, *keys, after, PAGE):
            for *fields, check in rows:
                record = Record(*fields)
                if not is_sound(check, record.key.encode(), record.payload):
                    raise DamagedRecordError(
                        f"record {record.number} of the {kind} is damaged in the journal", hint=_DAMAGED
                    )
                yield record
            after = rows[-1][0]

    @override
    def erase_records(self, tenant: str, *, kind: str, key: str | Collection[str] | None = None) -> int:
        keys = None if key is None else json.dumps([key] if isinstance(key, str) else list(key))
        with self._file.transaction() as db:
            return _erase(db, tenant, kind=kind, keys=keys)


def _erase(db: sqlite3.Connection, tenant: str, *, kind: str, keys: str | None) -> int:
    query = f"DELETE FROM records WHERE tenant = ? AND kind = ? AND (? IS NULL OR key IN {GIVEN})"
    count = db.execute(query, (tenant, kind, keys, keys)).rowcount
    if count:
        db.execute("INSERT INTO purges VALUES (NULL)")
    return count
