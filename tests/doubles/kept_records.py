"""What a journal in dictionaries keeps beside steps: entries of other kinds, and how far projections have come."""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager

from typing_extensions import override

from stitch.errors import ConflictError, JournalError
from stitch.journal import Journal, NewRecord, Record


class DictRecords(Journal):
    """The records and projections of a journal; the rest of it is `DictJournal`."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._projected: dict[str, int] = {}
        self._records: list[tuple[str, Record]] = []
        self._next_record = 1
        self._owes_purge = self._closed = False

    @override
    def projected(self, name: str) -> int:
        return self._projected.get(name, 0)

    @override
    def record_projected(self, name: str, change: int) -> None:
        self._projected[name] = change

    @override
    def append_record(self, tenant: str, *, kind: str, key: str, payload: bytes) -> int:
        return self.append_records(tenant, [NewRecord(kind, key, payload)])[0]

    @override
    def append_records(
        self, tenant: str, records: Sequence[NewRecord], *, last: int | None = None, instead_of: Collection[str] = ()
    ) -> list[int]:
        numbers = []
        with self._open():
            if last is not None and records:
                mine = self.records(tenant, kind=records[0].kind, key=records[0].key)
                number = max((each.number for each in mine), default=0)
                if number != last:
                    raise ConflictError(f"record {number} of {records[0].key!r} came after record {last}")
            if instead_of and records:
                self.erase_records(tenant, kind=records[0].kind, key=instead_of)
            for record in records:
                numbers.append(self._next_record)
                self._records.append((tenant, Record(self._next_record, *record)))
                self._next_record += 1
        return numbers

    @override
    def record_keys(self, tenant: str, *, kind: str) -> list[str]:
        return list(dict.fromkeys(each.key for each in self.records(tenant, kind=kind)))

    @override
    def records(self, tenant: str, *, kind: str, key: str | None = None, after: int = 0) -> Iterator[Record]:
        with self._open():
            mine = [each for owner, each in self._records if owner == tenant and each.kind == kind]
        yield from (each for each in mine if key in (None, each.key) and each.number > after)

    @override
    def erase_records(self, tenant: str, *, kind: str, key: str | Collection[str] | None = None) -> int:
        keys = {key} if isinstance(key, str) else key
        with self._open():
            gone = {each.number for each in self.records(tenant, kind=kind) if keys is None or each.key in keys}
            self._records = [each for each in self._records if each[1].number not in gone]
            self._owes_purge |= bool(gone)
        return len(gone)

    @contextmanager
    def _open(self) -> Iterator[None]:
        with self._lock:
            if self._closed:
                raise JournalError("the journal cannot be used: it is closed")
            yield
