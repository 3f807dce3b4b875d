"""The address of the owner of a memory: a Unix socket in its folder, or a port of this machine.

A port is taken where there are no Unix sockets, the path of the folder is too long for one, or its file system takes
none. A file in the folder tells it, with a token that only who may read the file can know.
"""

from __future__ import annotations

import os
import secrets
import socket
import stat
from contextlib import suppress
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from stitch.core.files import PRIVATE_FILE, read_short, replace_file
from stitch.core.json_text import read_json
from stitch.errors import StoreError, system_reason

SOCKET_FILE = "owner.sock"
"""The socket in the folder of a memory."""
ADDRESS_FILE = "owner.address"
"""Says where the owner answers, if not there."""
_NOTE_BYTES = 1 << 16

_MOST_PATH_BYTES = 100
"""The path of a socket has at most 103 bytes on macOS, and 107 on Linux."""
_CONNECT_S = 5.0
_BACKLOG = 64


class Address(BaseModel, frozen=True):
    """The place where the owner of a memory answers, as the address file tells it."""

    pid: int = 0
    """Of the owner; 0 where only its socket is there."""
    share: bool = True
    """Whether it answers at all."""
    port: int | None = None
    """A port of this machine; None where it is the socket in the folder."""
    token: str = ""
    """What whoever connects to a port has to know; the permissions of its file guard a Unix socket."""


def listen(folder: Path, *, unix: bool = True) -> tuple[socket.socket, Address]:
    """Begin to listen for the folder's memory, in place of a socket that a killed owner left. Only for its owner.

    Args:
        folder: Of the memory.
        unix: Whether a Unix socket is tried; else, and where there are none, it is a port of this machine.

    Raises:
        StoreError: It cannot be.
    """
    folder = folder.absolute()
    remove(folder)
    place = folder / SOCKET_FILE
    if unix and hasattr(socket, "AF_UNIX") and len(os.fsencode(place)) <= _MOST_PATH_BYTES:
        with suppress(OSError):
            return _listen_at(place), Address(pid=os.getpid())
    return _listen_at_port(folder)


def _listen_at(place: Path) -> socket.socket:
    """A listening socket that only this user can reach.

    Raises:
        OSError: The system does not make it.
    """
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        listener.bind(str(place))
        os.chmod(place, PRIVATE_FILE)  # nobody can connect before it listens
        listener.listen(_BACKLOG)
    except OSError:
        listener.close()
        raise
    return listener


def _listen_at_port(folder: Path) -> tuple[socket.socket, Address]:
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        listener.bind(("127.0.0.1", 0))
        listener.listen(_BACKLOG)
        own = Address(pid=os.getpid(), port=listener.getsockname()[1], token=secrets.token_urlsafe(32))
        write_address(folder, own)
    except OSError as error:
        listener.close()
        raise StoreError(f"no port of this machine can be had: {system_reason(error)}") from error
    return listener, own


def announce(folder: Path, *, share: bool) -> None:
    """Say in the folder that this process owns the memory and is opening it, and whether it will answer.

    Who comes meanwhile waits for that, or does not. Where it cannot be said, nobody waits long.
    """
    remove(folder)
    with suppress(OSError):
        write_address(folder, Address(pid=os.getpid(), share=share))


def write_address(folder: Path, address: Address) -> None:
    """Say in the folder where its owner answers.

    Raises:
        OSError: It cannot be written.
    """
    replace_file(folder / ADDRESS_FILE, address.model_dump_json().encode())


def read_address(folder: Path) -> Address | None:
    """The address file of a folder; None if there is none, or none that can be read."""
    try:
        return Address.model_validate_json(read_short(folder / ADDRESS_FILE, most_bytes=_NOTE_BYTES))
    except (OSError, ValidationError, UnicodeDecodeError):
        return None


def remove(folder: Path) -> None:
    """Remove what says where an owner answers. Only for the owner: it is its own, or of one that is gone."""
    place = folder / SOCKET_FILE
    with suppress(OSError):
        (folder / ADDRESS_FILE).unlink()
    with suppress(OSError):
        if stat.S_ISSOCK(place.lstat().st_mode):  # what is no socket stays
            place.unlink()


def holder(note: Path) -> int | None:
    """The process that says in a note that it holds a memory; None if none says so."""
    try:
        return int(read_json(read_short(note, most_bytes=_NOTE_BYTES))["pid"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def address_of(folder: Path) -> Address | None:
    """The place to connect to for a folder's memory, as far as its files tell; None if there is none."""
    known = read_address(folder) or Address()
    if not known.share or known.port is not None:
        return known if known.share else None
    try:
        about = (folder / SOCKET_FILE).lstat()
    except OSError:
        return None
    is_own = stat.S_ISSOCK(about.st_mode) and about.st_uid in (os.getuid(), 0)
    return known if is_own else None


def is_answered(folder: Path) -> bool:
    """Whether somebody listens where the owner of a folder's memory answers."""
    if (known := address_of(folder)) is None:
        return False
    place: Any = str(folder / SOCKET_FILE) if known.port is None else ("127.0.0.1", known.port)
    with socket.socket(socket.AF_UNIX if known.port is None else socket.AF_INET, socket.SOCK_STREAM) as knocking:
        knocking.settimeout(_CONNECT_S)
        try:
            knocking.connect(place)
        except OSError:
            return False
    return True
