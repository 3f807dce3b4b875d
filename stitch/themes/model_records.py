"""What a model was paid for: records of the journal, read when they are first asked for, one a key."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Mapping
from typing import Any, Generic, TypeVar

import orjson

from stitch.journal import DamagedRecordError, Journal, NewRecord

_log = logging.getLogger(__name__)

T = TypeVar("T")


class ModelRecords(Generic[T]):
    """The records of one kind of a tenant; if one is damaged there are none, for a model can be asked again.

    Args:
        journal: Where they are kept.
        tenant: Whose they are.
        kind: Of the records.
        plain: What is kept as it is written, in types of JSON.
        read: The same as it is used.
    """

    def __init__(
        self, journal: Journal, *, tenant: str, kind: str, plain: Callable[[T], Any], read: Callable[[Any], T]
    ) -> None:
        self._journal, self._tenant, self._kind = journal, tenant, kind
        self._plain, self._read = plain, read
        self._held: dict[str, T] | None = None

    def all(self) -> Mapping[str, T]:
        """All that is kept, by key, as it came."""
        return self._all()

    def put(self, key: str, kept: T) -> None:
        """Keep something, in the place of what its key had."""
        held = self._all()
        self._journal.append_records(
            self._tenant,
            [NewRecord(self._kind, key, orjson.dumps(self._plain(kept)))],
            instead_of=[key] if key in held else (),
        )
        held.pop(key, None)  # what is kept stands in the order of the records, as whoever reads them has it
        held[key] = kept

    def drop(self, keys: Collection[str]) -> list[T]:
        """Erase what keys have, and return it."""
        if keys:
            self._journal.erase_records(self._tenant, kind=self._kind, key=list(keys))
        return [self._all().pop(key) for key in keys]

    def _all(self) -> dict[str, T]:
        if self._held is None:
            self._held = {}
            try:
                for record in list(self._journal.records(self._tenant, kind=self._kind)):
                    self._held[record.key] = self._read(orjson.loads(record.payload))
            except DamagedRecordError as error:
                _log.warning("%s; what a model said is asked of again", error.message)
                self._journal.erase_records(self._tenant, kind=self._kind)
                self._held = {}
        return self._held
