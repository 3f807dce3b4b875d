"""A server as a process: its socket, its signals, its beginning and its end."""

from __future__ import annotations

import asyncio
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from types import FrameType
from typing import TYPE_CHECKING

import uvicorn

from stitch.errors import InputError
from stitch.server.serve.connections import PatientProtocol

if TYPE_CHECKING:
    from starlette.types import ASGIApp

    from stitch.server.serve.app import Served

ENDING_S = 15
"""How long requests may take that are under way when the server is told to end."""
SWITCH_S = 0.0005
"""How long a thread keeps the interpreter while another one wants it. By default that is 5 ms, which every step of a
request would wait for while something else is worked on."""
TICK_S = 0.1
"""How often it is looked whether to end; every tenth time the date of answers is made anew."""
_FILES = 8_192
"""How many files and connections the process asks to have open."""


def listen(host: str, port: int) -> socket.socket:
    """A socket that listens.

    Port 0 is any that is free.

    Raises:
        InputError: The address is none of this machine, or the port is taken.
    """
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        made = socket.socket(family, kind, protocol)
    except (OSError, UnicodeError) as error:  # a name may also be none that can be asked for
        why = getattr(error, "strerror", None) or "it is no name of a machine"
        raise InputError(f"{host[:100]!r} is no address to listen at: {why}", hint="name another with --host") from None
    try:
        if sys.platform != "win32":
            made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind(address)
        made.listen(2_048)
    except OSError as error:
        made.close()
        why = (error.strerror or str(error)).lower()
        raise InputError(
            f"port {port} of {host!r} cannot be had: {why}", hint="name another with --port, 0 for any"
        ) from None
    made.setblocking(False)
    return made


def url_of(listening: socket.socket) -> str:
    """Where a socket is reached."""
    host, port = listening.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


class Ends:
    """Tells a server to end, from any thread, as a signal does."""

    def __init__(self) -> None:
        self.asked = self.at_once = False
        self.wake: Callable[[], object] = lambda: None
        """Lets a server that is running look at once."""

    def now(self) -> None:
        """End in order; asked again, without waiting for what is under way."""
        self.at_once = self.asked
        self.asked = True
        self.wake()


class _Server(uvicorn.Server):
    """Ends in order at a signal, and ends with status 0: who stops a service has got what was asked for."""

    def __init__(
        self, config: uvicorn.Config, *, ready: Callable[[], None], closing: Callable[[], None], ends: Ends
    ) -> None:
        super().__init__(config)
        self._ready, self._closing, self._ends = ready, closing, ends

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin, and say so."""
        await super().startup(sockets)
        self._ready()

    async def main_loop(self) -> None:
        """Wait until the end is asked for; the ticks between are those of the class above."""
        loop, asked, count = asyncio.get_running_loop(), asyncio.Event(), 0
        self._ends.wake = partial(loop.call_soon_threadsafe, asked.set)
        try:
            while not await self.on_tick(count):
                count += 1
                with suppress(asyncio.TimeoutError):
                    await asyncio.wait_for(asked.wait(), TICK_S)
        finally:
            self._ends.wake = lambda: None

    async def on_tick(self, counter: int) -> bool:
        """Look whether the end is asked for."""
        self.should_exit = self.should_exit or self._ends.asked
        return await super().on_tick(counter)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Let streams end, then what is under way."""
        self._closing()
        await super().shutdown(sockets)

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Heed both signals until the end; a second one does not wait for what is under way."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {each: signal.signal(each, self._signaled) for each in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for each, handler in before.items():
                signal.signal(each, handler)

    def _signaled(self, number: int, frame: FrameType | None) -> None:
        self._ends.now()
        self.force_exit = self._ends.at_once


def serve(
    app: ASGIApp, listening: socket.socket, *, served: Served, ready: Callable[[], None], ends: Ends | None = None
) -> None:
    """Serve until the process is told to end; when this returns, all that was under way is answered.

    `ready` is called when connections are taken; `ends` ends it, as SIGINT and SIGTERM do where this is called in the
    main thread.
    """
    _allow_files()
    before_s = sys.getswitchinterval()
    sys.setswitchinterval(SWITCH_S)
    config = uvicorn.Config(
        app,
        http=PatientProtocol,
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=75,
        timeout_graceful_shutdown=ENDING_S,
    )
    try:
        _Server(config, ready=ready, closing=served.begin_to_close, ends=ends or Ends()).run([listening])
    finally:
        sys.setswitchinterval(before_s)


def _allow_files() -> None:
    """Ask for as many open files as the system allows, up to what is needed: each connection is one."""
    try:
        import resource
    except ImportError:  # Windows has no such bound
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _FILES if hard == resource.RLIM_INFINITY else min(_FILES, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    if soft != resource.RLIM_INFINITY:
        PatientProtocol.most = max(64, min(PatientProtocol.most, soft - 256))
