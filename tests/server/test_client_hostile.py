"""What comes over the socket of a memory is not believed: garbage, half requests, silence, wrong arguments."""

import json
import socket
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import httpx
import pytest

from stitch import Memory, Step, open_memory, open_tenants
from stitch.server import address
from stitch.server.memory import RemoteMemory
from stitch.server.owner import Owner


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Memory]:
    with open_memory(tmp_path_factory.mktemp("hostile") / "m") as opened:
        opened.add(Step(role="user", content="A hotel in Kyoto."), trajectory="t")
        yield opened


def connected(folder: Path) -> socket.socket:
    end = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    end.settimeout(60)
    end.connect(str(folder / address.SOCKET_FILE))
    return end


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


@pytest.fixture
def http(memory: Memory) -> Iterator[httpx.Client]:
    transport = httpx.HTTPTransport(uds=str(memory.folder / address.SOCKET_FILE))
    with httpx.Client(transport=transport, base_url="http://m", headers={"Stitch-Tenant": "default"}) as client:
        yield client


@pytest.mark.parametrize(
    "garbage",
    [
        b"\x00" * 5,
        b"\xff" * 64,
        b"GET / HTTP/1.1\r\n\r\n",
        b"POST /v1/call/search HTTP/1.1\r\nHost: m\r\nContent-Length: 100\r\n\r\nhalf",
        b"POST /v1/call/search HTTP/1.1\r\nHost: m\r\nContent-Length: -1\r\n\r\n",
    ],
)
def test_garbage_ends_its_own_connection_and_nothing_else(memory: Memory, garbage: bytes) -> None:
    with closing(connected(memory.folder)) as end:
        end.sendall(garbage)
        end.shutdown(socket.SHUT_WR)
        assert is_ended(end)
    assert still_answers(memory.folder)


@pytest.mark.parametrize(
    ("name", "body", "told"),
    [
        ("search", b"", "first line of a call"),
        ("search", b"[]", "first line of a call"),
        ("search", b"{" * 100_000, "first line of a call"),
        ("search", b'{"arguments": {}}', "query: field required"),
        ("search", b'{"arguments": {"query": "x", "colour": 1}}', "colour"),
        ("search", b'{"arguments": {"query": "x", "k": "many"}}', "k"),
        ("close", b'{"arguments": {}}', "no method"),
        ("lifecycle.__init__", b'{"arguments": {}}', "no method"),
        ("tree.select", b'{"arguments": {"query": "//x"}, "of": 5}', "arguments"),
        ("tree.select", b'{"arguments": {"query": "//x"}, "of": ["none", "main", "v1"]}', "no tree 'none'"),
        ("handover.windows", b'{"arguments": {}, "of": {"model": "x"}}', "window_steps"),
    ],
)
def test_a_call_that_is_none_is_refused_in_a_line(http: httpx.Client, name: str, body: bytes, told: str) -> None:
    answer = http.post(f"/v1/call/{name}", content=body)
    failure = answer.json()
    assert (answer.status_code, set(failure)) == (422, {"error", "message", "hint"})
    assert told in failure["message"]
    assert "\n" not in failure["message"]


def test_who_names_no_tenant_or_another_version_is_told_so(http: httpx.Client) -> None:
    refused = http.post("/v1/call/status", content=b'{"arguments": {}}', headers={"Stitch-Tenant": "%20"})
    assert (refused.status_code, refused.json()["error"]) == (403, "ScopeError")
    refused = http.post("/v1/join", json={"protocol": 1})
    assert "another version" in refused.json()["message"]


def test_who_does_not_read_holds_nothing(memory: Memory) -> None:
    memory.add_many([Step(role="user", content="x" * 500_000) for _ in range(3)], trajectory="long", wait=False)
    body = json.dumps({"arguments": {"trajectory": "long"}}).encode()
    asked = b"POST /v1/call/steps HTTP/1.1\r\nHost: m\r\nStitch-Tenant: default\r\nContent-Length: %d\r\n\r\n%b"
    with closing(connected(memory.folder)) as end:
        end.sendall(asked % (len(body), body))
        assert end.recv(100).startswith(b"HTTP/1.1 200")
        memory.add(Step(role="user", content="More."), trajectory="t")
        with open_memory(memory.folder) as other:
            assert other.status().accepted == 5


def test_a_port_takes_only_who_knows_the_token(tmp_path: Path) -> None:
    with open_tenants(tmp_path / "m", share=False) as tenants:
        memory = tenants.memory("default")
        memory.add(Step(role="user", content="A hotel."), trajectory="t")
        serving = Owner(tenants, folder=memory.folder, settings={}, unix=False)
        known = address.read_address(memory.folder)
        assert known is not None
        assert known.port is not None
        for token in ("x", "x" * len(known.token)):
            headers = {"Stitch-Tenant": "default", "Authorization": f"Bearer {token}"}
            refused = httpx.post(f"http://127.0.0.1:{known.port}/v1/join", json={}, headers=headers)
            assert "token" in refused.json()["message"]
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
        assert address.address_of(tmp_path / "m") is None
        assert not address.is_answered(tmp_path / "m")
        (tmp_path / "m" / address.SOCKET_FILE).unlink()
        (tmp_path / "m" / address.ADDRESS_FILE).symlink_to(tmp_path / "real" / "journal.sqlite")
        assert address.read_address(tmp_path / "m") is None
