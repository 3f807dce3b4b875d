"""Calls of methods over a connection: what is given up, what is streamed, what is lost."""

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from stitch import Memory, Step, open_memory
from stitch.core.arguments import arguments_of
from stitch.core.cancellation import check_canceled
from stitch.errors import CanceledError, InputError, StitchError
from stitch.lifecycle.selection import Selector
from stitch.server import address
from stitch.server.memory import RemoteMemory
from stitch.server.methods import method_named, method_names
from stitch.testing.model import LoopbackProvider


@pytest.fixture
def own(tmp_path: Path) -> Iterator[Memory]:
    with open_memory(tmp_path / "m") as memory:
        memory.add(Step(role="user", content="Note 0."), trajectory="t")
        yield memory


def note_more(memory: Memory) -> None:
    """So many that they come in several pieces, 600 in all."""
    memory.add_many([Step(role="user", content=f"Note {number}.") for number in range(1, 600)], trajectory="t")


@pytest.fixture
def other(own: Memory) -> Iterator[Memory]:
    with open_memory(own.folder) as memory:
        assert isinstance(memory, RemoteMemory)
        yield memory


def working(
    seconds: float, begun: threading.Event, ended: Callable[[BaseException | None], None]
) -> Callable[..., Any]:
    """A method that goes on until it is given up, or so many seconds are over."""

    def work(*_: object, **__: object) -> int:
        begun.set()
        try:
            until = time.monotonic() + seconds
            while time.monotonic() < until:
                check_canceled()
                time.sleep(0.01)
        except CanceledError as error:
            ended(error)
            raise
        ended(None)
        return 0

    return work


@pytest.mark.parametrize(("method", "given_up"), [("status", True), ("retry", False)])
def test_what_only_reads_is_given_up_when_whoever_asked_has_left(
    own: Memory, monkeypatch: pytest.MonkeyPatch, method: str, given_up: bool
) -> None:
    outcomes: list[BaseException | None] = []
    begun, done = threading.Event(), threading.Event()

    def ended(error: BaseException | None) -> None:
        outcomes.append(error)
        done.set()

    monkeypatch.setattr(own, method, working(120 if given_up else 1, begun, ended))
    body = b'{"arguments": {}}'
    head = f"POST /v1/call/{method} HTTP/1.1\r\nHost: m\r\nContent-Length: {len(body)}\r\n\r\n".encode()
    with closing(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)) as end:
        end.connect(str(own.folder / address.SOCKET_FILE))
        end.sendall(head + body)
        assert begun.wait(120)
    assert done.wait(120)
    assert isinstance(outcomes[0], CanceledError) is given_up


def test_items_come_as_they_are_read_and_what_is_not_read_is_left(own: Memory, other: Memory) -> None:
    note_more(own)
    steps = other.steps("t")
    assert next(steps).position == 0
    assert other.status().accepted == 600, "another call meanwhile has a connection of its own"
    assert [entry.position for entry in steps] == list(range(1, 600))
    left = other.steps("t")
    next(left)
    del left
    assert sum(1 for _ in other.lifecycle.export()) > 600


def test_lines_are_taken_in_as_they_come_and_an_error_of_theirs_is_the_callers(
    own: Memory, other: Memory, tmp_path: Path
) -> None:
    note_more(own)
    lines = list(own.lifecycle.export())
    with open_memory(tmp_path / "copy"), open_memory(tmp_path / "copy") as copy:
        assert copy.lifecycle.import_lines(iter(lines)).steps == 600
        bad = ["no line of an export"]
        assert copy.lifecycle.import_lines(bad) == own.lifecycle.import_lines(bad)
        for whole in ("\n".join(lines), "\r\n".join(lines).encode()):
            assert copy.lifecycle.import_lines(whole).known == own.lifecycle.import_lines(whole).known == 600

        with pytest.raises(StitchError, match="more than 8388608 bytes"):
            copy.lifecycle.import_lines(["x" * 9_000_000])

        def broken() -> Iterator[str]:
            yield lines[0]
            raise KeyError("mine")

        with pytest.raises(KeyError, match="mine"):
            copy.lifecycle.import_lines(broken())
        assert copy.status().accepted == 600


def test_what_was_not_expected_is_told_in_a_line_and_logged(
    own: Memory, other: Memory, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail() -> int:
        raise ValueError("no such disk")

    monkeypatch.setattr(own, "retry", fail)
    with pytest.raises(StitchError, match="the server failed"):
        other.retry()
    assert "no such disk" in caplog.text


def test_an_argument_of_a_wrong_type_is_told_in_the_same_line_here_and_through_a_client(
    own: Memory, other: Memory
) -> None:
    own.trees.create("plan", {"type": "Plan"})
    calls: list[Callable[[Memory], Any]] = [
        lambda memory: list(memory.steps("t", start=object())),  # type: ignore[arg-type]
        lambda memory: list(memory.receipts(state=5)),  # type: ignore[arg-type]
        lambda memory: memory.note_lag("topic", "group", 5),  # type: ignore[arg-type]
        lambda memory: memory.select(5),  # type: ignore[arg-type]
        lambda memory: memory.lifecycle.expire(rules=5),  # type: ignore[arg-type]
        lambda memory: memory.lifecycle.import_lines(5),  # type: ignore[arg-type]
        lambda memory: memory.lifecycle.unretire(Selector(trajectory="t"), by=5),  # type: ignore[arg-type]
        lambda memory: memory.lifecycle.backup(to=5),  # type: ignore[arg-type]
        lambda memory: memory.trees.open("plan", branch={}),  # type: ignore[arg-type]
        lambda memory: memory.trees.create("new", {"type": "Plan"}, author=5),  # type: ignore[arg-type]
        lambda memory: memory.trees.open("plan").edit([], message=5),  # type: ignore[arg-type]
    ]
    for call in calls:
        lines = []
        for memory in (own, other):
            with pytest.raises(InputError) as told:
                call(memory)
            lines.append(told.value.message)
        assert lines[0] == lines[1]
        assert "input should" in lines[0]


@pytest.mark.parametrize("kind", ["", "lifecycle", "hierarchy", "handover", "trees", "tree"])
def test_each_method_tells_arguments_of_a_wrong_type_in_a_line(kind: str) -> None:
    for method in (method_named(f"{kind}.{name}".lstrip(".")) for name in method_names(kind)):
        given = dict.fromkeys(arguments_of(method.run), object())
        if given and method.run.__name__ != "requested":
            with pytest.raises(InputError):
                list(method.run(object(), **given))


def drops_both(system: str, user: str) -> dict[str, Any]:
    """A model that wants two nodes deleted, one after the other, and proposes it."""
    prompt = system.split("objective")[0]
    if "`tasks`" in prompt:
        tasks = [{"kind": "delete", "request": f"drop {name}", "query": f"//POI[@id = '{name}']"} for name in "ab"]
        return {"tasks": tasks, "question": ""}
    name = "b" if "drop b" in user else "a"
    return {"operations": [f'{{"op": "delete", "id": "{name}"}}'], "message": f"no {name}"}


@pytest.mark.parametrize(("confirm", "left"), [(False, 2), (True, 0), (lambda reply: reply.request == "drop b", 1)])
def test_a_request_in_words_does_the_same_here_and_through_a_client(tmp_path: Path, confirm: Any, left: int) -> None:
    told: list[Any] = []
    plan = {"type": "Plan", "children": [{"type": "POI", "id": name} for name in "ab"]}
    with LoopbackProvider(drops_both) as provider:
        model: dict[str, Any] = {"model": "openai/m", "base_url": provider.base_url, "labels": "local"}
        with open_memory(tmp_path / "m", **model) as own, open_memory(tmp_path / "m", **model) as other:
            for memory in (own, other):
                tree = memory.trees.create(f"plan-{len(told)}", plan)
                replies = tree.request("drop all", confirm=confirm)
                commits = [reply.commit and (reply.commit.id, reply.commit.message) for reply in replies]
                said = [(reply.kind, reply.query, reply.answer, reply.operations, str(reply.diff)) for reply in replies]
                found = [reply.selection and reply.selection.ids for reply in replies]
                told.append((commits, said, found, tree.version, [node.id for node in tree.tree][1:]))
    assert told[0] == told[1]
    assert len(told[0][-1]) == left
