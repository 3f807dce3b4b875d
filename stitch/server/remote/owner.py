"""The owner's side: answers other processes that use the memory which this one has open."""

from __future__ import annotations

import logging
import os
import platform
import secrets
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext, suppress
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson
from pydantic import BaseModel, JsonValue, ValidationError

from stitch.core.cancellation import cancelable
from stitch.core.process import OwnProcess, in_each_fork
from stitch.core.progress import watched
from stitch.errors import InputError, SettingsError, StitchError
from stitch.server.failures import Failure, failure_of
from stitch.server.remote import address
from stitch.server.remote.protocol import PROTOCOL, TENANTS, Hello, TenantNames, Welcome
from stitch.server.remote.wire import MOST_HELLO_BYTES, BadMessageError, Connection, Kind, Message

if TYPE_CHECKING:
    from stitch.memory import Memory
    from stitch.server.api.operations import Operation

MOST_CONNECTIONS = 64
"""As many connections are kept; for one more, the one that has been idle longest is ended."""

_GREETING_S = 10.0
_CLOSING_S = 10.0
"""So long what is under way is waited for when the memory is closed."""
_PAUSE_S = 0.1
_TOLD_EVERY_S = 0.25
_BUSY = float("inf")

_log = logging.getLogger(__name__)


class Owner:
    """Answers on a socket in a memory's folder, from threads of its own, until it is closed.

    Args:
        memory_of: Gives the memory of a tenant, always the same one.
        folder: Of the memory, which this process owns.
        settings: How the memory is set; whoever takes something else for granted is told so, and not served.
        guarded: Settings that a tenant must have named who is not `only`: it did not choose them.
        only: The tenant for whom the memory was opened; None if for all.
        names: Gives the tenants that have steps.
        unix: Whether the socket is a Unix socket where there are any.

    Raises:
        StoreError: There can be no socket.
    """

    def __init__(
        self,
        memory_of: Callable[[str], Memory],
        *,
        folder: Path,
        settings: Mapping[str, JsonValue],
        guarded: frozenset[str] = frozenset(),
        only: str | None = None,
        names: Callable[[], Sequence[str]] = tuple,
        unix: bool = True,
    ) -> None:
        self._memory_of, self._folder = memory_of, folder
        self._settings, self._guarded, self._only = settings, guarded, only
        self._names = names
        self._process = OwnProcess("the socket of a memory")
        self._started = datetime.now(timezone.utc).isoformat(timespec="seconds")
        self._changed = threading.Condition()
        self._served: dict[Connection, float] = {}
        """The connections, each with when it was last idle; `_BUSY` while something is under way."""
        self._closing = False
        self._listening = address.listen(folder, unix=unix)
        in_each_fork(self._leave_to_parent)
        self._accepting = threading.Thread(target=self._accept, name="stitch-owner", daemon=True)
        self._accepting.start()

    def close(self) -> None:
        """Take nothing more, finish what is under way, and let go of the socket; closing twice is harmless.

        What is not finished after some seconds is cut off.
        """
        if self._process.is_another:
            return
        with self._changed:
            if self._closing:
                return
            self._closing = True
            self._listening.wake()
            address.remove(self._folder)
            if self._listening.path is not None:
                self._listening.path.unlink(missing_ok=True)
            for each, idle_since in self._served.items():
                if idle_since < _BUSY:
                    each.refuse_more()
            if not self._changed.wait_for(lambda: not self._served, _CLOSING_S):
                _log.warning("%d requests of other processes are cut off: they took too long", len(self._served))
                for each in self._served:
                    each.cut()
        self._accepting.join(_CLOSING_S)
        self._listening.socket.close()

    def _leave_to_parent(self) -> None:
        """In a fork: whoever asks must not find the parent's sockets open when the parent is gone."""
        self._listening.socket.close()
        for connection in self._served:
            connection.close()

    # Connections.

    def _accept(self) -> None:
        while not self._closing:
            try:
                end, _ = self._listening.socket.accept()
            except OSError as error:  # no more files may be open, or it is being closed
                if not self._closing:
                    _log.warning("another process could not be let in: %s", error.strerror)
                    time.sleep(_PAUSE_S)
                continue
            self._begin(Connection(end))

    def _begin(self, connection: Connection) -> None:
        with self._changed:
            if self._closing:
                connection.close()
                return
            if len(self._served) >= MOST_CONNECTIONS:
                longest = min(self._served, key=self._served.__getitem__)
                if self._served[longest] == _BUSY:
                    connection.close()
                    return
                longest.cut()
                self._served[longest] = _BUSY  # it has not ended yet, and is not to be chosen again
            self._served[connection] = time.monotonic()
        threading.Thread(target=self._serve, args=(connection,), name="stitch-owner-answers", daemon=True).start()

    def _serve(self, connection: Connection) -> None:
        try:
            memory, tells = self._greeted(connection)
            while memory is not None:
                message = connection.receive()
                if message is None:
                    break
                if not self._is_begun(connection):
                    connection.send(Kind.CLOSING)
                    continue
                try:
                    self._answer(connection, memory, message, tells=tells)
                finally:
                    self._is_done(connection)
        except (OSError, BadMessageError) as error:
            _log.info("a connection of another process has ended: %s", error)
        finally:
            connection.close()
            with self._changed:
                self._served.pop(connection, None)
                self._changed.notify_all()

    def _is_begun(self, connection: Connection) -> bool:
        """Note that something is under way; false if nothing more is begun."""
        with self._changed:
            if not self._closing:
                self._served[connection] = _BUSY
            return not self._closing

    def _is_done(self, connection: Connection) -> None:
        with self._changed:
            self._served[connection] = time.monotonic()
            if self._closing:
                connection.refuse_more()

    # What is said.

    def _greeted(self, connection: Connection) -> tuple[Memory | None, bool]:
        """The memory that somebody may ask who says who it is, and whether it is told how far work is; or None."""
        message = connection.receive(most_bytes=MOST_HELLO_BYTES, wait_s=_GREETING_S)
        if message is None:
            return None, False
        try:
            hello = self._hello_of(message)
            memory = self._memory_of(hello.tenant)
        except StitchError as error:
            connection.send(Kind.FAILURE, failure_of(error).model_dump_json().encode())
            return None, False
        welcome = Welcome(
            pid=os.getpid(),
            host=platform.node(),
            started=self._started,
            labeler=memory.labeler,
            uses_model=memory.uses_model,
            workers=memory.workers,
        )
        connection.send(Kind.WELCOME, welcome.model_dump_json().encode())
        return memory, hello.progress

    def _hello_of(self, message: Message) -> Hello:
        try:
            hello = Hello.model_validate_json(message.body)
        except ValidationError:
            raise InputError("what was said first is no greeting") from None
        if message.kind is not Kind.HELLO or not secrets.compare_digest(
            hello.token.encode(), self._listening.token.encode()
        ):
            raise InputError("what was said first is no greeting, or not with the token of this memory")
        if hello.protocol != PROTOCOL:
            raise SettingsError(
                f"process {os.getpid()} has the memory open with another version of this library",
                hint="use the same version, or end that process",
            )
        self._check(hello)
        return hello

    def _check(self, hello: Hello) -> None:
        """Refuse whoever takes other settings for granted than those with which the memory is open.

        Raises:
            SettingsError: Names the first of them.
        """
        taken = dict(hello.settings)
        if self._only not in (None, hello.tenant):
            taken = {**dict.fromkeys(self._guarded), **taken}
        for name, value in taken.items():
            own = self._settings.get(name)
            if own == value:
                continue
            if value is None:
                raise SettingsError(
                    f"process {os.getpid()} has the memory open with {name} {own!r}, for another tenant",
                    hint=f"set {name} as it does, or end that process",
                )
            there, here = _shown(own), _shown(value)
            raise SettingsError(
                f"process {os.getpid()} has the memory open with another {name}: {there} there, {here} here",
                hint=f"leave {name} out, or end that process",
            )

    def _answer(self, connection: Connection, memory: Memory, message: Message, *, tells: bool) -> None:
        """Do what is asked, and say what came of it: a response, items, or a failure; on the way, how far it is.

        Who still sends lines reads nothing, and is told nothing.
        """
        lines = _Lines(connection)
        try:
            if message.kind is Kind.REQUEST and message.body.partition(b"\n")[0] == TENANTS.encode():
                connection.send(Kind.RESPONSE, _json(TenantNames(names=tuple(self._names()))))
                return
            operation, request = _understood(message)
            if operation.takes_lines:
                lines.are_due = True
                response = operation.run(memory, request, lines)
                lines.pass_over()
                connection.send(Kind.RESPONSE, _json(response))
                return
            gives_up = (lambda: connection.is_left) if operation.only_reads(request) else None
            with watched(_Told(connection)) if tells else nullcontext(), cancelable(gives_up):
                response = operation.run(memory, request)
                for item in response if operation.streams else ():
                    connection.send(Kind.ITEM, _json(item))
            if operation.streams:
                connection.send(Kind.END)
            else:
                connection.send(Kind.RESPONSE, _json(response))
        except StitchError as error:
            self._fail(connection, failure_of(error), lines)
        except (BadMessageError, ConnectionError, TimeoutError):  # of the connection, which is of no use any more
            raise
        except Exception as error:  # noqa: BLE001 - whoever asked must not wait for an answer that never comes
            _log.exception("a request of another process failed")
            self._fail(connection, Failure(error="StitchError", message=_said(error)), lines)

    def _fail(self, connection: Connection, failure: Failure, lines: _Lines) -> None:
        lines.pass_over()
        connection.send(Kind.FAILURE, failure.model_dump_json().encode())


class _Told:
    """Tells whoever has asked how far the work is, but no more often than a person reads."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._told_at = 0.0

    def __call__(self, what: str, done: int, of: int | None) -> None:
        now = time.monotonic()
        if now - self._told_at < _TOLD_EVERY_S:
            return
        self._told_at = now
        with suppress(OSError):  # who has asked may be gone; what was asked is done all the same
            self._connection.send(Kind.PROGRESS, orjson.dumps([what, done, of]))


class _Lines:
    """The lines that follow a request, as they come."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self.are_due = False

    def __iter__(self) -> Iterator[str]:
        while self.are_due:
            message = self._connection.receive(wait_s=_GREETING_S)
            if message is None or message.kind not in (Kind.LINES, Kind.END):
                raise BadMessageError("it ended in the midst of lines")
            if message.kind is Kind.END:
                self.are_due = False
                return
            lines = orjson.loads(message.body)
            if not isinstance(lines, list) or not all(isinstance(line, str) for line in lines):
                raise BadMessageError("lines are a list of texts")
            yield from lines

    def pass_over(self) -> None:
        """Read those that are left: else they would be taken for what is asked next."""
        for _ in self:
            pass


def _understood(message: Message) -> tuple[Operation, BaseModel]:
    """What is asked.

    Raises:
        InputError: No such thing can be asked, or not so.
    """
    from stitch.server.api.operations import (
        OPERATIONS,  # an eighth of what opening a memory loads, and most are never asked
    )

    name, _, body = message.body.partition(b"\n")
    if message.kind is not Kind.REQUEST or name.decode("utf-8", "replace") not in OPERATIONS:
        raise InputError(f"{name[:40].decode('utf-8', 'replace')!r} cannot be asked of a memory")
    operation = OPERATIONS[name.decode()]
    try:
        return operation, operation.request.model_validate_json(body)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"])) or "request"
        raise InputError(f"{where}: {str(first['msg']).removeprefix('Value error, ').lower()}") from None


def _json(answer: BaseModel) -> bytes:
    return answer.model_dump_json(exclude_unset=True).encode()


def _shown(value: Any) -> str:
    """A setting as a message may hold it: a secret is there as a digest, which says nothing."""
    if value is None:
        return "none"
    return "(a secret)" if isinstance(value, str) and value.startswith("digest:") else repr(value)


def _said(error: Exception) -> str:
    reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return f"the process that has the memory open could not do it: {type(error).__name__}: {reason.lower()}"
