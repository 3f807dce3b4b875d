"""`RemoteTenants`: the memories of all tenants of a folder that another process has open."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from typing_extensions import override

from stitch.core import tenant_name
from stitch.core.process import ProcessLock
from stitch.lifecycle.folder import JOURNAL_FILE, LEDGER_FILE
from stitch.lm import Ledger, Totals, read_ledger
from stitch.memory import Memory
from stitch.server.joining import find_memory, join_or_open
from stitch.server.memory import RemoteMemory
from stitch.tenants import Tenants

if TYPE_CHECKING:
    from stitch.lifecycle.backup import BackedUp


class RemoteTenants(Tenants):
    """As `Tenants`, through the process that has the memory open; when that is gone, the memory is opened here.

    Args:
        folder: Of the memory.
        tenant: In whose name it is asked what concerns all.
        settings: As for `find_memory`, and so is `note`.
        note: The file in which the owner says who it is.
        open_all: Opens the memory here, or raises a `StoreLockedError` if another process holds it.
        defaults: As for `RemoteMemory`.
    """

    def __init__(
        self,
        folder: Path,
        *,
        tenant: str,
        settings: Mapping[str, Any],
        note: Path,
        open_all: Callable[[], Tenants],
        defaults: Mapping[str, Any],
    ) -> None:
        # Not that of `Tenants`: there are no parts here, and everything that uses some is overridden.
        self._folder, self._tenant, self._open_all, self._defaults = folder, tenant, open_all, defaults
        self._at: dict[str, Any] = {"settings": settings, "note": note}
        self._lock = ProcessLock("the memories of all tenants")
        self._memories: dict[str, Memory] = {}
        self._own: Tenants | None = None
        """All of them, once this process has opened the memory itself."""
        self._ledger = _FolderLedger(folder / LEDGER_FILE)

    @override
    def memory(self, tenant: str) -> Memory:
        name = tenant_name(tenant)
        with self._lock:
            if self._own is not None and name not in self._memories:
                return self._own.memory(name)
            if name not in self._memories:
                self._memories[name] = join_or_open(
                    self._folder, tenant=name, open_here=partial(self._open_here, name), defaults=self._defaults,
                    lent=True, **self._at,
                )  # fmt: skip
            return self._memories[name]

    @override
    def names(self) -> list[str]:
        with self._lock:
            if self._own is None:
                here = partial(self._open_here, self._tenant)
                found = find_memory(self._folder, tenant=self._tenant, open_here=here, **self._at)
                if not isinstance(found, Memory):
                    found.http.close()
                    return list(found.welcome.tenants)
            assert self._own is not None
            return self._own.names()

    @override
    def backup(self, to: str | os.PathLike[str]) -> BackedUp:
        if self._own is not None:
            return self._own.backup(to)
        from stitch.lifecycle.backup import back_up

        return back_up(self._folder / JOURNAL_FILE, to=to, beside=self._folder, at=time.time())

    @property
    @override
    def ledger(self) -> Ledger:
        return self._ledger

    @property
    @override
    def away(self) -> str:
        return self.memory(self._tenant).status().away

    @property
    @override
    def folder(self) -> Path:
        return self._folder

    @override
    def reindex(self) -> int:
        return self.memory(self._tenant).lifecycle.reindex() if self._own is None else self._own.reindex()

    @override
    def close(self, *, finish: bool = True) -> None:
        """Let go of the memories; those who have them open go on. Closing twice is harmless.

        Args:
            finish: Of no use here, unless this process has opened the memory itself by now.
        """
        if self._lock.is_another:
            return
        with self._lock:
            for each in self._memories.values():
                if isinstance(each, RemoteMemory):
                    each.let_go()
            if self._own is not None:
                self._own.close(finish=finish)

    def _open_here(self, tenant: str) -> Memory:
        with self._lock:
            if self._own is None:
                self._own = self._open_all()
            return self._own.memory(tenant)


class _FolderLedger(Ledger):
    """Costs of calls of a model for all tenants since this was made, by the lines of the ledger's file."""

    def __init__(self, file: Path) -> None:
        super().__init__()
        self._read = file
        self._before = sum(1 for _ in read_ledger(file))

    @override
    def _by(self, field: str) -> dict[str, Totals]:
        counted = Ledger()
        for charge in islice(read_ledger(self._read), self._before, None):
            counted.charge(charge)
        return counted._by(field)
