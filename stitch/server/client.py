"""Calls of the methods of a memory that another process has open: the owner of its folder, or a server."""

from __future__ import annotations

import inspect
import json
import os
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing
from datetime import datetime
from functools import wraps
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import quote, urlsplit

import httpx
from pydantic import TypeAdapter, ValidationError
from pydantic_core import PydanticSerializationError, to_jsonable_python

from stitch.core.arguments import checked, telling
from stitch.core.json_text import json_lines
from stitch.core.process import ForkGuard
from stitch.errors import InputError, OwnerLostError, SettingsError, StoreError, StoreUnavailableError
from stitch.lifecycle.folder import SERVED
from stitch.memory import Memory
from stitch.server import address
from stitch.server.methods import Method, call_method, method_named, method_names
from stitch.server.protocol import CLOSING, JSON, LINES, TENANT, Failure, Hello, Welcome, as_error

Kind = TypeVar("Kind", bound=type[Any])

_CONNECT_S = 10.0
_JOINING_S = 60.0
"""So long an owner is waited for that has to begin to answer first."""
_ANSWER_S = 3_600.0
"""So long an answer is waited for over a network; at the socket of a folder, for as long as there is an owner."""
_TELLS_UNREAD = os.name == "posix"
"""Elsewhere the system resets all connections of a process that is killed, what it has read or not."""
_FAILURE = TypeAdapter(Failure)


class NotBegunError(Exception):
    """A call that was not begun, and can be repeated."""


class Place:
    """A memory that answers over HTTP.

    Args:
        http: Asks there.
        where: What answers, for messages.
        mark: The file that an owner on this machine removes when it leaves; None of a server. Of what such an owner
            has not read when it ends the system tells: a reset. From a network, one says nothing.
        hello: What is said first.

    Raises:
        NotBegunError: Nobody answers.
        StitchError: Whoever answers does not let this process ask.
    """

    def __init__(self, http: httpx.Client, *, where: str, mark: Path | None, hello: Hello) -> None:
        self.http, self.where, self._mark = http, where, mark
        try:
            self.welcome = self._join(hello)
        except BaseException:
            http.close()
            raise
        if self.welcome.owner:
            self.where = f"process {self.welcome.owner['pid']}, which has {where} open,"

    def _join(self, hello: Hello) -> Welcome:
        try:
            response = self.http.post("/v1/join", json=hello.model_dump(mode="json"), timeout=_JOINING_S)
        except httpx.TransportError as error:
            raise NotBegunError(_reason(error)) from error
        if response.status_code != httpx.codes.OK:
            raise self._refused(response)
        welcome: Welcome = self._read(TypeAdapter(Welcome), response.content)
        return welcome

    def call(self, method: Method, *, of: Any, arguments: Mapping[str, Any], lines: Iterable[str | bytes]) -> Any:
        """The result of a method, or an iterator of its items.

        Raises:
            NotBegunError: The other side is gone, and has not begun with this.
            OwnerLostError: It is gone, and may have begun.
            StitchError: What was raised there.
        """
        body = json.dumps({"arguments": arguments, "of": of}).encode()  # in ASCII: half signs have no other bytes
        response = self._send(method, _with_lines(body, lines) if method.takes_lines else body)
        if response.status_code != httpx.codes.OK:
            with closing(response):
                response.read()
                raise self._refused(response, method)
        return self._items(method, response) if method.streams else self._read(method.result, response.content)

    def _send(self, method: Method, body: bytes | Iterator[bytes]) -> httpx.Response:
        if self._mark is not None and not self._mark.exists():
            raise NotBegunError("its owner has closed it")
        unsent = False

        def note(event: str, _: Mapping[str, Any]) -> None:
            nonlocal unsent
            unsent = unsent or event in ("http11.send_request_headers.failed", "http11.send_request_body.failed")

        headers = {"Content-Type": LINES if method.takes_lines else JSON}
        request = self.http.build_request(
            "POST", f"/v1/call/{method.name}", content=body, headers=headers, extensions={"trace": note}
        )
        try:
            return self.http.send(request, stream=method.streams)
        except (httpx.ConnectError, httpx.ConnectTimeout) as error:
            raise NotBegunError(_reason(error)) from error
        except httpx.TransportError as error:
            unread = self._mark is not None and _TELLS_UNREAD and isinstance(_of_system(error), ConnectionResetError)
            if (unsent or unread) and not method.takes_lines:
                raise NotBegunError(_reason(error)) from error
            raise self._lost(method) from error

    def _items(self, method: Method, response: httpx.Response) -> Iterator[Any]:
        """The items of an answer, a line each."""
        with closing(response):
            try:
                for line in _lines(response.iter_bytes()):
                    if not line.startswith(b"["):
                        raise as_error(self._read(_FAILURE, line))
                    yield self._read(method.result, line[1:-1])
            except httpx.TransportError as error:
                raise self._lost(method) from error

    def _lost(self, method: Method) -> OwnerLostError:
        reads = method.action == "read"
        unknown = "" if reads else f"; whether {method.name!r} was done is not known"
        hint = "the same call again asks whoever has the memory then"
        return OwnerLostError(
            f"{self.where} has ended before it answered{unknown}",
            hint=hint if reads else f"{hint}; steps with an id can be given twice",
        )

    def _refused(self, response: httpx.Response, method: Method | None = None) -> Exception:
        try:
            failure = _FAILURE.validate_json(response.content)
        except ValidationError:
            return StoreError(
                f"{self.where} answers {response.status_code} and says nothing of a memory",
                hint="is this the URL of `stitch serve`?",
            )
        if method is None or failure.error != CLOSING:
            return as_error(failure)
        return self._lost(method) if method.takes_lines else NotBegunError(failure.message)

    def _read(self, adapter: TypeAdapter[Any], content: bytes) -> Any:
        try:
            return adapter.validate_json(content)
        except ValidationError as error:
            first = error.errors()[0]
            raise StoreError(
                f"what {self.where} answers cannot be read: {first['msg']} at {'.'.join(map(str, first['loc']))}",
                hint="use the same version of this library on both sides",
            ) from None


class Client:
    """Calls methods of one tenant's memory, wherever it is; safe to use from several threads.

    Args:
        first: Where it is.
        what: The memory, for messages.
        come_after: Finds it again when whoever answered is gone: somewhere else, or opened in this process.
    """

    def __init__(self, first: Place, *, what: str, come_after: Callable[[], Memory | Place]) -> None:
        self._here: Memory | Place | None = first
        self._gone: list[Place] = []
        self._what, self._come_after = what, come_after
        self._process = ForkGuard(f"the connection to {what}")
        self._turning = threading.Lock()

    @property
    def here(self) -> Memory | Place:
        """The place of the memory; the memory itself, once this process has opened it.

        Raises:
            StoreError: This is closed.
            ForkedProcessError: This is a fork of the process that made it.
        """
        self._process.check()
        if self._here is None:
            raise StoreError(f"{self._what} is closed", hint="open it again")
        return self._here

    @property
    def about(self) -> Welcome:
        """The description of the memory."""
        here = self.here
        return Welcome.model_validate(here) if isinstance(here, Memory) else here.welcome

    @property
    def where(self) -> str:
        """The process or server that answers, for messages."""
        return "this process" if isinstance(self.here, Memory) else self.here.where

    def call(
        self, name: str, arguments: Mapping[str, Any], *, of: Any = None, lines: Iterable[str | bytes] = ()
    ) -> Any:
        """The result of a method by its name, or an iterator of its items.

        Raises:
            OwnerLostError: It is not known whether what was asked was done.
            StitchError: What was raised where the memory is.
        """
        method = method_named(name)
        given = _plain_arguments(arguments, method)
        while True:
            here = self.here
            if isinstance(here, Memory):
                return call_method(here, method, of=of, arguments=given, lines=lines)
            try:
                return here.call(method, of=of, arguments=given, lines=lines)
            except NotBegunError:
                self._turn(here)

    def _turn(self, gone: Place) -> None:
        """Find who has the memory now; one thread does, the others find what it found."""
        with self._turning:
            if self._here is gone:
                self._gone.append(gone)  # in other threads answers of it may still be read
                self._here = self._come_after()

    def close(self) -> None:
        """Let go of the connections, and of the memory if it was opened here; closing twice is harmless."""
        if self._process.is_another:
            return
        with self._turning:
            here, self._here = self._here, None
        for each in (*self._gone, here):
            if isinstance(each, Place):
                each.http.close()
            elif each is not None:
                each.close()


def owner_at(folder: Path, *, tenant: str, settings: Mapping[str, Any]) -> Place | None:
    """The owner of a folder's memory; None if nobody answers.

    Raises:
        StitchError: It does not let this process ask.
    """
    if (known := address.address_of(folder)) is None:
        return None
    headers = {TENANT: quote(tenant)} | ({"Authorization": f"Bearer {known.token}"} if known.token else {})
    uds = str(folder / address.SOCKET_FILE) if known.port is None else None
    transport = httpx.HTTPTransport(uds=uds, verify=False)  # or it reads all certificates of the machine for nothing
    url = f"http://127.0.0.1:{known.port or 80}"
    http = httpx.Client(base_url=url, headers=headers, transport=transport, trust_env=False, timeout=_timeout(None))
    mark = folder / (address.SOCKET_FILE if known.port is None else address.ADDRESS_FILE)
    try:
        return Place(http, where=f"the memory {str(folder)!r}", mark=mark, hello=Hello(settings=settings))
    except NotBegunError:
        return None


def server_at(location: str, *, key: str | None) -> Place:
    """The server of a location, `stitch+http://HOST:PORT`; the key says whose memory is asked.

    Raises:
        SettingsError: This is no URL of a server.
        StoreUnavailableError: No server answers.
        StitchError: It does not let this process ask.
    """
    url = location.removeprefix(SERVED)
    try:
        parts = urlsplit(url)
        if not parts.hostname or parts.port == 0:
            raise ValueError("no host or port")
    except ValueError:
        raise SettingsError(f"{location!r} names no server", hint="write it as stitch+http://HOST:PORT") from None
    if parts.username is not None:
        raise SettingsError("the URL of a server holds no key", hint="give it as key=..., or as STITCH_KEY")
    headers = {} if key is None else {"Authorization": f"Bearer {key}"}
    is_safe, timeout = parts.scheme == "https", _timeout(_ANSWER_S)
    http = httpx.Client(base_url=url, headers=headers, trust_env=False, verify=is_safe, timeout=timeout)
    try:
        return Place(http, where=f"the server {url}", mark=None, hello=Hello())
    except NotBegunError as error:
        raise StoreUnavailableError(
            f"no server answers at {url}: {error}", hint="start it there: stitch serve --memory DIR"
        ) from error.__cause__


def _timeout(answer_s: float | None) -> httpx.Timeout:
    return httpx.Timeout(answer_s, connect=_CONNECT_S)


def _plain_arguments(arguments: Mapping[str, Any], method: Method) -> Mapping[str, Any]:
    """Arguments as JSON has them.

    Raises:
        InputError: One is of a wrong type, or cannot be written.
    """
    local = {name: each.astimezone() for name, each in arguments.items() if isinstance(each, datetime)}
    try:
        plain: Mapping[str, Any] = to_jsonable_python({**arguments, **local})
    except (PydanticSerializationError, RecursionError, ValueError) as error:
        checked(method.given, arguments)
        raise InputError(f"an argument cannot be given to another process: {error}") from None
    return plain


def _with_lines(first: bytes, lines: Iterable[str | bytes]) -> Iterator[bytes]:
    yield first + b"\n"
    for line in json_lines(lines):
        text = line if isinstance(line, bytes) else line.encode("utf-8", "replace")
        yield text.rstrip(b"\r\n") + b"\n"


def _lines(chunks: Iterable[bytes]) -> Iterator[bytes]:
    rest = b""
    for chunk in chunks:
        *lines, rest = (rest + chunk).split(b"\n")
        yield from lines


def _of_system(error: httpx.TransportError) -> OSError | None:
    """The error of the system that ended a connection; None if it was none.

    httpcore raises its own again `from None`, so that it is known by their context alone, and no further down: there
    stands what the caller was about to handle.
    """
    own = error.__cause__ if isinstance(error, httpx.NetworkError) else None
    below = own.__context__ if own is not None else None
    return below if isinstance(below, OSError) else None


def _reason(error: httpx.TransportError) -> str:
    system = _of_system(error)
    return ((system and system.strerror) or str(error) or type(error).__name__).lower()


# Classes whose methods are called in another process.


def passed_on(kind: str) -> Callable[[Kind], Kind]:
    """Class decorator that forwards the methods of a base that can be called elsewhere, unless overridden.

    Args:
        kind: What stands before the point in the names of methods.
    """

    def passing(made: Kind) -> Kind:
        for own in method_names(kind):
            if own not in vars(made) and hasattr(made, own):
                setattr(made, own, _passing(f"{kind}.{own}".lstrip("."), getattr(made, own)))
        return made

    return passing


def _passing(name: str, method: Any) -> Any:
    """A method, or a property, that calls another one elsewhere."""
    if isinstance(method, property):
        return property(lambda self: self._call(name, {}), doc=method.__doc__)
    signature = inspect.signature(method)
    options = next((each.name for each in signature.parameters.values() if each.kind is each.VAR_KEYWORD), "")

    @telling
    @wraps(method)
    def call(self: Any, /, *given: Any, **named: Any) -> Any:
        said = dict(signature.bind(self, *given, **named).arguments)
        del said[next(iter(signature.parameters))]
        more = said.pop(options, {})
        return self._call(name, said | more)

    return call


class Remote:
    """A part of a memory that is somewhere else.

    Args:
        client: Calls its methods there.
        of: What says which part it is, where there are several.
    """

    def __init__(self, client: Client, *, of: Any = None) -> None:
        # Not that of the class it stands for: there are no parts here, and everything that uses some is overridden.
        self._client, self._of = client, of

    def _call(self, name: str, arguments: dict[str, Any], *, lines: Iterable[str | bytes] = ()) -> Any:
        return self._client.call(name, arguments, of=self._of, lines=lines)
