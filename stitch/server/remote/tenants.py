"""`RemoteTenants`: the memories of all tenants of a folder that another process has open."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import JsonValue
from typing_extensions import override

from stitch.core import tenant_name
from stitch.core.process import ProcessLock
from stitch.errors import OwnerLostError
from stitch.lifecycle.folder import JOURNAL_FILE, LEDGER_FILE
from stitch.lm import Ledger, read_ledger
from stitch.server.remote.joining import Joined, found, join_or_open
from stitch.server.remote.memory import RemoteMemory
from stitch.server.remote.protocol import TENANTS, Hello, TenantNames
from stitch.server.remote.transport import failure, parsed
from stitch.server.remote.wire import BadMessageError, Kind
from stitch.tenants import Tenants

if TYPE_CHECKING:
    from stitch.lifecycle.backup import BackedUp
    from stitch.memory import Memory


class RemoteTenants(Tenants):
    """As `Tenants`, through the process that has the memory open; when that is gone, the memory is opened here.

    It is asked in the name of a tenant what concerns all. `open_all` opens the memory here, and raises a
    `StoreLockedError` if another process holds it.
    """

    def __init__(
        self,
        folder: Path,
        *,
        tenant: str,
        settings: Mapping[str, JsonValue],
        note: Path,
        open_all: Callable[[], Tenants],
        defaults: Mapping[str, Any],
    ) -> None:
        # Not that of `Tenants`: there are no parts here, and everything that uses some is overridden.
        self._folder, self._note, self._open_all = folder, note, open_all
        self._tenant, self._settings, self._defaults = tenant, settings, defaults
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
                    self._folder, hello=self._hello(name), note=self._note, open_here=partial(self._open_here, name),
                    defaults=self._defaults, lent=True,
                )  # fmt: skip
            return self._memories[name]

    @override
    def names(self) -> list[str]:
        with self._lock:
            if self._own is None:
                here = partial(self._open_here, self._tenant)
                joined = found(self._folder, self._hello(self._tenant), note=self._note, open_here=here)
                if isinstance(joined, Joined):
                    return _names(joined)
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

    def _hello(self, tenant: str) -> Hello:
        return Hello(tenant=tenant, settings=self._settings)

    def _open_here(self, tenant: str) -> Memory:
        with self._lock:
            if self._own is None:
                self._own = self._open_all()
            return self._own.memory(tenant)


class _FolderLedger(Ledger):
    """What calls of a model came to for all tenants since this was made, by the lines of the ledger's file."""

    def __init__(self, file: Path) -> None:
        super().__init__()
        self._read = file
        self._before = sum(1 for _ in read_ledger(file))

    def _now(self) -> Ledger:
        counted = Ledger()
        for charge in islice(read_ledger(self._read), self._before, None):
            counted.charge(charge)
        return counted

    @override
    def total(self) -> Any:
        return self._now().total()

    @override
    def keys(self) -> Any:
        return self._now().keys()

    @override
    def stages(self) -> Any:
        return self._now().stages()


def _names(joined: Joined) -> list[str]:
    """The tenants of a folder that have steps, as its owner tells them over a connection that is ended then.

    Raises:
        OwnerLostError: It has ended.
    """
    where = f"process {joined.welcome.pid}, which has the memory open,"
    try:
        joined.connection.send(Kind.REQUEST, TENANTS.encode(), b"\n{}")
        message = joined.connection.receive()
    except (OSError, BadMessageError):
        message = None
    finally:
        joined.connection.close()
    if message is None or message.kind not in (Kind.RESPONSE, Kind.FAILURE):
        raise OwnerLostError(f"{where} has ended before it answered", hint="ask again")
    if message.kind is Kind.FAILURE:
        raise failure(message.body, where=where)
    return list(parsed(TenantNames, message.body, where=where).names)
