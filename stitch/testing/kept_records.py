"""What a journal in dictionaries keeps beside steps: entries of other kinds, and how far projections have come."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from typing_extensions import override

from stitch.errors import JournalError
from stitch.journal import Journal, Record


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
        with self._open():
            number, self._next_record = self._next_record, self._next_record + 1
            self._records.append((tenant, Record(number, kind, key, payload)))
        return number

    @override
    def records(self, tenant: str, *, kind: str, key: str | None = None, after: int = 0) -> Iterator[Record]:
        with self._open():
            mine = [each for owner, each in self._records if owner == tenant and each.kind == kind]
        yield from (each for each in mine if key in (None, each.key) and each.number > after)

    @override
    def erase_records(self, tenant: str, *, kind: str, key: str | None = None) -> int:
        with self._open():
            gone = {record.number for record in self.records(tenant, kind=kind, key=key)}
            self._records = [each for each in self._records if each[1].number not in gone]
            self._owes_purge |= bool(gone)
        return len(gone)

    @contextmanager
    def _open(self) -> Iterator[None]:
        with self._lock:
            if self._closed:
                raise JournalError("the journal cannot be used: it is closed")
            yield
