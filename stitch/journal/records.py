"""Records of a journal beside steps: entries of other kinds, and positions of projections."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from stitch.errors import ConflictError
from stitch.journal.database import Session
from stitch.journal.entries import DamagedRecordError, NewRecord, Record
from stitch.journal.progress import owe_purge
from stitch.journal.rows import Part, given
from stitch.journal.tables import is_sound, named_checksum, projections, records

_DAMAGED = "`stitch verify --repair` makes themes anew; restore trees from a backup"
_OF_KIND = "tenant = :tenant AND kind = :kind"
# of one key, the index leads to the records after a number at once, however many there are before it
_OF_KEY = f"{_OF_KIND} AND key = :key"
_OF_KEYS = f"{_OF_KIND} AND key IN :keys"
_LAST = "SELECT coalesce(max(number), 0) FROM records"


class Records(Part):
    """Entries that are no steps are kept, and positions of projections."""

    def projected(self, name: str) -> int:
        """The change up to which a projection has said to hold everything; 0 for one that has said nothing."""
        return int(self._db.value("SELECT change FROM projections WHERE name = :name", name=name) or 0)

    def record_projected(self, name: str, change: int) -> None:
        """Note that a projection holds everything up to a change."""
        with self._db.transaction(derived=True) as db:
            db.put(projections, [{"name": name, "change": change}])

    def append_record(self, tenant: str, *, kind: str, key: str, payload: bytes) -> int:
        """Keep an entry that is no step; return its number. Records are read back as they were given."""
        return self.append_records(tenant, [NewRecord(kind, key, payload)])[0]

    def append_records(
        self, tenant: str, records: Sequence[NewRecord], *, last: int | None = None, instead_of: Collection[str] = ()
    ) -> list[int]:
        """Keep several records at once, all or none; return their numbers.

        Records of the keys `instead_of` and the first one's kind are erased in the same stroke, as by `erase_records`.

        Raises:
            ConflictError: Another one of the first one's kind and key came after the number `last`, 0 for none, which
                whoever writes knows as the last one; nothing was kept.
        """
        if not records:
            return []
        first = records[0]
        with self._db.transaction() as db:
            if last is not None:
                number = db.value(f"{_LAST} WHERE {_OF_KEY}", tenant=tenant, kind=first.kind, key=first.key)
                if number != last:
                    raise ConflictError(f"record {number} of {first.key!r} came after record {last}")
            if instead_of:
                _erase(db, tenant, kind=first.kind, keys=instead_of)
            return [_append(db, tenant, record) for record in records]

    def replace_records(self, tenant: str, records: Sequence[NewRecord]) -> None:
        """Keep records of one kind in place of the last ones of their keys, of which nothing has to be erased."""
        if not records:
            return
        keys = [each.key for each in records]
        with self._db.transaction(derived=True) as db:
            db.write(f"DELETE FROM records WHERE {_OF_KEYS}", tenant=tenant, kind=records[0].kind, keys=keys)
            for record in records:
                _append(db, tenant, record)

    def record_keys(self, tenant: str, *, kind: str) -> list[str]:
        """The keys of a tenant's records of a kind, each once, in the order of their first."""
        query = f"SELECT key FROM records WHERE {_OF_KIND} GROUP BY key ORDER BY min(number)"
        return [key for (key,) in self._db.rows(query, tenant=tenant, kind=kind)]

    def records(self, tenant: str, *, kind: str, key: str | None = None, after: int = 0) -> Iterator[Record]:
        """Iterate over a tenant's records of a kind, or of one key, after a number, in the order of their coming."""
        asked = given(tenant=tenant, kind=kind, key=key)
        query = (
            "SELECT number, kind, key, payload, checksum FROM records"
            f" WHERE number > :after AND {_OF_KIND if key is None else _OF_KEY} ORDER BY number LIMIT :size"
        )
        for rows in self._db.pages(query, asked, after=after):
            for *fields, check in rows:
                record = Record(*fields)
                if not is_sound(check, record.key.encode(), record.payload):
                    raise DamagedRecordError(
                        f"record {record.number} of the {kind} is damaged in the journal", hint=_DAMAGED
                    )
                yield record

    def erase_records(self, tenant: str, *, kind: str, key: str | Collection[str] | None = None) -> int:
        """Erase a tenant's records of a kind, or of some keys; return how many there were. Bytes go as steps' do."""
        with self._db.transaction() as db:
            return _erase(db, tenant, kind=kind, keys=[key] if isinstance(key, str) else key)


def _append(db: Session, tenant: str, record: NewRecord) -> int:
    kind, key, payload = record
    check = named_checksum(key, payload)
    db.write(records, tenant=tenant, kind=kind, key=key, payload=payload, checksum=check)
    return int(db.value(_LAST))


def _erase(db: Session, tenant: str, *, kind: str, keys: Collection[str] | None) -> int:
    named = given(tenant=tenant, kind=kind, keys=keys if keys is None else list(keys))
    doomed = f"FROM records WHERE {_OF_KIND if keys is None else _OF_KEYS}"
    count = int(db.value(f"SELECT count(*) {doomed}", **named))
    if count:
        db.write(f"DELETE {doomed}", **named)
        owe_purge(db)
    return count
