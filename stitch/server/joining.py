"""A memory, or those of all tenants, through the process that has them open, or else opened here.

HTTP is imported only where there is such a process.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from typing_extensions import override

from stitch.core import tenant_name
from stitch.core.files import make_private_folder
from stitch.core.process import ProcessLock
from stitch.errors import ScopeError, StoreLockedError
from stitch.lifecycle.folder import JOURNAL_FILE, LEDGER_FILE, own_folder
from stitch.lm import Ledger, read_ledger
from stitch.memory import Memory
from stitch.server import address
from stitch.tenants import Tenants

if TYPE_CHECKING:
    from stitch.core.retention import RetentionRule
    from stitch.lifecycle.backup import BackedUp
    from stitch.server.client import Place

WAITED_S = 60.0
"""So long whoever holds the memory is waited for: it may be opening it, and have to finish what was interrupted."""

_LOOK_S, _LOOKS = 0.02, 10


def find_memory(
    folder: Path, *, tenant: str, settings: Mapping[str, Any], note: Path, open_here: Callable[[], Memory]
) -> Memory | Place:
    """The owner of a folder's memory, which is waited for while it opens it; or the memory, opened here.

    Args:
        folder: Of the memory.
        tenant: Whose it is.
        settings: What is set of it here, and has to be so there.
        note: The file in which its owner says who it is.
        open_here: Opens it, or raises a `StoreLockedError`.

    Raises:
        StoreLockedError: Another process holds it and does not answer.
        SettingsError: The process that has it open has other settings.
    """
    begun = time.monotonic()
    while True:
        if address.is_answered(folder):
            from stitch.server.client import owner_at

            if (owner := owner_at(folder, tenant=tenant, settings=settings)) is not None:
                return owner
        try:
            return open_here()
        except StoreLockedError:
            known = address.read_address(folder)
            refuses = known is not None and not known.share and known.pid == address.holder(note)
            if refuses or time.monotonic() - begun > WAITED_S:
                raise
        for _ in range(_LOOKS):  # until an owner may answer, or somebody may open the memory
            time.sleep(_LOOK_S)
            if address.address_of(folder) is not None:
                break


def join_or_open(
    folder: Path,
    *,
    tenant: str,
    settings: Mapping[str, Any],
    note: Path,
    open_here: Callable[[], Memory],
    defaults: Mapping[str, Any] | None = None,
    retention: Sequence[RetentionRule] | None = None,
    lent: bool = False,
) -> Memory:
    """The memory of a folder through its owner, or opened here; see `find_memory` and `RemoteMemory`."""

    def find() -> Memory | Place:
        return find_memory(folder, tenant=tenant, settings=settings, note=note, open_here=open_here)

    found = find()
    if isinstance(found, Memory):
        return found
    from stitch.server.client import Client
    from stitch.server.memory import RemoteMemory

    client = Client(found, what=f"the memory {str(folder)!r}", come_after=find)
    return RemoteMemory(client, tenant=tenant, folder=folder, defaults=defaults, retention=retention, lent=lent)


def served_memory(
    location: str,
    *,
    key: str | None,
    tenant: str | None = None,
    defaults: Mapping[str, Any] | None = None,
    retention: Sequence[RetentionRule] | None = None,
) -> Memory:
    """The memory that a server has open.

    It has to be that of the tenant, if one is named. Other options are those of `RemoteMemory`.

    Raises:
        ScopeError: The key is for another tenant.
        StitchError: The server does not answer, or refuses the key.
    """
    from stitch.server.client import Client, server_at
    from stitch.server.memory import RemoteMemory

    server = server_at(location, key=key)
    client = Client(server, what=f"the memory {location!r}", come_after=lambda: server_at(location, key=key))
    whose = server.welcome.tenant
    if tenant not in (None, whose):
        client.close()
        raise ScopeError(
            f"the key is for the memory of another tenant than {tenant!r}", hint="leave out the tenant: the key says it"
        )
    folder = own_folder(location)
    make_private_folder(folder, parents=True)
    return RemoteMemory(client, tenant=whose, folder=folder, defaults=defaults, retention=retention)


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
        self._charges_before = sum(1 for _ in read_ledger(folder / LEDGER_FILE))

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
        """Costs of calls since this was made, by the lines of the ledger's file."""
        counted = Ledger()
        for charge in islice(read_ledger(self._folder / LEDGER_FILE), self._charges_before, None):
            counted.charge(charge)
        return counted

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
        from stitch.server.memory import RemoteMemory

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
