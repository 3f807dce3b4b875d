"""A server as a process: its socket, its signals, its beginning and its end."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

import uvicorn

from stitch.errors import InputError

if TYPE_CHECKING:
    from fastapi import FastAPI

ENDING_S = 15
"""How long requests may take that are under way when the server is told to end."""
SWITCH_S = 0.0005
"""How long a thread keeps the interpreter while another one wants it. By default that is 5 ms, which every step of a
request would wait for while something else is worked on."""
_TAKING_TURNS = 3
"""So many turns of a loop make a connection: it is accepted, gets a transport, gets a protocol. One that a server which
closes has not made is told nothing, and stays open until the garbage is collected."""
_SENT_S = 0.5
"""So long an answer may take that is given to the system to send, and that whoever asked does not read."""
_FILES = 8_192
"""Number of files and connections the process asks to have open."""


def listen(host: str, port: int) -> socket.socket:
    """A socket that listens.

    Port 0 is any that is free.

    Raises:
        InputError: The address is none of this machine, or the port is taken.
    """
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    except (OSError, UnicodeError) as error:  # a name may also be none that can be asked for
        why = getattr(error, "strerror", None) or "it is no name of a machine"
        raise InputError(f"{host[:100]!r} is no address to listen at: {why}", hint="name another with --host") from None
    both = family == socket.AF_INET6 and socket.has_dualstack_ipv6()  # `::` takes what comes by the older one, too
    try:
        made = socket.create_server(address, family=family, backlog=2_048, dualstack_ipv6=both)
    except OSError as error:
        raise InputError(
            f"port {port} of {host!r} cannot be had: {os.strerror(error.errno or 0).lower()}",
            hint="name another with --port, 0 for any",
        ) from None
    made.setblocking(False)
    return made


def url_of(listening: socket.socket) -> str:
    """The URL of a socket."""
    host, port = listening.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


class Server(uvicorn.Server):
    """Ends in order when `should_exit` is set, or at a signal; a second one does not wait for what is under way.

    It ends with status 0: who stops a service has got what was asked for.

    Args:
        app: What `create_app` makes.
        ready: Called when connections are taken.
    """

    def __init__(self, app: FastAPI, *, ready: Callable[[], None]) -> None:
        super().__init__(
            uvicorn.Config(
                app,
                ws="none",
                lifespan="on",
                log_config=None,
                access_log=False,
                server_header=False,
                proxy_headers=False,
                timeout_keep_alive=75,
                timeout_graceful_shutdown=ENDING_S,
            )
        )
        self._ready, self._closing = ready, app.state.served.begin_to_close

    def serve_on(self, listening: socket.socket) -> None:
        """Serve until told to end; when this returns, all that was under way is answered."""
        _allow_files()
        before_s = sys.getswitchinterval()
        sys.setswitchinterval(SWITCH_S)
        try:
            self.run([listening])
        finally:
            sys.setswitchinterval(before_s)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin, and say so."""
        await super().startup(sockets)
        self._ready()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Let streams end, then what is under way; no connection is open when this returns."""
        self._closing()
        for listening in (one for each in self.servers for one in each.sockets):
            with suppress(NotImplementedError):  # by the loop of Windows
                asyncio.get_running_loop().remove_reader(listening)  # who knocks now is refused when it is closed
        for _ in range(_TAKING_TURNS):
            await asyncio.sleep(0)
        await super().shutdown(sockets)
        if self.server_state.tasks and not self.force_exit:
            await asyncio.wait(self.server_state.tasks)  # what a thread has begun is finished, and answered
            await asyncio.sleep(_SENT_S)
        for each in list(self.server_state.connections):
            each.transport.abort()  # open, it would keep who asks there waiting for as long as this process lives
        if self.force_exit:  # the application ends all the same, or its end would be told as a failure
            await self.lifespan.shutdown()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Heed both signals until the end, and raise none again then."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {each: signal.signal(each, self._signaled) for each in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for each, handler in before.items():
                signal.signal(each, handler)

    def _signaled(self, *_: object) -> None:
        self.force_exit = self.should_exit
        self.should_exit = True


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
