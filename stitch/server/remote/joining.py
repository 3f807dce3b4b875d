"""The other side: requests to the owner of a memory in a folder, over its socket."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson
from pydantic import BaseModel

from stitch.core.files import make_private_folder
from stitch.core.process import OwnProcess, in_each_fork
from stitch.core.progress import tell
from stitch.errors import InputError, OwnerLostError, ScopeError, StoreError, StoreLockedError
from stitch.lifecycle.folder import own_folder
from stitch.server.remote import address
from stitch.server.remote.protocol import Hello, Welcome
from stitch.server.remote.transport import Lines, decoded, failure, parsed
from stitch.server.remote.wire import MOST_BYTES, BadMessageError, Connection, Kind, Message

if TYPE_CHECKING:
    from stitch.core.retention import RetentionRule
    from stitch.memory import Memory
    from stitch.server.api.operations import Operation

LINES_AT_A_TIME = 256
OPENING_S = 60.0
"""So long an owner is waited for that is opening the memory: it may have to finish what was interrupted."""
HOLDING_S = 20.0
"""So long somebody is waited for who holds the memory and has not said that it will answer."""

_GREETING_S = 10.0
_LOOK_S, _LOOKS = 0.02, 10
_MOST_IDLE = 8
"""So many connections wait for the next request."""


class _NotDoneError(Exception):
    """What was asked was not done, and can be asked again."""


class FolderTransport:
    """Asks the owner of a folder's memory; when it has closed the memory or is gone, whoever comes after it.

    `come_after` gives another way to the memory when its owner is gone: it opens it, or finds the next owner.
    """

    def __init__(
        self,
        folder: Path,
        *,
        hello: Hello,
        first: Connection,
        welcome: Welcome,
        come_after: Callable[[], Memory | Joined],
    ) -> None:
        self._folder, self._hello, self._come_after = folder, hello, come_after
        self._welcome = welcome
        self._process = OwnProcess(f"the connection to the memory {str(folder)!r}")
        self._changed = threading.Lock()
        self._turning = threading.Lock()
        self._idle = [first]
        self._own: Memory | None = None
        """The memory, once this process has opened it itself."""
        self._closed = False
        in_each_fork(self._leave_to_parent)

    @property
    def where(self) -> str:
        """The owner, for messages."""
        return f"process {self._welcome.pid}, which has the memory {str(self._folder)!r} open,"

    @property
    def welcome(self) -> Welcome:
        """What the owner said of the memory."""
        return self._welcome

    def call(self, operation: str, request: BaseModel, lines: Lines = ()) -> Any:
        """As `Transport.call`."""
        from stitch.server.api.operations import (  # an eighth of what opening a memory loads, and seldom needed
            OPERATIONS,
            ask,
        )

        self._process.check()
        asked = OPERATIONS[operation]
        body = request.model_dump_json(exclude_unset=True).encode()
        if len(body) > MOST_BYTES - 1024:
            raise InputError(
                f"{len(body)} bytes are too much for one request to another process", hint="give less at a time"
            )
        while True:
            connection = self._connection()
            if connection is None:
                assert self._own is not None
                return ask(self._own, operation, request, lines)
            try:
                return self._asked(connection, asked, body, lines)
            except _NotDoneError:
                connection.close()

    def _asked(self, connection: Connection, operation: Operation, body: bytes, lines: Lines) -> Any:
        """Ask over a connection, which is kept for the next time if all goes well.

        Raises:
            _NotDoneError: The owner is gone, or is closing the memory, and has not begun with this.
        """
        try:
            connection.send(Kind.REQUEST, operation.name.encode(), b"\n", body)
        except OSError:
            raise _NotDoneError from None
        kept = False
        try:
            if operation.takes_lines:
                self._send_lines(connection, lines)
            if operation.streams:
                items = self._items(connection, operation)
                first = next(items, None)  # here, so that what is refused is refused at once
                kept = True  # by who reads on
                return _chained(first, items)
            answer = self._received(connection, operation)
            kept = True
            self._keep(connection)
        finally:
            if not kept:
                connection.close()
        if answer.kind is Kind.FAILURE:
            raise failure(answer.body, where=self.where)
        return parsed(operation.response, answer.body, where=self.where)

    def _send_lines(self, connection: Connection, lines: Lines) -> None:
        batch: list[str] = []
        try:
            for line in decoded(lines):
                batch.append(line)
                if len(batch) == LINES_AT_A_TIME:
                    connection.send(Kind.LINES, orjson.dumps(batch))
                    batch.clear()
            connection.send(Kind.LINES, orjson.dumps(batch))
            connection.send(Kind.END)
        except OSError:
            return  # it may have said why

    def _items(self, connection: Connection, operation: Operation) -> Iterator[Any]:
        """What comes back item by item; the connection is kept behind the last, and ended with who stops reading."""
        whole = False
        try:
            while True:
                kind, body = self._received(connection, operation)
                whole = kind is not Kind.ITEM
                if kind is Kind.FAILURE:
                    raise failure(body, where=self.where)
                if whole:
                    return
                yield parsed(operation.response, body, where=self.where)
        finally:
            if whole:
                self._keep(connection)
            else:
                connection.close()

    def _received(self, connection: Connection, operation: Operation) -> Message:
        """The next message of an answer.

        Raises:
            _NotDoneError: The memory is being closed, and nothing was done.
            OwnerLostError: There is none.
        """
        while True:
            try:
                message = connection.receive()
                if message is None or message.kind is not Kind.PROGRESS:
                    break
                what, done, of = orjson.loads(message.body)
            except (OSError, BadMessageError, TypeError, ValueError) as error:
                raise self._lost(operation) from error
            tell(what, done, of)  # who looks on may raise what it likes: the owner is there all the same
        if message is None:
            raise self._lost(operation)
        if message.kind is Kind.CLOSING:
            raise _NotDoneError
        return message

    def _lost(self, operation: Operation) -> OwnerLostError:
        reads = operation.action == "read"
        unknown = "" if reads else f"; whether {operation.name!r} was done is not known"
        hint = "the same call again asks whoever has the memory then, or opens it"
        if not reads:
            hint += "; steps with an id can be given twice"
        return OwnerLostError(f"{self.where} has ended before it answered{unknown}", hint=hint)

    def _connection(self) -> Connection | None:
        """A connection to the owner; None if this process has opened the memory itself."""
        while True:
            with self._changed:
                if self._closed:
                    raise StoreError(f"the memory {str(self._folder)!r} is closed", hint="open it again")
                if self._own is not None:
                    return None
                idle = self._idle.pop() if self._idle else None
            if idle is None:
                break
            if not idle.is_spent:
                return idle
            idle.close()
        with self._turning:  # one thread looks for the next owner; the others find what it found
            joined = greeted(self._folder, self._hello)
            if joined is None and self._own is None:
                found = self._come_after()
                if isinstance(found, Joined):
                    joined = found
                else:
                    with self._changed:
                        self._own = found
            if joined is None:
                return None
            self._welcome = joined.welcome
            return joined.connection

    def _keep(self, connection: Connection) -> None:
        with self._changed:
            if not self._closed and len(self._idle) < _MOST_IDLE:
                self._idle.append(connection)
                return
        connection.close()

    def close(self) -> None:
        """Let go of the connections, and of the memory if it was opened here."""
        if self._process.is_another:
            return
        with self._changed:
            self._closed = True
            idle, own = self._idle, self._own
            self._idle, self._own = [], None
        for each in idle:
            each.close()
        if own is not None:
            own.close()

    def _leave_to_parent(self) -> None:
        """In a fork: the owner shall see that the parent is gone when it is."""
        for each in self._idle:
            with suppress(OSError):
                each.close()


def _chained(first: Any, rest: Iterator[Any]) -> Iterator[Any]:
    if first is not None:
        yield first
        yield from rest


class Joined:
    """A memory of another process that was found."""

    def __init__(self, connection: Connection, welcome: Welcome) -> None:
        self.connection, self.welcome = connection, welcome


def greeted(folder: Path, hello: Hello) -> Joined | None:
    """Greet the owner of a folder's memory; None if nobody answers.

    Raises:
        StitchError: The owner does not let this process ask.
    """
    found = address.connect(folder)
    if found is None:
        return None
    end, token = found
    connection = Connection(end)
    try:
        said = hello.model_copy(update={"token": token, "progress": True})
        connection.send(Kind.HELLO, said.model_dump_json().encode())
        message = connection.receive(wait_s=_GREETING_S)
    except (OSError, BadMessageError):
        message = None
    if message is None or message.kind not in (Kind.WELCOME, Kind.FAILURE):
        connection.close()
        return None
    if message.kind is Kind.FAILURE:
        connection.close()
        raise failure(message.body, where="the process that has the memory open")
    return Joined(connection, parsed(Welcome, message.body, where="the process that has the memory open"))


def join_or_open(
    folder: Path,
    *,
    hello: Hello,
    note: Path,
    open_here: Callable[[], Memory],
    defaults: Mapping[str, Any] | None = None,
    retention: Sequence[RetentionRule] | None = None,
    lent: bool = False,
) -> Memory:
    """The memory of a folder: through the process that has it open, or else opened here.

    `open_here` raises a `StoreLockedError` if another process holds the memory. Other options are those of
    `RemoteMemory`.

    Raises:
        StoreLockedError: Another process holds it and does not answer.
        SettingsError: The process that has it open has other settings.
    """

    def come_after() -> Memory | Joined:
        return found(folder, hello, note=note, open_here=open_here)

    first = come_after()
    if not isinstance(first, Joined):
        return first
    from stitch.server.remote.memory import RemoteMemory

    transport = FolderTransport(
        folder, hello=hello, first=first.connection, welcome=first.welcome, come_after=come_after
    )
    return RemoteMemory(
        transport, tenant=hello.tenant, folder=folder, defaults=defaults, retention=retention, lent=lent
    )


def served_memory(
    location: str,
    *,
    key: str | None,
    tenant: str | None = None,
    defaults: Mapping[str, Any] | None = None,
    retention: Sequence[RetentionRule] | None = None,
) -> Memory:
    """The memory that a server has open.

    It has to be that of the tenant, if one is named. Other options are those of `RemoteMemory`.

    Raises:
        ScopeError: The key is for another tenant.
        StitchError: The server does not answer, or refuses the key.
    """
    from stitch.server.remote.http import HttpTransport
    from stitch.server.remote.memory import RemoteMemory

    transport = HttpTransport(location, key=key)
    whose = transport.about.tenant
    if tenant not in (None, whose):
        transport.close()
        raise ScopeError(
            f"the key is for the memory of another tenant than {tenant!r}", hint="leave out the tenant: the key says it"
        )
    folder = own_folder(location)
    make_private_folder(folder, parents=True)
    return RemoteMemory(transport, tenant=whose, folder=folder, defaults=defaults, retention=retention)


def found(folder: Path, hello: Hello, *, note: Path, open_here: Callable[[], Memory]) -> Memory | Joined:
    """The owner of a memory, which is waited for while it opens it; or the memory, opened here."""
    begun = time.monotonic()
    while True:
        joined = greeted(folder, hello)
        if joined is not None:
            return joined
        try:
            return open_here()
        except StoreLockedError:
            waited_s = time.monotonic() - begun
            known = address.read_address(folder)
            opens = known is not None and known.pid == address.holder(note)
            if (known is not None and opens and not known.share) or waited_s > (OPENING_S if opens else HOLDING_S):
                raise
        _pause(folder)


def _pause(folder: Path) -> None:
    """Wait until an owner may answer, or somebody may open the memory."""
    for _ in range(_LOOKS):
        time.sleep(_LOOK_S)
        if (folder / address.SOCKET_FILE).exists():
            return
