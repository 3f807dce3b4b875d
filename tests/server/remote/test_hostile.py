"""What comes over the socket is not believed: garbage, lies about lengths, half messages, silence."""

from __future__ import annotations

import socket
import struct
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stitch import Memory, Step, open_memory
from stitch.server.failures import Failure
from stitch.server.remote import address, wire
from stitch.server.remote.memory import RemoteMemory
from stitch.server.remote.owner import Owner
from stitch.server.remote.protocol import PROTOCOL, Hello
from stitch.server.remote.wire import BadMessageError, Connection, Kind, Message


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with open_memory(tmp_path / "m") as opened:
        opened.add(Step(role="user", content="A hotel in Kyoto."), trajectory="t")
        yield opened


def connected(folder: Path) -> socket.socket:
    end = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    end.settimeout(20)
    end.connect(str(folder / address.SOCKET_FILE))
    return end


def greeted(folder: Path, hello: Hello | None = None) -> tuple[socket.socket, Connection]:
    end = connected(folder)
    connection = Connection(end)
    connection.send(Kind.HELLO, (hello or Hello(tenant="default")).model_dump_json().encode())
    return end, connection


def is_ended(end: socket.socket) -> bool:
    """Whether the other side ends the connection, whatever it says before."""
    try:
        while end.recv(65_536):
            pass
    except ConnectionResetError:
        pass
    return True


def still_answers(folder: Path) -> bool:
    with open_memory(folder) as other:
        assert isinstance(other, RemoteMemory)
        return other.trajectories() == ["t"]


@pytest.mark.parametrize(
    "garbage",
    [
        b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"\x00" * 5,
        b"\xff" * 64,
        struct.pack(">Ic", 2**32 - 1, b"H"),
        struct.pack(">Ic", 5, b"H") + b"nope!",
        struct.pack(">Ic", 2, b"H") + b"{}",
        struct.pack(">Ic", 2, b"Q") + b"{}",
        struct.pack(">Ic", 100_000, b"H") + b"x" * 100_000,
        struct.pack(">Ic", 50, b"H") + b"half",
    ],
)
def test_garbage_ends_its_own_connection_and_nothing_else(memory: Memory, garbage: bytes) -> None:
    with closing(connected(memory.folder)) as end:
        end.sendall(garbage)
        end.shutdown(socket.SHUT_WR)
        assert is_ended(end)
    assert still_answers(memory.folder)


@given(st.binary(max_size=200))
def test_no_bytes_are_a_request_that_breaks_more_than_its_connection(body: bytes) -> None:
    here, there = socket.socketpair()
    with closing(here), closing(there):
        here.sendall(body)
        here.shutdown(socket.SHUT_WR)
        try:
            message = Connection(there).receive(most_bytes=100)
        except BadMessageError:
            return
        assert message is None or isinstance(message, Message)


def test_who_does_not_read_holds_nothing(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    memory.add_many([Step(role="user", content=f"{n} " * 100_000) for n in range(4)], trajectory="long", wait=False)
    end, connection = greeted(memory.folder)
    with closing(end), monkeypatch.context() as hurried:
        assert connection.receive() is not None
        hurried.setattr(wire, "_patience_s", lambda length: 0.1)
        for _ in range(50):
            connection.send(Kind.REQUEST, b'steps\n{"trajectory": "long"}')
        memory.add(Step(role="user", content="More."), trajectory="t")
        assert len(memory.search("hotel", trajectory="t")) == 2
    with open_memory(memory.folder) as other:
        assert other.status().accepted == 6


def test_another_version_is_told_so(memory: Memory) -> None:
    end, connection = greeted(memory.folder, Hello(protocol=PROTOCOL + 1, tenant="default"))
    with closing(end):
        refused = connection.receive()
        assert refused is not None
        assert refused.kind is Kind.FAILURE
        assert "another version" in Failure.model_validate_json(refused.body).message


def test_a_port_takes_only_who_knows_the_token(tmp_path: Path) -> None:
    with open_memory(tmp_path / "m", share=False) as memory:
        memory.add(Step(role="user", content="A hotel."), trajectory="t")
        serving = Owner(lambda tenant: memory, folder=memory.folder, settings={}, unix=False)
        known = address.read_address(memory.folder)
        assert known is not None
        assert known.port is not None
        for token in ("", "x" * len(known.token)):
            with closing(socket.create_connection(("127.0.0.1", known.port), timeout=120)) as end:
                connection = Connection(end)
                connection.send(Kind.HELLO, Hello(tenant="default", token=token).model_dump_json().encode())
                refused = connection.receive()
                assert refused is not None
                assert refused.kind is Kind.FAILURE
        with open_memory(memory.folder) as other:
            assert isinstance(other, RemoteMemory)
            assert other.trajectories() == ["t"]
        assert (memory.folder / address.ADDRESS_FILE).stat().st_mode & 0o777 == 0o600
        serving.close()
        serving.close()
        assert address.read_address(memory.folder) is None


def test_a_link_or_a_file_in_place_of_the_socket_is_not_followed(tmp_path: Path) -> None:
    with open_memory(tmp_path / "real"):
        (tmp_path / "m").mkdir()
        (tmp_path / "m" / address.SOCKET_FILE).symlink_to(tmp_path / "real" / address.SOCKET_FILE)
        assert address.connect(tmp_path / "m") is None
        (tmp_path / "m" / address.SOCKET_FILE).unlink()
        (tmp_path / "m" / address.ADDRESS_FILE).symlink_to(tmp_path / "real" / "journal.sqlite")
        assert address.read_address(tmp_path / "m") is None
