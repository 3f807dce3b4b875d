"""A memory that one process has open is used by another: watched, searched, corrected, written."""

import contextlib
import json
import logging
import os
import signal
import socket
import stat
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from stitch import Memory, Step, open_memory, open_tenants
from stitch.core import StepState
from stitch.errors import ForkedProcessError, OwnerLostError, ScopeError, SettingsError, StitchError, StoreLockedError
from stitch.server import address, joining, running
from stitch.server.client import Client, owner_at
from stitch.server.memory import RemoteMemory
from stitch.server.protocol import Welcome

Begin = Callable[..., subprocess.Popen[str]]
Command = Callable[..., tuple[int, str, str]]

OWNER = """
import sys
from stitch import Step, open_memory, open_tenants
with open_memory(sys.argv[1]) as memory:
    memory.add(Step(role="user", content="Day 1: a hotel in Kyoto."), trajectory="trip")
    print("ready", flush=True)
    for line in sys.stdin:
        memory.add(Step(role="user", content=line.strip()), trajectory="trip")
        print("added", flush=True)
"""
WRITER = """
import sys
from stitch import Step, open_memory, open_tenants
with open_memory(sys.argv[1]) as memory:
    print("ready", flush=True)
    sys.stdin.readline()
    for number in range(int(sys.argv[3])):
        memory.add(Step(role="user", content=f"{sys.argv[2]} {number}"), trajectory="shared")
"""
HANGING = """
import sys, time
from stitch import Step, open_memory, open_tenants
memory = open_memory(sys.argv[1])
memory.add(Step(role="user", content="Day 1: a hotel in Kyoto."), trajectory="trip")
add = memory.add
def hang(step, **options):
    if "hang" in step["content"]:
        print("hangs", flush=True)
        time.sleep(600)
    return add(step, **options)
memory.add = hang
print("ready", flush=True)
sys.stdin.readline()
"""


def said(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def tell(process: subprocess.Popen[str], line: str) -> str:
    assert process.stdin is not None
    process.stdin.write(line + "\n")
    process.stdin.flush()
    return said(process)


@pytest.fixture
def owner(begin: Begin, tmp_path: Path) -> subprocess.Popen[str]:
    process = begin(OWNER, tmp_path / "m")
    assert said(process) == "ready"
    return process


def test_a_second_terminal_watches_searches_and_corrects_what_the_first_writes(
    owner: subprocess.Popen[str], tmp_path: Path, stitch: Command
) -> None:
    with open_memory(tmp_path / "m") as memory:
        assert isinstance(memory, RemoteMemory)
        assert memory.status().owner["pid"] == str(owner.pid)
        assert tell(owner, "The Maple Inn costs 120 dollars.") == "added"
        assert "120 dollars" in memory.search("What does the Maple Inn cost?").context()
        memory.lifecycle.correct("1", trajectory="trip", text="The Maple Inn costs 95 dollars.")
        assert tell(owner, "Now day 2.") == "added"
        assert [entry.step.content for entry in memory.steps("trip")][1:] == [
            "The Maple Inn costs 95 dollars.", "Now day 2.",
        ]  # fmt: skip
    told = json.loads(stitch("reindex", "--memory", tmp_path / "m", "--json")[1])
    assert (told["snippets"], told["written"]) == (3, 3), "the owner builds its store anew"
    assert tell(owner, "Now day 3.") == "added"


@pytest.mark.filterwarnings(
    "ignore:Exception ignored in. <socket:pytest.PytestUnraisableExceptionWarning"
)  # httpcore's
def test_a_killed_owner_is_followed_by_whoever_asks_next(begin: Begin, tmp_path: Path) -> None:
    owner = begin(HANGING, tmp_path / "m")
    assert said(owner) == "ready"
    with open_memory(tmp_path / "m") as memory:
        assert memory.add(Step(role="user", content="Day 2."), trajectory="trip").state is StepState.STORED
        failed: list[StitchError] = []

        def add() -> None:
            try:
                memory.add(Step(role="user", content="It hangs."), trajectory="trip")
            except StitchError as error:
                failed.append(error)

        thread = threading.Thread(target=add)
        thread.start()
        assert said(owner) == "hangs"
        os.kill(owner.pid, signal.SIGKILL)
        owner.wait()
        thread.join(120)
        [error] = failed
        assert isinstance(error, OwnerLostError)
        assert "whether 'add' was done is not known" in error.message
        assert "\n" not in error.message
        assert "steps with an id can be given twice" in error.hint
        assert (tmp_path / "m" / address.SOCKET_FILE).exists(), "a killed owner leaves its socket"
        assert [entry.step.content for entry in memory.steps("trip")][1:] == ["Day 2."], (
            "the next call opens the memory"
        )
        assert memory.add(Step(role="user", content="Day 3."), trajectory="trip").position == 2
        with open_memory(tmp_path / "m") as third:
            assert third.status().owner["pid"] == str(os.getpid())
    with open_memory(tmp_path / "m") as again:
        assert not isinstance(again, RemoteMemory)
        assert again.lifecycle.verify() == (3, 3, ())


def test_two_writers_on_one_trajectory_are_put_in_one_order(begin: Begin, tmp_path: Path) -> None:
    writer = begin(WRITER, tmp_path / "m", "left", 20)
    assert said(writer) == "ready"
    with open_memory(tmp_path / "m") as memory:
        assert writer.stdin is not None
        writer.stdin.write("go\n")
        writer.stdin.flush()
        for number in range(20):
            memory.add(Step(role="user", content=f"right {number}"), trajectory="shared")
        assert writer.wait(120) == 0, writer.stderr and writer.stderr.read()
        entries = list(memory.steps("shared"))
        assert [entry.position for entry in entries] == list(range(40))
        assert len({entry.id for entry in entries}) == 40
        for name in ("left", "right"):
            own = [entry.step.content for entry in entries if entry.step.content.startswith(name)]
            assert own == [f"{name} {number}" for number in range(20)]
        assert memory.lifecycle.verify() == (40, 40, ())


def test_the_owner_closes_while_others_use_the_memory(tmp_path: Path) -> None:
    owner = open_memory(tmp_path / "m")
    other, third = open_memory(tmp_path / "m"), open_memory(tmp_path / "m")
    other.add(Step(role="user", content="Day 1."), trajectory="t")
    third.search("day")
    owner.close()
    assert sorted(path.name for path in (tmp_path / "m").iterdir()) == ["journal.sqlite", "store"]
    assert other.add(Step(role="user", content="Day 2."), trajectory="t").position == 1
    assert len(list(third.steps("t"))) == 2
    assert third.status().owner["pid"] == str(os.getpid())
    other.close()
    assert len(third.search("day").hits) == 2
    third.close()
    with pytest.raises(StitchError, match="is closed"):
        third.search("day")


@contextlib.contextmanager
def leaving(folder: Path, memory: Memory, *, reads: bool, unix: bool) -> Iterator[None]:
    """An owner that says who it is, and leaves when something is asked, which it has read or not."""
    folder.mkdir()
    listening, _ = address.listen(folder, unix=unix)

    def answer() -> None:
        connection, _ = listening.accept()
        with connection, listening:
            asked = connection.recv(65_536)
            while not asked.endswith(b"}"):  # the body comes by itself
                asked += connection.recv(65_536)
            welcome = Welcome.model_validate(memory).model_dump_json().encode()
            head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(welcome)}\r\n\r\n"
            connection.sendall(head.encode() + welcome)
            asked = connection.recv(65_536, 0 if reads else socket.MSG_PEEK)
            while reads and not asked.endswith(b"}"):
                asked += connection.recv(65_536)

    thread = threading.Thread(target=answer)
    thread.start()
    yield
    thread.join(60)


@pytest.mark.parametrize("unix", [True, False])
@pytest.mark.parametrize("reads", [False, True])
def test_what_an_owner_has_not_read_when_it_leaves_is_asked_again(tmp_path: Path, reads: bool, unix: bool) -> None:
    with open_memory(tmp_path / "m") as memory, leaving(tmp_path / "other", memory, reads=reads, unix=unix):
        place = owner_at(tmp_path / "other", tenant="default", settings={})
        assert place is not None
        client = Client(place, what="a memory", come_after=lambda: memory)
        arguments = {"step": Step(role="user", content="Day 1."), "trajectory": "t"}
        try:
            raise ValueError if not reads else ConnectionResetError
        except (ValueError, ConnectionResetError):  # what whoever asks has to do with says nothing of the owner
            if reads:
                with pytest.raises(OwnerLostError, match="whether 'add' was done is not known"):
                    client.call("add", arguments)
            else:
                assert client.call("add", arguments).state is StepState.STORED
        place.http.close()
        assert len(list(memory.steps("t"))) == (0 if reads else 1)


class Cutting(logging.Handler):
    """Knows when a server that ends has waited long enough."""

    def __init__(self) -> None:
        super().__init__()
        self.cut = threading.Event()

    def emit(self, record: logging.LogRecord) -> None:
        if "timeout graceful shutdown" in str(record.msg):
            self.cut.set()


@pytest.mark.parametrize("asked", ["add", "search"])
def test_what_takes_longer_than_an_owner_waits_for_is_answered_by_it_or_asked_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, asked: str
) -> None:
    monkeypatch.setattr(running, "ENDING_S", 0)
    log, cutting, begun = logging.getLogger("uvicorn.error"), Cutting(), threading.Event()
    monkeypatch.setattr(log, "handlers", [cutting])
    monkeypatch.setattr(log, "propagate", False)
    owner = open_memory(tmp_path / "m")
    owner.add("The hotel in Kyoto is the Maple Inn.")
    own = getattr(owner, asked)

    def slow(*given: object, **options: object) -> object:
        begun.set()
        assert cutting.cut.wait(60)
        return own(*given, **options)

    monkeypatch.setattr(owner, asked, slow)
    with open_memory(tmp_path / "m") as other:
        answers: list[Any] = []
        thread = threading.Thread(target=lambda: answers.append(getattr(other, asked)("hotel in Kyoto")))
        thread.start()
        assert begun.wait(60)
        owner.close()
        thread.join(60)
        [answer] = answers
        assert answer.position == 1 if asked == "add" else len(answer.hits) == 1
        assert len(list(other.steps("notes"))) == (2 if asked == "add" else 1)


def test_only_the_user_can_reach_the_socket(tmp_path: Path) -> None:
    with open_memory(tmp_path / "m"):
        mode = (tmp_path / "m" / address.SOCKET_FILE).lstat().st_mode
        assert stat.S_ISSOCK(mode)
        assert stat.S_IMODE(mode) == 0o600


def test_other_settings_are_refused_by_name(tmp_path: Path) -> None:
    with open_memory(tmp_path / "m", recall_log=5, model_key="secret-1"):
        for wrong, told in (
            ({"labels": "model", "model": "a/b"}, "labels: 'local' there, 'model' here"),
            ({"embedder": "openai/x", "embedder_dimension": 8}, "embedder: 'static' there, 'openai/x' here"),
            ({"recall_log": 6}, "recall_log: 5 there, 6 here"),
            ({"model_key": "secret-2"}, r"model_key: \(a secret\) there, \(a secret\) here"),
        ):
            with pytest.raises(SettingsError, match=told) as refused:
                open_memory(tmp_path / "m", **wrong)
            assert "secret-" not in str(refused.value)
        with open_memory(tmp_path / "m", recall_log=5, model_key="secret-1", k=3) as memory:
            assert memory.search("x").request.k == 3


def test_tenants_see_nothing_of_each_other(tmp_path: Path) -> None:
    with open_memory(tmp_path / "m", tenant="ann") as ann, open_memory(tmp_path / "m", tenant="bob") as bob:
        ann.add(Step(role="user", content="Ann's hotel in Kyoto."), trajectory="t")
        assert (bob.trajectories(), bob.search("hotel").hits, bob.tenant) == ([], (), "bob")
        bob.add(Step(role="user", content="Bob's hotel."), trajectory="t")
        assert [hit.snippet.text for hit in ann.search("hotel")] == ["Ann's hotel in Kyoto."]
        with pytest.raises(ScopeError):
            open_memory(tmp_path / "m", tenant=" ")


def test_nothing_is_shared_where_the_settings_say_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(joining, "WAITED_S", 600.0)
    with open_memory(tmp_path / "m", share=False):
        assert not (tmp_path / "m" / address.SOCKET_FILE).exists()
        with pytest.raises(StoreLockedError, match=f"in use by process {os.getpid()}"):
            open_memory(tmp_path / "m")
    assert sorted(path.name for path in (tmp_path / "m").iterdir()) == ["journal.sqlite", "store"]


def test_all_tenants_are_used_through_the_owner_and_opened_here_when_it_has_ended(tmp_path: Path) -> None:
    owner = open_memory(tmp_path / "m", tenant="ann")
    owner.add("Ann was here.")
    with open_tenants(tmp_path / "m") as tenants:
        assert tenants.names() == ["ann"]
        assert isinstance(tenants.memory("bob"), RemoteMemory)
        assert tenants.memory("bob").add("Bob was here.").tenant == "bob"
        assert (tenants.names(), tenants.away, tenants.ledger.total().calls) == (["ann", "bob"], "", 0)
        assert tenants.backup(tmp_path / "b").tenants == 2
        owner.close()
        assert [len(tenants.memory(name).search("was here")) for name in ("ann", "bob")] == [1, 1]
        assert tenants.names() == ["ann", "bob"]
    with open_memory(tmp_path / "m", tenant="ann") as again:
        assert not isinstance(again, RemoteMemory)


def test_a_memory_with_a_long_path_is_answered_for_at_a_port(tmp_path: Path) -> None:
    folder = tmp_path / ("x" * 60) / ("y" * 60)
    with open_memory(folder), open_memory(folder) as other:
        assert isinstance(other, RemoteMemory)
        assert other.add("hello").position == 0
        known = address.read_address(folder)
        assert known is not None
        assert known.port is not None
    assert address.read_address(folder) is None


def test_a_fork_is_refused_and_keeps_nobody_waiting(tmp_path: Path) -> None:
    with open_memory(tmp_path / "m"), open_memory(tmp_path / "m") as other:
        other.add("hello")
        child = os.fork()
        if child == 0:
            try:
                other.search("hello")
            except ForkedProcessError:
                os._exit(7)
            os._exit(1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
        assert other.search("hello")[0].text == "hello"
