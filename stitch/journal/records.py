"""Records of a journal beside steps: entries of other kinds, and positions of projections."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from sqlalchemy import and_, bindparam, delete, func, select

from stitch.errors import ConflictError
from stitch.journal.database import Session
from stitch.journal.entries import DamagedRecordError, NewRecord, Record
from stitch.journal.revising import owe_purge
from stitch.journal.rows import SIZE, Part, given
from stitch.journal.tables import is_sound, one_of, projections, record_checksum, records

_DAMAGED = "`stitch verify --repair` makes themes anew; restore trees from a backup"
_OF_KIND = and_(records.c.tenant == bindparam("tenant"), records.c.kind == bindparam("kind"))
_OF_KEY = and_(_OF_KIND, records.c.key == bindparam("key"))
_POSITION = select(projections.c.change).where(projections.c.name == bindparam("name"))
_LAST = select(func.coalesce(func.max(records.c.number), 0))
_LAST_OF_KEY = _LAST.where(_OF_KEY)
_KEYS = select(records.c.key).where(_OF_KIND).group_by(records.c.key).order_by(func.min(records.c.number))
_RECORDS = (
    select(records.c.number, records.c.kind, records.c.key, records.c.payload, records.c.checksum)
    .where(records.c.number > bindparam("after"))
    .order_by(records.c.number)
    .limit(SIZE)
)
# of one key, the index leads to the records after a number at once, however many there are before it
_RECORDS_OF_KIND, _RECORDS_OF_KEY = _RECORDS.where(_OF_KIND), _RECORDS.where(_OF_KEY)
_OF_THAT_KIND = and_(records.c.tenant == bindparam("whose"), records.c.kind == bindparam("of_kind"))
_OF_THOSE_KEYS = and_(_OF_THAT_KIND, one_of(records.c.key))
_COUNT_KIND, _COUNT_KEYS = (select(func.count()).where(each) for each in (_OF_THAT_KIND, _OF_THOSE_KEYS))
_ERASE_KIND, _ERASE_KEYS = (delete(records).where(each) for each in (_OF_THAT_KIND, _OF_THOSE_KEYS))


class Records(Part):
    """Entries that are no steps are kept, and positions of projections."""

    def projected(self, name: str) -> int:
        """The change up to which a projection has said to hold everything; 0 for one that has said nothing."""
        return int(self._db.value(_POSITION, name=name) or 0)

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

        Args:
            tenant: Whose.
            records: What to keep, in order.
            last: The number of the last record of the first one's kind and key, as whoever writes knows it; 0 if there
                is none. Any is right if None.
            instead_of: Keys of the first one's kind whose records are erased in the same stroke, as by `erase_records`.

        Raises:
            ConflictError: Another one came after `last`; nothing was kept.
        """
        if not records:
            return []
        first = records[0]
        with self._db.transaction() as db:
            if last is not None:
                number = db.value(_LAST_OF_KEY, tenant=tenant, kind=first.kind, key=first.key)
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
            db.write(_ERASE_KEYS, whose=tenant, of_kind=records[0].kind, given=keys)
            for record in records:
                _append(db, tenant, record)

    def record_keys(self, tenant: str, *, kind: str) -> list[str]:
        """The keys of a tenant's records of a kind, each once, in the order of their first."""
        return [key for (key,) in self._db.rows(_KEYS, tenant=tenant, kind=kind)]

    def records(self, tenant: str, *, kind: str, key: str | None = None, after: int = 0) -> Iterator[Record]:
        """Iterate over a tenant's records of a kind, or of one key, after a number, in the order of their coming."""
        asked = given(tenant=tenant, kind=kind, key=key)
        query = _RECORDS_OF_KIND if key is None else _RECORDS_OF_KEY
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
    check = record_checksum(key, payload)
    db.write(records, tenant=tenant, kind=kind, key=key, payload=payload, checksum=check)
    return int(db.value(_LAST))


def _erase(db: Session, tenant: str, *, kind: str, keys: Collection[str] | None) -> int:
    named = {"whose": tenant, "of_kind": kind} | ({} if keys is None else {"given": list(keys)})
    count = int(db.value(_COUNT_KIND if keys is None else _COUNT_KEYS, **named))
    if count:
        db.write(_ERASE_KIND if keys is None else _ERASE_KEYS, **named)
        owe_purge(db)
    return count
