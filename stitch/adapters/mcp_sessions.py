"""Sessions of the protocol: each is used by its own caller alone, who has not more than so many."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Hashable, MutableMapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

IDLE_S = 1800.0
"""After so long without a request a session ends."""
MOST_OF_ONE = 100
"""Sessions of one caller that may be open: each keeps some 40 KB, and all callers share those of the server."""
_HEADER, _VERSION = b"mcp-session-id", b"mcp-protocol-version"


@dataclass
class _Session:
    """An open session."""

    caller: Hashable
    used_at: float
    under_way: int = 0
    """Number of its requests that are being answered; a stream that is listened to is one."""


class Sessions:
    """Stands before what answers the protocol, and knows whose each session is.

    A session of somebody else is answered as one that is not there. What a tool may do depends on who asks, not on the
    session; this keeps others from ending it, listening to it, and from filling the server with sessions of their own.
    The application that answers ends sessions after `IDLE_S` itself.
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        caller_of: Callable[[Scope], Hashable],
        most: int = MOST_OF_ONE,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._app, self._caller_of, self._most, self._clock = app, caller_of, most, clock
        self._open: dict[str, _Session] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        name = next((value.decode("latin-1") for key, value in scope["headers"] if key == _HEADER), None)
        caller = self._caller_of(scope)
        version = next((value.decode("latin-1") for key, value in scope["headers"] if key == _VERSION), None)
        if version is not None and version not in HANDSHAKE_PROTOCOL_VERSIONS:
            await self._app(scope, receive, send)  # later versions have no sessions
            return
        if name is None:
            await self._begin(caller, scope, receive, send)
            return
        session = self._open.get(name)
        if session is None or session.caller != caller:
            await _refuse(send, 404, "Session not found")
            return
        session.under_way += 1
        ended = False

        async def noted(message: Message) -> None:
            nonlocal ended
            if message["type"] == "http.response.start":
                gone = message["status"] == 404
                ended = gone or (scope["method"] == "DELETE" and message["status"] < 300)
            await send(message)

        try:
            await self._app(scope, receive, noted)
        finally:
            session.under_way, session.used_at = session.under_way - 1, self._clock()
            if ended:
                self._open.pop(name, None)

    async def _begin(self, caller: Hashable, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request without a session, which may open one."""
        self._forget_idle()
        if sum(session.caller == caller for session in self._open.values()) >= self._most:
            await _refuse(send, 429, f"{self._most} sessions are open: end one, or wait until one is idle for long")
            return

        async def noted(message: Message) -> None:
            if message["type"] == "http.response.start" and message["status"] < 300:
                for key, value in message.get("headers", ()):
                    if key.lower() == _HEADER:
                        self._open[value.decode("latin-1")] = _Session(caller, self._clock())
            await send(message)

        await self._app(scope, receive, noted)

    def _forget_idle(self) -> None:
        oldest = self._clock() - IDLE_S
        idle = [name for name, session in self._open.items() if not session.under_way and session.used_at < oldest]
        for name in idle:
            del self._open[name]


async def _refuse(send: Send, status: int, message: str) -> None:
    content: MutableMapping[str, object] = {"jsonrpc": "2.0", "id": None, "error": {"code": -32600, "message": message}}
    headers = [(b"content-type", b"application/json")]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": json.dumps(content).encode()})
