"""Messages over a connection: a length of four bytes, one byte that says what it is, then so many bytes of JSON."""

from __future__ import annotations

import socket
import struct
import time
from contextlib import suppress
from enum import Enum
from typing import NamedTuple

MOST_BYTES = 256 * 2**20
"""The longest message."""
MOST_HELLO_BYTES = 64 * 2**10
"""The longest message of somebody who has not said yet who it is."""
PATIENCE_S = 30.0
"""So long may a message that has begun, or its receiver, keep the other side waiting."""

_LEAST_BYTES_PER_S = 1e6
_HEAD = struct.Struct(">Ic")
_PIECE_BYTES = 2**20


def _patience_s(length: int) -> float:
    """How many seconds so many bytes may take."""
    return PATIENCE_S + length / _LEAST_BYTES_PER_S


class Kind(bytes, Enum):
    """What a message is."""

    HELLO = b"H"
    """Of whoever asks, once: who it is, and what it takes for granted."""
    WELCOME = b"W"
    """The answer to it."""
    REQUEST = b"Q"
    """The name of an operation, a line break, the request."""
    LINES = b"L"
    """Lines for an operation that takes some: a list of texts."""
    END = b"E"
    """No more lines, or no more items."""
    RESPONSE = b"O"
    ITEM = b"I"
    """One of an answer that comes item by item."""
    PROGRESS = b"P"
    """How far what was asked is: what is done, how much of it, of how much; for those who said that they read it."""
    FAILURE = b"F"
    CLOSING = b"C"
    """The memory is being closed; what was asked was not done."""


class BadMessageError(Exception):
    """What came is no message; the connection cannot be used any more."""


class Message(NamedTuple):
    """A message that came."""

    kind: Kind
    body: bytes


class Connection:
    """One end of a connection. Used by one thread at a time."""

    def __init__(self, end: socket.socket) -> None:
        self._socket = end

    def send(self, kind: Kind, *body: bytes) -> None:
        """Send a message.

        Raises:
            OSError: The other side is gone, or takes nothing; it did not get the whole message.
            BadMessageError: It is too long; nothing was sent.
        """
        length = sum(map(len, body))
        if length > MOST_BYTES:
            raise BadMessageError(f"{length} bytes are more than a message may have ({MOST_BYTES})")
        self._socket.settimeout(_patience_s(length))
        self._socket.sendall(b"".join((_HEAD.pack(length, kind.value), *body)))

    def receive(self, *, most_bytes: int = MOST_BYTES, wait_s: float | None = None) -> Message | None:
        """The next message; None if the other side has ended the connection behind the last one.

        One longer than `most_bytes` is refused. Its beginning is waited for `wait_s` seconds, for good if None.

        Raises:
            OSError: The connection broke, or the time is over.
            BadMessageError: What came is no message, is too long, or ends in its midst.
        """
        self._socket.settimeout(wait_s)
        head = self._socket.recv(_HEAD.size)
        if not head:
            return None
        head += self._read(_HEAD.size - len(head))
        length, kind = _HEAD.unpack(head)
        if length > most_bytes:
            raise BadMessageError(f"a message of {length} bytes is announced, at most {most_bytes} are taken")
        try:
            return Message(Kind(kind), self._read(length))
        except ValueError:
            raise BadMessageError(f"{kind!r} is no kind of message") from None

    def _read(self, length: int) -> bytes:
        deadline = time.monotonic() + _patience_s(length)
        pieces = []  # never room for all that is announced: it may never come
        while length:
            self._socket.settimeout(max(0.001, deadline - time.monotonic()))
            piece = self._socket.recv(min(length, _PIECE_BYTES))
            if not piece:
                raise BadMessageError("it ended in the midst of a message")
            pieces.append(piece)
            length -= len(piece)
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    @property
    def is_spent(self) -> bool:
        """Whether the other side has ended it, or said something that nobody asked for, while nothing was asked."""
        self._socket.settimeout(0)
        try:
            self._socket.recv(1, socket.MSG_PEEK)
        except BlockingIOError:
            return False
        except OSError:
            pass
        return True

    @property
    def is_left(self) -> bool:
        """Whether the other side has ended it; what it may have said meanwhile stays to be read."""
        self._socket.settimeout(0)
        try:
            return not self._socket.recv(1, socket.MSG_PEEK)
        except BlockingIOError:
            return False
        except OSError:
            return True

    def refuse_more(self) -> None:
        """Take no more from the other side but what has come already; what it sends from now on does not reach us."""
        self._shut(socket.SHUT_RD)

    def cut(self) -> None:
        """End it at once, whatever is under way in another thread."""
        self._shut(socket.SHUT_RDWR)

    def _shut(self, how: int) -> None:
        with suppress(OSError):  # the other side was faster
            self._socket.shutdown(how)

    def close(self) -> None:
        """Let go of it."""
        self._socket.close()
