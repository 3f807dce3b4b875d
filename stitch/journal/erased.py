"""Erased steps, known again by digests: nobody reads from them what a step was called, or said."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Iterable, Sequence
from functools import cached_property

from sqlalchemy import bindparam, delete, select

from stitch.journal.database import Session
from stitch.journal.tables import erased, erasers

_KEY_BYTES, _DIGEST_BYTES = 32, 16
_JOURNAL = 0
_KEY_OF = select(erasers.c.key).where(erasers.c.number == bindparam("number"))
_FIND = select(erasers.c.number, erasers.c.key).where(erasers.c.tenant == bindparam("tenant"))
_IS_ERASED = select(erased.c.owner).where(erased.c.owner == bindparam("owner"), erased.c.digest == bindparam("digest"))
_FORGET = delete(erased).where(erased.c.owner == bindparam("of"), erased.c.digest == bindparam("known"))
_FORGET_ALL = delete(erased).where(erased.c.owner == bindparam("of"))
_FORGET_KEY = delete(erasers).where(erasers.c.number == bindparam("of"))
_KEEP_ONLY = delete(erased).where(erased.c.owner != bindparam("of"))
_KEEP_KEY = delete(erasers).where(erasers.c.number.not_in((_JOURNAL, bindparam("of"))))


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
        return self._db.row(_IS_ERASED, owner=self.number, digest=self._digest(trajectory, step)) is not None

    def note(self, trajectory: str, steps: Iterable[str]) -> None:
        """Note that steps are erased."""
        names = list(steps)
        if names and self.number == _JOURNAL:
            self._begin()
        self._db.put(erased, [{"owner": self.number, "digest": self._digest(trajectory, step)} for step in names])

    def forget(self, trajectory: str, step: str) -> None:
        """Forget that a step was erased: it is accepted again."""
        self._db.write(_FORGET, of=self.number, known=self._digest(trajectory, step))

    def forget_all(self) -> None:
        """Forget the tenant: its key, and with it what was erased."""
        if self.number != _JOURNAL:
            self._db.write(_FORGET_ALL, of=self.number)
            self._db.write(_FORGET_KEY, of=self.number)
            self._found = _JOURNAL, b""

    def keep_only(self) -> None:
        """Forget what all other tenants erased."""
        self._db.write(_KEEP_ONLY, of=self.number)
        self._db.write(_KEEP_KEY, of=self.number)

    @property
    def number(self) -> int:
        """The number under which the digests of the tenant are kept; 0 if nothing was erased yet."""
        return self._found[0]

    @cached_property
    def _found(self) -> tuple[int, bytes]:
        return self._find([key for (key,) in self._asked()])

    def _find(self, keys: Sequence[bytes]) -> tuple[int, bytes]:
        found = self._db.row(_FIND, tenant=_digest(keys[0], self._tenant)) if keys else None
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
