"""What a journal keeps beside steps: entries of other kinds, and how far whoever derives something has come."""

from __future__ import annotations

from collections.abc import Iterator

from typing_extensions import override

from stitch.journal.protocol import CopyableJournal, Record
from stitch.journal.sqlite.connection import Connection
from stitch.journal.sqlite.reading import PAGE


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
        with self._file.transaction() as db:
            row = (tenant, kind, key, payload)
            number = db.execute("INSERT INTO records (tenant, kind, key, payload) VALUES (?, ?, ?, ?)", row).lastrowid
        return number or 0

    @override
    def records(self, tenant: str, *, kind: str, key: str | None = None, after: int = 0) -> Iterator[Record]:
        query = (
            "SELECT number, kind, key, payload FROM records"
            " WHERE number > ? AND tenant = ? AND kind = ? AND (? IS NULL OR key = ?) ORDER BY number LIMIT ?"
        )
        while rows := self._file.rows(query, after, tenant, kind, key, key, PAGE):
            yield from (Record(*row) for row in rows)
            after = rows[-1][0]

    @override
    def erase_records(self, tenant: str, *, kind: str, key: str | None = None) -> int:
        with self._file.transaction() as db:
            query = "DELETE FROM records WHERE tenant = ? AND kind = ? AND (? IS NULL OR key = ?)"
            count = db.execute(query, (tenant, kind, key, key)).rowcount
            if count:
                db.execute("INSERT INTO purges VALUES (NULL)")
        return count
