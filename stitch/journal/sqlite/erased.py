"""Erased steps, known again by digests: nobody reads from them what a step was called, or said."""

from __future__ import annotations

import hashlib
import secrets
import sqlite3
from collections.abc import Iterable

_KEY_BYTES, _DIGEST_BYTES = 32, 16
_JOURNAL = 0


class ErasedSteps:
    """The steps of a tenant that were erased and not accepted again.

    Of each the digest of trajectory and step id is kept, by a random key of the tenant; of the tenant a digest too, by
    a key of the journal: where all steps of a tenant are erased, its name must not be left.
    """

    def __init__(self, db: sqlite3.Connection, tenant: str) -> None:
        self._db, self._tenant = db, tenant
        self._number, self._key = self._find()

    def known(self, trajectory: str, step: str) -> bool:
        """Whether a step of this name was erased."""
        if self._number == _JOURNAL:
            return False
        query = "SELECT 1 FROM erased WHERE owner = ? AND digest = ?"
        return bool(self._db.execute(query, (self._number, self._digest(trajectory, step))).fetchone())

    def note(self, trajectory: str, steps: Iterable[str]) -> None:
        """Note that steps are erased."""
        names = list(steps)
        if names and self._number == _JOURNAL:
            self._begin()
        rows = [(self._number, self._digest(trajectory, step)) for step in names]
        self._db.executemany("INSERT OR IGNORE INTO erased VALUES (?, ?)", rows)

    def forget(self, trajectory: str, step: str) -> None:
        """Forget that a step was erased: it is accepted again."""
        query = "DELETE FROM erased WHERE owner = ? AND digest = ?"
        self._db.execute(query, (self._number, self._digest(trajectory, step)))

    def forget_all(self) -> None:
        """Forget the tenant: its key, and with it what was erased."""
        if self._number != _JOURNAL:
            self._db.execute("DELETE FROM erased WHERE owner = ?", (self._number,))
            self._db.execute("DELETE FROM erasers WHERE number = ?", (self._number,))
            self._number, self._key = _JOURNAL, b""

    def keep_only(self) -> None:
        """Forget what all other tenants erased."""
        self._db.execute("DELETE FROM erased WHERE owner <> ?", (self._number,))
        self._db.execute("DELETE FROM erasers WHERE number NOT IN (?, ?)", (_JOURNAL, self._number))

    def _find(self) -> tuple[int, bytes]:
        row = self._db.execute("SELECT key FROM erasers WHERE number = ?", (_JOURNAL,)).fetchone()
        if row is None:  # nothing was erased yet
            return _JOURNAL, b""
        query = "SELECT number, key FROM erasers WHERE tenant = ?"
        return self._db.execute(query, (_digest(row[0], self._tenant),)).fetchone() or (_JOURNAL, b"")

    def _begin(self) -> None:
        """Make the key of the tenant, and that of the journal if this is its first erasure."""
        own = (_JOURNAL, b"", secrets.token_bytes(_KEY_BYTES))
        self._db.execute("INSERT OR IGNORE INTO erasers VALUES (?, ?, ?)", own)
        (key,) = self._db.execute("SELECT key FROM erasers WHERE number = ?", (_JOURNAL,)).fetchone()
        row = (_digest(key, self._tenant), secrets.token_bytes(_KEY_BYTES))
        self._db.execute("INSERT INTO erasers (tenant, key) VALUES (?, ?)", row)
        self._number, self._key = self._find()

    def _digest(self, trajectory: str, step: str) -> bytes:
        return _digest(self._key, trajectory, step)


def _digest(key: bytes, *names: str) -> bytes:
    made = hashlib.blake2b(key=key, digest_size=_DIGEST_BYTES)
    for name in names:
        data = name.encode()
        made.update(len(data).to_bytes(4, "big") + data)
    return made.digest()
