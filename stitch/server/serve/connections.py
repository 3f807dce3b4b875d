"""Connections that nobody can hold for nothing: so long for headers, so long for reading an answer, and only so many.

uvicorn bounds how long a connection is kept between two requests, and nothing else: a client that sends half a header,
or asks for much and reads none of it, would stay for ever.
"""

from __future__ import annotations

import asyncio
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, ClassVar

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

from stitch.server.serve.refusals import RefusalError, refused

if TYPE_CHECKING:
    from uvicorn.config import Config
    from uvicorn.server import ServerState

HEADERS_S = 10.0
"""How long a request may take from the connection, or its first byte, to the end of its headers."""
STALL_S = 20.0
"""How long a client may read nothing of an answer that waits for it."""
HALF_CLOSED_S = 2.0
"""How long a client that sends no more may wait for the answer to what it has asked."""


class PatientProtocol(H11Protocol):
    """HTTP/1.1 with an end to every wait for a client; what cannot be read is refused in the shape of all errors."""

    headers_s: ClassVar[float] = HEADERS_S
    stall_s: ClassVar[float] = STALL_S
    half_closed_s: ClassVar[float] = HALF_CLOSED_S
    most: ClassVar[int] = 4_000
    """Connections at once; one more is refused."""

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self._headers_due: asyncio.TimerHandle | None = None
        self._stalled: asyncio.TimerHandle | None = None
        self._half_closed: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Take a connection, if there is room."""
        super().connection_made(transport)
        if len(self.connections) > self.most:
            self._refuse(HTTPStatus.SERVICE_UNAVAILABLE, "TooManyConnections", "too many connections are open")
            return
        self._wait_for_headers()

    def data_received(self, data: bytes) -> None:
        """Go on with a request; from the first byte of the next one on, its headers are waited for so long only."""
        super().data_received(data)
        if self.transport.is_closing():
            return
        if self.conn.their_state is not h11.IDLE:
            self._no_headers_due()
        elif self._headers_due is None and self.conn.trailing_data[0]:
            self._wait_for_headers()

    def eof_received(self) -> bool:  # type: ignore[override]
        """The client sends no more: it still gets the answer to a whole request, if that does not take long.

        One that has left looks the same; so what it has asked is given up a moment later than it would have to be. A
        request that is not whole is refused, unless its answer has begun.
        """
        if self.conn.their_state is h11.SEND_BODY or not self._answering():
            begun = self._answering() and self.cycle.response_started
            if not begun and (self.conn.their_state is h11.SEND_BODY or self.conn.trailing_data[0]):
                self._refuse(HTTPStatus.BAD_REQUEST, "BadRequest", "the request ended before it was whole")
            return False
        self._half_closed = self.loop.call_later(self.half_closed_s, self.transport.close)
        return True

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget all that was waited for."""
        self._no_headers_due()
        self._not_stalled()
        if self._half_closed is not None:
            self._half_closed.cancel()
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        """The client does not read as fast as is written."""
        super().pause_writing()
        self._watch_reader()

    def resume_writing(self) -> None:
        """It has caught up."""
        self._not_stalled()
        super().resume_writing()

    def on_response_complete(self) -> None:
        """What is written may still wait for the client."""
        super().on_response_complete()
        if self._half_closed is not None and not self._answering():
            self.transport.close()
        if self.transport.get_write_buffer_size():
            self._watch_reader()

    def send_400_response(self, msg: str) -> None:
        """Refuse what is no request."""
        self._refuse(HTTPStatus.BAD_REQUEST, "BadRequest", "this is no HTTP request that can be read")

    def _refuse(self, status: HTTPStatus, error: str, message: str) -> None:
        """Answer, if nothing is answered yet, and close."""
        answer = refused(RefusalError(status, error, message))
        headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(answer.body)),
                   (b"connection", b"close")]  # fmt: skip
        if self._answering() and not self.cycle.response_started:
            self.cycle.disconnected = True  # what it would answer is answered here
            self.cycle.message_event.set()
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            for event in (
                h11.Response(status_code=status, headers=headers, reason=status.phrase.encode()),
                h11.Data(data=answer.body),
                h11.EndOfMessage(),
            ):
                self.transport.write(self.conn.send(event) or b"")
        self.transport.close()
        self._watch_reader()

    def _answering(self) -> bool:
        """Whether a request is on its way."""
        cycle: RequestResponseCycle | None = self.cycle
        return cycle is not None and not cycle.response_complete

    def _wait_for_headers(self) -> None:
        self._headers_due = self.loop.call_later(self.headers_s, self._too_late)

    def _too_late(self) -> None:
        self._headers_due = None
        if self.conn.trailing_data[0]:
            self._refuse(HTTPStatus.REQUEST_TIMEOUT, "TooSlow", "the headers came too slowly")
        else:  # nothing was asked
            self.transport.abort()

    def _no_headers_due(self) -> None:
        if self._headers_due is not None:
            self._headers_due.cancel()
            self._headers_due = None

    def _watch_reader(self) -> None:
        if self._stalled is None:
            self._stalled = self.loop.call_later(self.stall_s, self._give_up)

    def _not_stalled(self) -> None:
        if self._stalled is not None:
            self._stalled.cancel()
            self._stalled = None

    def _give_up(self) -> None:
        self._stalled = None
        if self.transport.get_write_buffer_size():
            self.transport.abort()
