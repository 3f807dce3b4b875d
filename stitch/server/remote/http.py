"""Requests to a memory that is served over HTTP: the same operations, over their REST paths."""

from __future__ import annotations

import http.client
import json
import socket
import ssl
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode, urlsplit

from pydantic import BaseModel, ValidationError

from stitch.core.process import OwnProcess, in_each_fork
from stitch.errors import OwnerLostError, SettingsError, StitchError, StoreError, StoreUnavailableError
from stitch.lifecycle.folder import SERVED
from stitch.server.api.models import About, Nothing
from stitch.server.api.operations import OPERATIONS, Operation
from stitch.server.failures import Failure, as_error
from stitch.server.remote.protocol import Welcome
from stitch.server.remote.transport import Lines, decoded, failure, parsed

if TYPE_CHECKING:
    from collections.abc import Mapping

ANSWER_S = 600.0
"""So long an answer is waited for."""

_CONNECT_S = 10.0
_MOST_IDLE = 8
_MOST_TRIES = 6
"""So often what a busy server puts off is tried again."""
_MOST_PAUSE_S = 5.0


class HttpTransport:
    """Asks a memory that `stitch serve` serves.

    A location is `stitch+http://host:port`; the key, which the server has given out, says whose memory is asked.

    Raises:
        SettingsError: This is no URL of a server.
        StitchError: The server does not answer, or does not let this process ask.
    """

    def __init__(self, location: str, *, key: str | None) -> None:
        self._url = location.removeprefix(SERVED)
        try:
            parts = urlsplit(self._url)
            self._host, self._port = parts.hostname, parts.port
        except ValueError:
            raise _no_server(location) from None
        if parts.username is not None:
            raise SettingsError("the URL of a server holds no key", hint="give it as key=..., or as STITCH_KEY")
        if not self._host:
            raise _no_server(location)
        self._secure, self._path = parts.scheme == "https", parts.path.rstrip("/")
        self._headers: Mapping[str, str] = {} if key is None else {"Authorization": f"Bearer {key}"}
        self._process = OwnProcess(f"the connection to {self._url}")
        self._changed = threading.Lock()
        self._idle: list[http.client.HTTPConnection] = []
        self._closed = False
        in_each_fork(self._leave_to_parent)
        try:
            self.about: About = self.call("about", Nothing())
            """What the server says of the memory."""
        except StitchError:
            self.close()
            raise
        self._welcome = Welcome(
            labeler=self.about.labeler, uses_model=self.about.uses_model, workers=self.about.workers
        )

    @property
    def where(self) -> str:
        """The server, for messages."""
        return f"the server {self._url}"

    @property
    def welcome(self) -> Welcome:
        """What is known of the memory."""
        return self._welcome

    def call(self, operation: str, request: BaseModel, lines: Lines = ()) -> Any:
        """As `Transport.call`."""
        self._process.check()
        asked = OPERATIONS[operation]
        target, body, headers = self._request(asked, request, lines)
        connection, response = self._answered(asked, target, body, headers)
        for _ in range(0 if asked.takes_lines else _MOST_TRIES):
            if response.status != http.client.TOO_MANY_REQUESTS:
                break
            self._read(connection, response, asked)
            time.sleep(_seconds(response.getheader("Retry-After")))
            connection, response = self._answered(asked, target, body, headers)
        if asked.streams and response.status == http.client.OK:
            items = self._items(connection, response, asked)
            first = next(items, None)
            return _chained(first, items)
        content = self._read(connection, response, asked)
        if response.status != http.client.OK:
            raise self._refused(content, response.status)
        return parsed(asked.response, content, where=self.where)

    def _request(
        self, operation: Operation, request: BaseModel, lines: Lines
    ) -> tuple[str, bytes | Iterable[bytes] | None, dict[str, str]]:
        """Where a request goes, its body and its headers."""
        target, headers = self._path + operation.path, dict(self._headers)
        if operation.method == "POST" and not operation.takes_lines:
            headers["Content-Type"] = "application/json"
            return target, request.model_dump_json(exclude_unset=True).encode(), headers
        fields = request.model_dump(mode="json", exclude_unset=True)
        query = urlencode({name: _plain(value) for name, value in fields.items() if value is not None})
        if query:
            target += f"?{query}"
        if not operation.takes_lines:
            return target, None, headers
        headers["Content-Type"] = "application/x-ndjson"
        return target, (line.encode("utf-8", "replace") + b"\n" for line in decoded(lines)), headers

    def _answered(
        self, operation: Operation, target: str, body: Any, headers: Mapping[str, str]
    ) -> tuple[http.client.HTTPConnection, http.client.HTTPResponse]:
        """Send a request; the connection, and the beginning of what is answered.

        Raises:
            StoreUnavailableError: Nobody answers there; nothing was done.
            OwnerLostError: The connection broke before the answer.
        """
        connection = self._connection()
        try:
            if operation.takes_lines:
                with suppress(BrokenPipeError):  # it may have said why
                    chunked = {**headers, "Transfer-Encoding": "chunked"}
                    connection.request(operation.method, target, body=body, headers=chunked, encode_chunked=True)
            else:
                connection.request(operation.method, target, body=body, headers=dict(headers))
            return connection, connection.getresponse()
        except (OSError, http.client.HTTPException) as error:
            connection.close()
            raise self._lost(operation, error) from error

    def _connection(self) -> http.client.HTTPConnection:
        """A connection that is open.

        Raises:
            StoreUnavailableError: Nobody answers.
        """
        while True:
            with self._changed:
                if self._closed:
                    raise StoreError(f"the memory {self._url} is closed", hint="open it again")
                connection = self._idle.pop() if self._idle else None
            if connection is None:
                return self._connected()
            if not _is_spent(connection):
                return connection
            connection.close()

    def _connected(self) -> http.client.HTTPConnection:
        assert self._host is not None
        kind = http.client.HTTPSConnection if self._secure else http.client.HTTPConnection
        connection = kind(self._host, self._port, timeout=_CONNECT_S)
        try:
            connection.connect()
        except OSError as error:
            connection.close()
            reason = (error.strerror or str(error)).lower()
            raise StoreUnavailableError(
                f"no server answers at {self._url}: {reason}", hint="start it there: stitch serve --memory DIR"
            ) from error
        assert connection.sock is not None
        connection.sock.settimeout(ANSWER_S)
        connection.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return connection

    def _read(
        self, connection: http.client.HTTPConnection, response: http.client.HTTPResponse, operation: Operation
    ) -> bytes:
        try:
            content = response.read()
        except (OSError, http.client.HTTPException) as error:
            connection.close()
            raise self._lost(operation, error) from error
        self._keep(connection, response)
        return content

    def _items(
        self, connection: http.client.HTTPConnection, response: http.client.HTTPResponse, operation: Operation
    ) -> Iterator[Any]:
        """What comes back item by item; where it breaks off, the last line says why."""
        whole = False
        try:
            while True:
                try:
                    line = response.readline()
                except (OSError, http.client.HTTPException) as error:
                    raise self._lost(operation, error) from error
                if not line:
                    whole = True
                    return
                if line.startswith(b'{"error":'):
                    raise failure(line, where=self.where)
                if operation.raw:
                    yield operation.response(line=line.decode("utf-8", "replace").rstrip("\n"))
                else:
                    yield parsed(operation.response, line, where=self.where)
        finally:
            if whole:
                self._keep(connection, response)
            else:
                connection.close()

    def _refused(self, content: bytes, status: int) -> StitchError:
        try:
            return as_error(Failure.model_validate_json(content))
        except ValidationError:
            return StoreError(
                f"{self.where} answers {status} and says nothing of a memory",
                hint="is this the URL of `stitch serve`?",
            )

    def _lost(self, operation: Operation, error: Exception) -> OwnerLostError:
        reason = (getattr(error, "strerror", None) or str(error) or type(error).__name__).lower()
        reads = operation.action == "read"
        unknown = "" if reads else f"; whether {operation.name!r} was done is not known"
        return OwnerLostError(
            f"{self.where} ended the connection before it answered ({reason}){unknown}",
            hint="call it again" if reads else "call it again; steps with an id can be given twice",
        )

    def _keep(self, connection: http.client.HTTPConnection, response: http.client.HTTPResponse) -> None:
        with self._changed:
            if not self._closed and not response.will_close and len(self._idle) < _MOST_IDLE:
                self._idle.append(connection)
                return
        connection.close()

    def close(self) -> None:
        """As `Transport.close`."""
        if self._process.is_another:
            return
        with self._changed:
            self._closed = True
            idle, self._idle = self._idle, []
        for each in idle:
            each.close()

    def _leave_to_parent(self) -> None:
        for each in self._idle:
            each.close()


def _no_server(location: str) -> SettingsError:
    return SettingsError(f"{location!r} names no server", hint="write it as stitch+http://HOST:PORT")


def _chained(first: Any, rest: Iterator[Any]) -> Iterator[Any]:
    if first is not None:
        yield first
        yield from rest


def _is_spent(connection: http.client.HTTPConnection) -> bool:
    """Whether the other side has ended a connection while nothing was asked."""
    if connection.sock is None:
        return True
    connection.sock.settimeout(0)
    try:
        if isinstance(connection, http.client.HTTPSConnection):
            connection.sock.recv(1)  # nothing is looked at in advance there; what comes now is of no use either
        else:
            connection.sock.recv(1, socket.MSG_PEEK)
    except (BlockingIOError, ssl.SSLWantReadError):
        connection.sock.settimeout(ANSWER_S)
        return False
    except OSError:
        pass
    return True


def _plain(value: Any) -> str:
    """A value as the query of a URL has it."""
    return value if isinstance(value, str) else json.dumps(value)


def _seconds(said: str | None) -> float:
    try:
        return min(_MOST_PAUSE_S, max(0.0, float(said or 1)))
    except ValueError:
        return 1.0
