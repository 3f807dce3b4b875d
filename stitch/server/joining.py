"""A memory through the process that has it open, or else opened here; HTTP is imported only where there is one."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stitch.core.files import make_private_folder
from stitch.errors import ScopeError, StoreLockedError
from stitch.lifecycle.folder import own_folder
from stitch.memory import Memory
from stitch.server import address

if TYPE_CHECKING:
    from stitch.core.retention import RetentionRule
    from stitch.server.client import Place

OPENING_S = 60.0
"""So long an owner is waited for that is opening the memory: it may have to finish what was interrupted."""
HOLDING_S = 20.0
"""So long somebody is waited for who holds the memory and has not said that it will answer."""

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
    begun, holding = time.monotonic(), None
    while True:
        if address.is_answered(folder):
            from stitch.server.client import owner_at

            if (owner := owner_at(folder, tenant=tenant, settings=settings)) is not None:
                return owner
        try:
            return open_here()
        except StoreLockedError:
            known, holder = address.read_address(folder), address.holder(note)
            if holder != holding:  # each is waited for as long: where many come at once, one after the other holds it
                begun, holding = time.monotonic(), holder
            waited_s, opens = time.monotonic() - begun, known is not None and known.pid == holder
            if (known is not None and opens and not known.share) or waited_s > (OPENING_S if opens else HOLDING_S):
                raise
        for _ in range(_LOOKS):  # until an owner may answer, or somebody may open the memory
            time.sleep(_LOOK_S)
            if (folder / address.SOCKET_FILE).exists():
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
