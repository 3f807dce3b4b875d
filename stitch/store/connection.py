"""Requests to a collection of a Qdrant server or cluster: its addresses, patience, and errors of our own."""

from __future__ import annotations

import json
import logging
import re
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import urlsplit

from stitch.core.json_text import read_json
from stitch.errors import StoreError, StoreUnavailableError
from stitch.store.options import QdrantOptions

if TYPE_CHECKING:
    from qdrant_client import QdrantClient
    from qdrant_client.http.exceptions import UnexpectedResponse

T = TypeVar("T")

_LOOPBACK = re.compile(r"localhost|127(\.\d+){3}|::1")

_AGAIN_S = 0.5
"""After how long a server that is starting is asked again."""

_LEAST_PAUSE_S = 0.05
"""For how long at least who asks to come back later is left alone."""

_log = logging.getLogger(__name__)


def addresses(location: str) -> tuple[str, ...]:
    """The URLs that a location names, with commas between them."""
    return tuple(url for part in location.split(",") if (url := part.strip()))


@dataclass(frozen=True, kw_only=True)
class Server:
    """A collection of a Qdrant server or cluster, and how it is spoken to."""

    url: str
    """The URL of a server, or several of a cluster with commas between them."""
    collection: str = "stitch"
    """The collection, which need not be there."""
    api_key: str | None = None
    """The server's key, if it asks for one."""
    timeout_s: float = 30.0
    """How long one request to one URL may take."""
    options: QdrantOptions = field(default_factory=QdrantOptions)
    """What the collection is made like, and how it is read and written."""
    minimal: bool = False
    """Whether the server is told numbers, names and labels alone, and no text."""
    client: QdrantClient | None = None
    """A client to use instead of making one; it is not closed."""

    def connect(self) -> Connection:
        """A way to the collection.

        Raises:
            StoreError: A URL is none.
        """
        return Connection(
            self.url,
            collection=self.collection,
            api_key=self.api_key,
            timeout_s=self.timeout_s,
            options=self.options,
            client=self.client,
        )

    @property
    def what(self) -> str:
        """The collection, as messages name it."""
        return f"the collection {self.collection!r} of {self.url!r}"


class Connection:
    """A way to a collection, by one URL or by several of a cluster; of these the next is asked when one is away.

    Safe to use from several threads.

    Args:
        location: The URL of a server, or several with commas between them.
        timeout_s: Whole seconds, at least one. So long the server is also waited for while it is starting, and when it
            asks to come back later.
        client: A client to use instead of making one; it is not closed.
        pause: Waits for so many seconds.
        timer: Gives seconds that no change of the clock moves.

    Raises:
        StoreError: A URL is none.
    """

    def __init__(
        self,
        location: str,
        *,
        collection: str,
        api_key: str | None = None,
        timeout_s: float = 30.0,
        options: QdrantOptions = QdrantOptions(),  # noqa: B008 - it is frozen
        client: QdrantClient | None = None,
        pause: Callable[[float], None] = time.sleep,
        timer: Callable[[], float] = time.monotonic,
    ) -> None:
        self.location = location
        self.collection = collection
        self._urls = addresses(location)
        self.options = options
        self._api_key, self._timeout_s = api_key, timeout_s
        self._pause, self._timer = pause, timer
        self._lent = client
        self._lock = threading.Lock()
        self._clients: dict[str, QdrantClient] = {}
        self._turn = 0
        """Which of the URLs answered last."""
        self._closed = False
        for url in self._urls:
            self._check_address(url)

    @property
    def what(self) -> str:
        """The collection, as messages name it."""
        return f"the collection {self.collection!r} of {self.location!r}"

    def ask(self, doing: str, request: Callable[[QdrantClient], T]) -> T:
        """Make a request, or several that may be repeated together, of the first URL that answers.

        Args:
            doing: What for, as it stands after "cannot" in an error: "search".
            request: Is given the client to make them with.

        Raises:
            StoreUnavailableError: No URL answers, or the server has no room for the request now.
            StoreError: The server refuses the key or the request, or the connection is closed.
        """
        if self._closed:
            raise StoreError(f"{self.what} is closed")
        what, first = f"cannot {doing} {self.what}", self._turn
        errors = []
        for turn in range(first, first + len(self._urls)):
            number = turn % len(self._urls)
            url = self._urls[number]
            try:
                with _own_errors(what, url=url):
                    result = self._patiently(request, self._client(url))
            except StoreUnavailableError as error:
                errors.append(error)
                continue
            self._turn = number
            return result
        raise errors[0]

    def ask_first(self, doing: str, request: Callable[[QdrantClient], T]) -> T:
        """As `ask`, of a server that may be starting: it is waited for as long as a request may take."""
        deadline, told = self._timer() + self._timeout_s, False
        while True:
            try:
                return self.ask(doing, request)
            except StoreUnavailableError as error:
                if self._timer() + _AGAIN_S > deadline:
                    raise
                if not told:
                    _log.warning("waiting for the server for up to %g s: %s", self._timeout_s, error)
                    told = True
                self._pause(_AGAIN_S)

    def close(self) -> None:
        """Let go of the server; closing twice is harmless."""
        with self._lock:
            self._closed = True
            while self._clients:
                self._clients.popitem()[1].close()

    def _patiently(self, request: Callable[[QdrantClient], T], client: QdrantClient) -> T:
        """Make a request; come back later where the server asks for it and says when."""
        from qdrant_client.common.client_exceptions import ResourceExhaustedResponse

        patience_s = self._timeout_s
        while True:
            try:
                return request(client)
            except ResourceExhaustedResponse as error:
                again_s = max(_LEAST_PAUSE_S, error.retry_after_s)
                if again_s > patience_s:
                    raise
                patience_s -= again_s
                self._pause(again_s)

    def _client(self, url: str) -> QdrantClient:
        if self._lent is not None:
            return self._lent
        with self._lock:
            if self._closed:
                raise StoreError(f"{self.what} is closed")
            if url not in self._clients:
                self._clients[url] = self._connect(url)
            return self._clients[url]

    def _connect(self, url: str) -> QdrantClient:
        from qdrant_client import QdrantClient

        # A key that is given as a header is not warned of. The check of versions would ask the server from a thread of
        # its own, and warn instead of failing.
        return QdrantClient(
            url=url,
            headers={"api-key": self._api_key} if self._api_key is not None else None,
            timeout=max(1, round(self._timeout_s)),
            prefer_grpc=self.options.prefer_grpc,
            grpc_port=(urlsplit(url).port or 6333) + 1,
            check_compatibility=False,
            verify=urlsplit(url).scheme == "https",  # or it reads all certificates of the machine for nothing
        )

    def _check_address(self, url: str) -> None:
        try:
            parts = urlsplit(url)
            _ = parts.port
        except ValueError as error:
            raise _no_address(url, str(error)) from error
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise _no_address(url, "it begins with neither http:// nor https://")
        if self._api_key is not None and parts.scheme == "http" and not _LOOPBACK.fullmatch(parts.hostname):
            _log.warning("the key of %s goes over the network unencrypted; https:// hides it", url)


@contextmanager
def _own_errors(what: str, *, url: str) -> Iterator[None]:
    import grpc
    from qdrant_client.common.client_exceptions import QdrantException
    from qdrant_client.http.exceptions import ResponseHandlingException, UnexpectedResponse

    try:
        yield
    except ResponseHandlingException as error:
        raise _unavailable(what, str(error.source), url=url) from error
    except QdrantException as error:
        raise _unavailable(what, str(error), url=url) from error
    except json.JSONDecodeError as error:
        raise _unavailable(what, "what answers is no qdrant server", url=url) from error
    except UnexpectedResponse as error:
        if error.status_code in (401, 403):
            raise _refused(what) from error
        if (error.status_code or 500) >= 500:
            raise _unavailable(what, str(error), url=url) from error
        raise StoreError(f"{what}: {_answer(error)}") from error
    except grpc.RpcError as error:
        code = error.code() if isinstance(error, grpc.Call) else None
        reason = error.details() if isinstance(error, grpc.Call) else str(error)
        if code in (grpc.StatusCode.UNAUTHENTICATED, grpc.StatusCode.PERMISSION_DENIED):
            raise _refused(what) from error
        if code in (grpc.StatusCode.INVALID_ARGUMENT, grpc.StatusCode.NOT_FOUND, grpc.StatusCode.ALREADY_EXISTS):
            raise StoreError(f"{what}: {_line(reason or '')}") from error
        raise _unavailable(what, reason or "", url=url) from error


def _no_address(url: str, reason: str) -> StoreError:
    hint = "write it like http://localhost:6333"
    return StoreError(f"{url!r} is not the address of a qdrant server: {reason.lower()}", hint=hint)


def _unavailable(what: str, reason: str, *, url: str) -> StoreUnavailableError:
    hint = f"see that a qdrant server runs at {url}, then run the command again"
    return StoreUnavailableError(f"{what}: {_line(reason) or 'no answer'}", hint=hint)


def _refused(what: str) -> StoreError:
    return StoreError(f"{what}: the server refuses the key", hint="set STITCH_QDRANT_KEY to a key that may write")


def _answer(error: UnexpectedResponse) -> str:
    """What a server answers that refuses a request, in one line."""
    try:
        said = str(read_json(error.content)["status"]["error"])
    except (ValueError, TypeError, LookupError):
        said = str(error)
    return _line(f"{error.status_code} {error.reason_phrase}: {said}")


def _line(reason: str) -> str:
    return " ".join(reason.split())
