"""Requests to a collection of a Qdrant server or cluster: addresses, options, patience, and errors of our own."""

from __future__ import annotations

import json
import logging
import re
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Literal, TypeAlias, TypeVar
from urllib.parse import urlsplit

from pydantic import BaseModel, Field

from stitch.core.json_text import read_json
from stitch.errors import StoreError, StoreUnavailableError

if TYPE_CHECKING:
    from qdrant_client import QdrantClient

T = TypeVar("T")

_LOOPBACK = re.compile(r"localhost|127(\.\d+){3}|::1")
_AGAIN_S = 0.5
"""After how long a server that is starting is asked again."""
_LEAST_PAUSE_S = 0.05
"""For how long at least who asks to come back later is left alone."""
_GRPC_STATUS = {
    "UNAUTHENTICATED": 401, "PERMISSION_DENIED": 403, "INVALID_ARGUMENT": 400, "NOT_FOUND": 404, "ALREADY_EXISTS": 409,
}  # fmt: skip
"""The statuses of HTTP that errors of gRPC stand for; others say that the server is away."""

_log = logging.getLogger(__name__)


AtLeastOne: TypeAlias = Annotated[int, Field(ge=1)]


class QdrantOptions(BaseModel, frozen=True, extra="forbid"):
    """Options of a collection; what is None is left to the server. The first five matter when it is made."""

    shard_number: AtLeastOne | None = None
    replication_factor: AtLeastOne | None = None
    """Number of nodes that hold each vector. With one, a lost node takes its part of the vectors with it."""
    write_consistency_factor: AtLeastOne | None = None
    """How many of them have to answer before a write counts."""
    large_tenants: tuple[str, ...] = ()
    """Tenants with shards of their own, `shard_number` each; all others share as many. Only a cluster can do so."""
    on_disk: bool | None = None
    """Whether vectors are read from the disk instead of memory."""
    write_ordering: Literal["weak", "medium", "strong"] | None = None
    read_consistency: AtLeastOne | Literal["majority", "quorum", "all"] | None = None
    prefer_grpc: bool = False
    """Whether gRPC (at the port after that of the URL, as 6334) is spoken instead of REST."""


@dataclass(frozen=True, kw_only=True)
class Server:
    """A collection of a Qdrant server, or of a cluster: of its URLs the next is asked when one is away.

    Safe to use from several threads.

    Raises:
        StoreError: A URL is none.
    """

    url: str
    """The URL of a server, or several of a cluster with commas between them."""
    collection: str = "stitch"
    """The collection, which need not be there."""
    api_key: str | None = None
    """The server's key, if it asks for one."""
    timeout_s: float = 30.0
    """How long one request to one URL may take, at least a second. So long the server is also waited for while it is
    starting, and when it asks to come back later."""
    options: QdrantOptions = field(default_factory=QdrantOptions)
    """What the collection is made like, and how it is read and written."""
    minimal: bool = False
    """Whether the server is told numbers, names and labels alone, and no text."""
    client: QdrantClient | None = None
    """A client to use instead of making one; it is not closed."""
    pause: Callable[[float], None] = time.sleep
    """Waits for so many seconds."""
    timer: Callable[[], float] = time.monotonic
    """Gives seconds that no change of the clock moves."""
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False, repr=False, compare=False)
    _clients: dict[str, QdrantClient] = field(default_factory=dict, init=False, repr=False, compare=False)
    _order: list[str] = field(default_factory=list, init=False, repr=False, compare=False)
    """The URLs, the one that answered last first; empty when it is closed."""

    def __post_init__(self) -> None:
        self._order.extend(url for part in self.url.split(",") if (url := part.strip()))
        for url in self._order:
            self._check_address(url)

    @property
    def what(self) -> str:
        """The collection, as messages name it."""
        return f"the collection {self.collection!r} of {self.url!r}"

    def ask(self, doing: str, request: Callable[[QdrantClient], T]) -> T:
        """Make a request, or several that may be repeated together, of the first URL that answers.

        `doing` says what for, as it stands after "cannot" in an error: "search".

        Raises:
            StoreUnavailableError: No URL answers, or the server has no room for the request now.
            StoreError: The server refuses the key or the request, or the connection is closed.
        """
        what, away = f"cannot {doing} {self.what}", None
        for url in tuple(self._order):
            try:
                result = self._patiently(request, self._client(url), what=what, url=url)
            except StoreUnavailableError as error:
                away = away or error
                continue
            with self._lock:
                self._order[:] = sorted(self._order, key=url.__ne__)
            return result
        raise away or StoreError(f"{self.what} is closed")

    def ask_first(self, doing: str, request: Callable[[QdrantClient], T]) -> T:
        """As `ask`, of a server that may be starting: it is waited for as long as a request may take."""
        deadline, told = self.timer() + self.timeout_s, False
        while True:
            try:
                return self.ask(doing, request)
            except StoreUnavailableError as error:
                if self.timer() + _AGAIN_S > deadline:
                    raise
                if not told:
                    _log.warning("waiting for the server for up to %g s: %s", self.timeout_s, error)
                    told = True
                self.pause(_AGAIN_S)

    def close(self) -> None:
        """Let go of the server; closing twice is harmless."""
        with self._lock:
            self._order.clear()
            while self._clients:
                self._clients.popitem()[1].close()

    def _patiently(self, request: Callable[[QdrantClient], T], client: QdrantClient, *, what: str, url: str) -> T:
        """Make a request; come back later where the server asks for it and says when."""
        from grpc import RpcError
        from qdrant_client.common.client_exceptions import QdrantException, ResourceExhaustedResponse
        from qdrant_client.http.exceptions import ResponseHandlingException, UnexpectedResponse

        patience_s = self.timeout_s
        while True:
            try:
                return request(client)
            except (
                QdrantException, ResponseHandlingException, UnexpectedResponse, json.JSONDecodeError, RpcError
            ) as error:  # fmt: skip
                again_s = max(_LEAST_PAUSE_S, getattr(error, "retry_after_s", 0))
                if not isinstance(error, ResourceExhaustedResponse) or again_s > patience_s:
                    raise _own_error(what, error, url=url) from error
                patience_s -= again_s
                self.pause(again_s)

    def _client(self, url: str) -> QdrantClient:
        if self.client is not None:
            return self.client
        with self._lock:
            if not self._order:
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
            headers={"api-key": self.api_key} if self.api_key is not None else None,
            timeout=max(1, round(self.timeout_s)),
            prefer_grpc=self.options.prefer_grpc,
            grpc_port=(urlsplit(url).port or 6333) + 1,
            check_compatibility=False,
            verify=urlsplit(url).scheme == "https",  # or it reads all certificates of the machine for nothing
        )

    def _check_address(self, url: str) -> None:
        reason, parts = "it begins with neither http:// nor https://", None
        try:
            parts = urlsplit(url)
            _ = parts.port
        except ValueError as error:
            parts, reason = None, str(error).lower()
        if parts is None or parts.scheme not in ("http", "https") or not parts.hostname:
            hint = "write it like http://localhost:6333"
            raise StoreError(f"{url!r} is not the address of a qdrant server: {reason}", hint=hint)
        if self.api_key is not None and parts.scheme == "http" and not _LOOPBACK.fullmatch(parts.hostname):
            _log.warning("the key of %s goes over the network unencrypted; https:// hides it", url)


def _own_error(what: str, error: Exception, *, url: str) -> StoreError:
    """An error of the client as one of this library."""
    from grpc import Call
    from qdrant_client.http.exceptions import ResponseHandlingException, UnexpectedResponse

    status, reason = 503, str(error.source if isinstance(error, ResponseHandlingException) else error)
    if isinstance(error, UnexpectedResponse):
        try:
            said = str(read_json(error.content)["status"]["error"])
        except (ValueError, TypeError, LookupError):
            said = str(error)
        status, reason = error.status_code or 500, f"{error.status_code} {error.reason_phrase}: {said}"
    elif isinstance(error, Call):
        status, reason = _GRPC_STATUS.get(error.code().name, 503), error.details() or ""
    elif isinstance(error, json.JSONDecodeError):
        reason = "what answers is no qdrant server"
    reason = " ".join(reason.split()) or "no answer"
    if status in (401, 403):
        return StoreError(f"{what}: the server refuses the key", hint="set STITCH_QDRANT_KEY to a key that may write")
    if status >= 500:  # the server is away
        hint = f"see that a qdrant server runs at {url}, then run the command again"
        return StoreUnavailableError(f"{what}: {reason}", hint=hint)
    return StoreError(f"{what}: {reason}")
