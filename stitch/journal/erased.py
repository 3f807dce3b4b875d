"""Erased steps, known again by digests: nobody reads from them what a step was called, or said."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Iterable, Sequence
from functools import cached_property

from stitch.journal.database import Session
from stitch.journal.tables import erased, erasers

_KEY_BYTES, _DIGEST_BYTES = 32, 16
_JOURNAL = 0
_KEY_OF = "SELECT key FROM erasers WHERE number = :number"


class ErasedSteps:
    """The steps of a tenant that were erased and not accepted again.

    Of each the digest of trajectory and step id is kept, by a random key of the tenant; of the tenant a digest too, by
    a key of the journal: where all steps of a tenant are erased, its name must not be left.
    """

    def __init__(self, db: Session, tenant: str) -> None:
        self._db, self._tenant = db, tenant
        self._asked = db.ask(_KEY_OF, number=_JOURNAL)

    def known(self, trajectory: str, step: str) -> bool:
        """Whether a step of this name was erased."""
        if self.number == _JOURNAL:
            return False
        query = "SELECT 1 FROM erased WHERE owner = :owner AND digest = :digest"
        return self._db.row(query, owner=self.number, digest=self._digest(trajectory, step)) is not None

    def note(self, trajectory: str, steps: Iterable[str]) -> None:
        """Note that steps are erased."""
        names = list(steps)
        if names and self.number == _JOURNAL:
            self._begin()
        self._db.put(erased, [{"owner": self.number, "digest": self._digest(trajectory, step)} for step in names])

    def forget(self, trajectory: str, step: str) -> None:
        """Forget that a step was erased: it is accepted again."""
        digest = self._digest(trajectory, step)
        self._db.write("DELETE FROM erased WHERE owner = :owner AND digest = :digest", owner=self.number, digest=digest)

    def forget_all(self) -> None:
        """Forget the tenant: its key, and with it what was erased."""
        if self.number != _JOURNAL:
            self._db.write("DELETE FROM erased WHERE owner = :owner", owner=self.number)
            self._db.write("DELETE FROM erasers WHERE number = :number", number=self.number)
            self._found = _JOURNAL, b""

    def keep_only(self) -> None:
        """Forget what all other tenants erased."""
        self._db.write("DELETE FROM erased WHERE owner <> :owner", owner=self.number)
        self._db.write("DELETE FROM erasers WHERE number <> 0 AND number <> :number", number=self.number)

    @property
    def number(self) -> int:
        """The number under which the digests of the tenant are kept; 0 if nothing was erased yet."""
        return self._found[0]

    @cached_property
    def _found(self) -> tuple[int, bytes]:
        return self._find([key for (key,) in self._asked()])

    def _find(self, keys: Sequence[bytes]) -> tuple[int, bytes]:
        query = "SELECT number, key FROM erasers WHERE tenant = :tenant"
        found = self._db.row(query, tenant=_digest(keys[0], self._tenant)) if keys else None
        return (_JOURNAL, b"") if found is None else (found[0], found[1])

    def _begin(self) -> None:
        """Make the key of the tenant, and that of the journal if this is its first erasure."""
        key = self._db.value(_KEY_OF, number=_JOURNAL)
        if key is None:
            key = secrets.token_bytes(_KEY_BYTES)
            self._db.write(erasers, number=_JOURNAL, tenant=b"", key=key)
        self._db.write(erasers, tenant=_digest(key, self._tenant), key=secrets.token_bytes(_KEY_BYTES))
        self._found = self._find([key])

    def _digest(self, trajectory: str, step: str) -> bytes:
        return _digest(self._found[1], trajectory, step)


def _digest(key: bytes, *names: str) -> bytes:
    made = hashlib.blake2b(key=key, digest_size=_DIGEST_BYTES)
    for name in names:
        data = name.encode()
        made.update(len(data).to_bytes(4, "big") + data)
    return made.digest()
