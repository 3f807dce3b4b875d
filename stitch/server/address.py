"""The address of the owner of a memory: a Unix socket in its folder, or elsewhere, which a file in the folder tells.

The socket is in a folder for run-time files where the path of the memory's own is too long for a socket, or its file
system takes none; where there are no Unix sockets at all it is a port of this machine, with a token that only who may
read the file can know.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import socket
import stat
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from pydantic import BaseModel, ValidationError

from stitch.core.files import PRIVATE_FILE, private, read_short
from stitch.core.json_text import read_json
from stitch.errors import StoreError
from stitch.lifecycle.read_only import own_temporary_folder

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
    """The content of the address file."""

    pid: int
    """Of the owner."""
    share: bool = True
    """Whether it answers at all."""
    socket: str | None = None
    port: int | None = None
    token: str = ""


class Target(NamedTuple):
    """The place to connect to: a socket, or a port of this machine."""

    path: Path | None
    port: int | None
    token: str


class Listening(NamedTuple):
    """A socket on which somebody listens."""

    socket: socket.socket
    path: Path | None
    """Its file."""
    token: str
    """What whoever connects has to know; empty for a Unix socket, which the permissions of its file guard."""


def listen(folder: Path, *, unix: bool = True) -> Listening:
    """Begin to listen for the folder's memory, in place of a socket that a killed owner left. Only for its owner.

    Args:
        folder: Of the memory.
        unix: Whether a Unix socket is tried; else, and where there are none, it is a port of this machine.

    Raises:
        StoreError: It cannot be.
    """
    folder = folder.absolute()
    remove(folder)
    if not (unix and hasattr(socket, "AF_UNIX")):
        return _listen_at_port(folder)
    reasons = []
    for place in (folder / SOCKET_FILE, _elsewhere(folder)):
        try:
            listener = _listen_at(place)
        except (OSError, StoreError) as error:
            reasons.append(str(error).lower())
            continue
        if place.parent != folder:
            write_address(folder, Address(pid=os.getpid(), socket=str(place)))
        return Listening(listener, place, "")
    raise StoreError(f"other processes cannot use the memory {str(folder)!r} through this one: {'; '.join(reasons)}")


def _listen_at(place: Path) -> socket.socket:
    """A listening socket that only this user can reach.

    Raises:
        OSError: The system does not make it.
    """
    if len(os.fsencode(place)) > _MOST_PATH_BYTES:
        raise OSError(f"the path {str(place)!r} is too long for a socket")
    _remove_socket(place)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        listener.bind(str(place))
        os.chmod(place, PRIVATE_FILE)  # nobody can connect before it listens
        listener.listen(_BACKLOG)
    except OSError:
        listener.close()
        raise
    return listener


def _listen_at_port(folder: Path) -> Listening:
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        listener.bind(("127.0.0.1", 0))
        listener.listen(_BACKLOG)
        token = secrets.token_urlsafe(32)
        write_address(folder, Address(pid=os.getpid(), port=listener.getsockname()[1], token=token))
    except OSError as error:
        listener.close()
        raise StoreError(f"no port of this machine can be had: {(error.strerror or str(error)).lower()}") from error
    return Listening(listener, None, token)


def _elsewhere(folder: Path) -> Path:
    """The socket's place among the files that last as long as the user is logged in."""
    runtime = os.environ.get("XDG_RUNTIME_DIR")
    name = f"stitch-{hashlib.sha256(os.fsencode(folder.resolve())).hexdigest()[:24]}.sock"
    if runtime and Path(runtime).is_dir() and os.access(runtime, os.W_OK):
        return Path(runtime) / name
    return own_temporary_folder() / name


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
    path = folder / ADDRESS_FILE
    fresh = path.with_name(f"{ADDRESS_FILE}.new")
    fresh.unlink(missing_ok=True)
    with open(fresh, "w", opener=private) as file:
        file.write(address.model_dump_json())
    fresh.replace(path)


def read_address(folder: Path) -> Address | None:
    """The address file of a folder; None if there is none, or none that can be read."""
    try:
        return Address.model_validate_json(read_short(folder / ADDRESS_FILE, most_bytes=_NOTE_BYTES))
    except (OSError, ValidationError, UnicodeDecodeError):
        return None


def remove(folder: Path) -> None:
    """Remove what says where an owner answers. Only for the owner: it is its own, or of one that is gone."""
    address = read_address(folder)
    with suppress(OSError):
        (folder / ADDRESS_FILE).unlink()
    _remove_socket(folder / SOCKET_FILE)
    if address is not None and address.socket is not None and Path(address.socket) == _elsewhere(folder):
        _remove_socket(Path(address.socket))


def _remove_socket(path: Path) -> None:
    """Remove a socket; what is none stays where it is."""
    with suppress(OSError):
        if stat.S_ISSOCK(path.lstat().st_mode):
            path.unlink()


def holder(note: Path) -> int | None:
    """The process that says in a note that it holds a memory; None if none says so."""
    try:
        return int(read_json(read_short(note, most_bytes=_NOTE_BYTES))["pid"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def target_in(folder: Path) -> Target | None:
    """The place to connect to for a folder's memory, as far as its files tell; None if there is none."""
    known = read_address(folder)
    if known is not None and not known.share:
        return None
    if known is not None and known.port is not None:
        return Target(None, known.port, known.token)
    path = folder / SOCKET_FILE if known is None or known.socket is None else Path(known.socket)
    try:
        about = path.lstat()
    except OSError:
        return None
    return Target(path, None, "") if stat.S_ISSOCK(about.st_mode) and about.st_uid in (os.getuid(), 0) else None


def is_answered(folder: Path) -> bool:
    """Whether somebody listens where the owner of a folder's memory answers."""
    if (target := target_in(folder)) is None:
        return False
    kind, place = (socket.AF_UNIX, str(target.path)) if target.path else (socket.AF_INET, ("127.0.0.1", target.port))
    with socket.socket(kind, socket.SOCK_STREAM) as knocking:
        knocking.settimeout(_CONNECT_S)
        try:
            knocking.connect(place)
        except OSError:
            return False
    return True
