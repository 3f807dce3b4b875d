"""Records of a journal beside steps: entries of other kinds, and positions of projections."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Iterator, Sequence

from stitch.errors import ConflictError
from stitch.journal.entries import DamagedRecordError, NewRecord, Record
from stitch.journal.sqlite.connection import PAGE, Connection
from stitch.journal.sqlite.schema import is_sound, record_checksum
from stitch.journal.sqlite.writing import GIVEN

_DAMAGED = "`stitch verify --repair` makes themes anew; restore trees from a backup"


class SqliteRecords:
    """The records and projections of a journal; the rest of it is `Journal`."""

    _file: Connection

    def projected(self, name: str) -> int:
        """The change up to which a projection has said to hold everything; 0 for one that has said nothing."""
        rows = self._file.rows("SELECT change FROM projections WHERE name = ?", name)
        return int(rows[0][0]) if rows else 0

    def record_projected(self, name: str, change: int) -> None:
        """Note that a projection holds everything up to a change."""
        with self._file.transaction() as db:
            db.execute("INSERT OR REPLACE INTO projections VALUES (?, ?)", (name, change))

    def append_record(self, tenant: str, *, kind: str, key: str, payload: bytes) -> int:
        """Keep an entry that is no step; return its number. Records are read back as they were given."""
        return self.append_records(tenant, [NewRecord(kind, key, payload)])[0]

    def append_records(
        self, tenant: str, records: Sequence[NewRecord], *, last: int | None = None, instead_of: Collection[str] = ()
    ) -> list[int]:
        """Keep several records at once, all or none; return their numbers.

        Args:
            tenant: Whose.
            records: What to keep, in order.
            last: The number of the last record of the first one's kind and key, as whoever writes knows it; 0 if there
                is none. Any is right if None.
            instead_of: Keys of the first one's kind whose records are erased in the same stroke, as by `erase_records`.

        Raises:
            ConflictError: Another one came after `last`; nothing was kept.
        """
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

    def record_keys(self, tenant: str, *, kind: str) -> list[str]:
        """The keys of a tenant's records of a kind, each once, in the order of their first."""
        query = "SELECT key FROM records WHERE tenant = ? AND kind = ? GROUP BY key ORDER BY min(number)"
        return [key for (key,) in self._file.rows(query, tenant, kind)]

    def records(self, tenant: str, *, kind: str, key: str | None = None, after: int = 0) -> Iterator[Record]:
        """Iterate over a tenant's records of a kind, or of one key, after a number, in the order of their coming."""
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

    def erase_records(self, tenant: str, *, kind: str, key: str | Collection[str] | None = None) -> int:
        """Erase a tenant's records of a kind, or of some keys; return how many there were. Bytes go as steps' do."""
        keys = None if key is None else json.dumps([key] if isinstance(key, str) else list(key))
        with self._file.transaction() as db:
            return _erase(db, tenant, kind=kind, keys=keys)


def _erase(db: sqlite3.Connection, tenant: str, *, kind: str, keys: str | None) -> int:
    query = f"DELETE FROM records WHERE tenant = ? AND kind = ? AND (? IS NULL OR key IN {GIVEN})"
    count = db.execute(query, (tenant, kind, keys, keys)).rowcount
    if count:
        db.execute("INSERT INTO purges VALUES (NULL)")
    return count
