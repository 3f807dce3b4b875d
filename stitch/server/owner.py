"""The owner's side: lets other processes use a memory that this one has open, over a socket in its folder.

A thread waits until the first of them knocks; only then is the web framework imported and the application begun.
"""

from __future__ import annotations

import logging
import os
import platform
import selectors
import socket
import threading
from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stitch.core.process import ForkGuard, in_each_fork
from stitch.errors import SettingsError
from stitch.server import address
from stitch.server.protocol import Welcome

if TYPE_CHECKING:
    from stitch.memory import Memory
    from stitch.server.protocol import Hello
    from stitch.server.running import Server
    from stitch.tenants import Tenants

_MOST_BYTES = 2**31
"""The longest request: who may send one may write files."""

_log = logging.getLogger(__name__)


class Owner:
    """Answers on a socket in a memory's folder, from a thread of its own, until it is closed.

    Args:
        tenants: The memories.
        folder: Of the memory, which this process owns.
        settings: How the memory is set; whoever takes something else for granted is told so, and not served.
        guarded: Settings that a tenant must have named who is not `only`: it did not choose them.
        only: The tenant for whom the memory was opened; None if for all.
        unix: Whether the socket is a Unix socket where there are any.

    Raises:
        StoreError: There can be no socket.
    """

    def __init__(
        self,
        tenants: Tenants,
        *,
        folder: Path,
        settings: Mapping[str, Any],
        guarded: frozenset[str] = frozenset(),
        only: str | None = None,
        unix: bool = True,
    ) -> None:
        self._tenants, self._folder = tenants, folder
        self._settings, self._guarded, self._only = settings, guarded, only
        self._process = ForkGuard("the socket of a memory")
        self._since = datetime.now(timezone.utc).isoformat(timespec="seconds")
        self._server: Server | None = None
        self._listening, self._address = address.listen(folder, unix=unix)
        self._closing = threading.Event()
        self._waking, self._wake = socket.socketpair()
        in_each_fork(self._leave_to_parent)
        self._thread = threading.Thread(target=self._wait, name="stitch-owner", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Take nothing more, finish what is under way, and let go of the socket; closing twice is harmless.

        What is not finished after some seconds is cut off.
        """
        if self._process.is_another or self._closing.is_set():
            return
        self._closing.set()
        address.remove(self._folder)
        self._wake.send(b"x")
        if self._server is not None:
            self._server.should_exit = True
        self._thread.join()
        for each in (self._listening, self._waking, self._wake):
            each.close()

    def _greet(self, memory: Memory, hello: Hello) -> Welcome:
        """The reply to a process that may use a memory.

        Raises:
            SettingsError: It takes other settings for granted than those with which the memory is open; names one.
        """
        taken = dict(hello.settings)
        if self._only not in (None, memory.tenant):
            taken = {**dict.fromkeys(self._guarded), **taken}
        here = f"process {os.getpid()} has the memory open with"
        for name, value in taken.items():
            own = self._settings.get(name)
            if own != value:
                way_out = f"set {name} as it does" if value is None else f"leave {name} out"
                raise SettingsError(
                    f"{here} another {name}: {_shown(own)} there, {_shown(value)} here",
                    hint=f"{way_out}, or end that process",
                )
        about = {"pid": str(os.getpid()), "host": platform.node(), "since": self._since}
        return Welcome.model_validate(memory).model_copy(update={"owner": about, "tenants": self._tenants.names()})

    def _wait(self) -> None:
        """Serve once somebody has knocked, who waits in the queue of the socket."""
        with selectors.DefaultSelector() as waiting:
            for each in (self._listening, self._waking):
                waiting.register(each, selectors.EVENT_READ)
            waiting.select()
        if self._closing.is_set():
            return
        try:
            self._serve()
        except Exception:  # noqa: BLE001 - the memory is of use to this process all the same
            _log.exception("other processes cannot use the memory %r through this one", str(self._folder))
            address.remove(self._folder)

    def _serve(self) -> None:
        from stitch.server.access import FolderAccess
        from stitch.server.app import create_app
        from stitch.server.app_state import Limits
        from stitch.server.running import Server

        access = FolderAccess(token=self._address.token, tenant=self._only or "default")
        app = create_app(self._tenants, access=access, limits=Limits(body_bytes=_MOST_BYTES))
        app.state.greet = self._greet
        self._server = Server(app, ready=lambda: None)
        if not self._closing.is_set():
            self._server.run([self._listening])
        app.state.served.threads.close()

    def _leave_to_parent(self) -> None:
        """In a fork: whoever asks must not find the parent's sockets open when the parent is gone."""
        self._listening.close()
        for connection in self._server.server_state.connections if self._server is not None else ():
            with suppress(OSError, AttributeError):
                os.close(connection.transport.get_extra_info("socket").fileno())


def _shown(value: Any) -> str:
    """A setting as a message may hold it: a secret is there as a digest, which says nothing."""
    if value is None:
        return "none"
    return "(a secret)" if isinstance(value, str) and value.startswith("digest:") else repr(value)
