"""A server on this machine for testing clients: real sockets, no network."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from typing_extensions import Self


@dataclass(frozen=True)
class Request:
    """A request that a client sent."""

    path: str
    headers: Mapping[str, str]
    """By lower-case name."""
    body: Any
    """The parsed JSON; None without a body."""
    method: str = "POST"


@dataclass(frozen=True)
class Reply:
    """A reply of the server."""

    body: Any = None
    """Made JSON, unless it is bytes: these are sent as they are."""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    cut: int | None = None
    """Send only so many bytes of the body, though all are announced, and hang up."""


class Silence:
    """In place of a reply: say nothing and keep the connection until the server stops."""


Answer = Callable[[Request], Reply | Silence]


class LoopbackServer:
    """Answers HTTP requests on 127.0.0.1, on a port of its own, while it is entered.

    >>> with LoopbackServer(lambda request: Reply({"path": request.path})) as server:
    ...     server.url.startswith("http://127.0.0.1:")
    True

    Args:
        answer: Makes the reply to a request; called on a thread of the server.
    """

    def __init__(self, answer: Answer) -> None:
        self.requests: list[Request] = []
        """What was asked so far, in order."""
        self._stopping = threading.Event()
        self._server = _Server(("127.0.0.1", 0), _exchange(answer, self.requests, self._stopping))
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)

    @property
    def url(self) -> str:
        """Address of the server, without a slash at the end."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stopping.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Report what went wrong on standard error, as every such server does, but not that a client hung up."""
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)


def _exchange(answer: Answer, requests: list[Request], stopping: threading.Event) -> type[BaseHTTPRequestHandler]:
    class Exchange(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            if stopping.is_set():  # a connection that was kept open outlives the server
                self.close_connection = True
                return
            size = int(self.headers.get("content-length", 0))
            body = json.loads(self.rfile.read(size)) if size else None
            headers = {name.lower(): value for name, value in self.headers.items()}
            request = Request(self.path, headers, body, self.command)
            requests.append(request)
            reply = answer(request)
            if isinstance(reply, Silence):
                stopping.wait()
                self.close_connection = True
                return
            content = reply.body if isinstance(reply.body, bytes) else json.dumps(reply.body).encode()
            self.send_response(reply.status)
            for name, value in {"content-type": "application/json", **reply.headers}.items():
                self.send_header(name, value)
            self.send_header("content-length", str(len(content)))
            self.end_headers()
            self.wfile.write(content[: reply.cut])
            self.close_connection = reply.cut is not None

        do_GET = do_PUT = do_PATCH = do_DELETE = do_POST  # noqa: N815 - the names the base class looks for

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name the base class gives it
            """Say nothing: the tests look at `requests`."""

    return Exchange
