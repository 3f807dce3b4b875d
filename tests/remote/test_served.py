"""A memory that is served over HTTP, used as any other: what goes wrong on the way is said in one line."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import IO

import pytest

from stitch import Step, open_memory, open_tenants
from stitch.cli import main
from stitch.errors import (
    InputError,
    OwnerLostError,
    ScopeError,
    SettingsError,
    StitchError,
    StoreError,
    StoreUnavailableError,
)
from stitch.maintenance import backup_memory, restore_memory

ABOUT = b'{"tenant": "default", "labeler": "local-4", "uses_model": false, "workers": 1}'


def answer(body: bytes, *, status: bytes = b"200 OK", more: bytes = b"") -> bytes:
    return b"HTTP/1.1 %s\r\nContent-Length: %d\r\n%s\r\n%s" % (status, len(body), more, body)


def read_request(asked: IO[bytes]) -> None:
    """Read one request to its end."""
    length = 0
    for line in iter(asked.readline, b"\r\n"):
        if not line:
            return
        if line.lower().startswith(b"content-length:"):
            length = int(line.split(b":")[1])
    asked.read(length)


@contextmanager
def answering(*answers: bytes) -> Iterator[str]:
    """The location of something that answers each request on a connection with the next of these; then it hangs up."""
    with closing(socket.create_server(("127.0.0.1", 0))) as listener:

        def serve() -> None:
            try:
                end, _ = listener.accept()
            except OSError:
                return
            with closing(end), end.makefile("rb") as asked:
                for each in answers:
                    read_request(asked)
                    end.sendall(each)

        thread = threading.Thread(target=serve)
        thread.start()
        yield f"stitch+http://127.0.0.1:{listener.getsockname()[1]}"
        listener.shutdown(socket.SHUT_RDWR)
    thread.join(120)


def test_where_nobody_answers_it_is_said_how_to_serve_a_memory() -> None:
    with closing(socket.socket()) as taken:  # and kept, so that nobody else can come to listen there
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        with pytest.raises(StoreUnavailableError, match=f"no server answers at http://127.0.0.1:{port}") as refused:
            open_memory(f"stitch+http://127.0.0.1:{port}")
    assert "stitch serve" in refused.value.hint


@pytest.mark.parametrize("location", ["stitch+http://", "stitch+http://h:port", "stitch+http://user:key@h:1"])
def test_what_names_no_server_is_refused(location: str) -> None:
    with pytest.raises(SettingsError) as refused:
        open_memory(location)
    assert "user" not in refused.value.message


def test_something_else_that_answers_is_told_from_a_memory() -> None:
    page, told = answer(b"<html>not found</html>", status=b"404 Not Found"), "answers 404 and says nothing of a memory"
    with answering(page) as location, pytest.raises(StoreError, match=told):
        open_memory(location)
    with answering(answer(b"[]")) as location, pytest.raises(StoreError, match="cannot be read"):
        open_memory(location)


def test_a_refusal_keeps_its_message_and_hint() -> None:
    refusal = b'{"error": "NoKey", "message": "there is no key", "hint": "stitch keys add"}'
    with answering(answer(refusal, status=b"401 Unauthorized")) as location:
        with pytest.raises(StitchError, match="there is no key") as refused:
            open_memory(location, key="wrong")
        assert refused.value.hint == "stitch keys add"


@pytest.mark.parametrize(
    ("call", "unknown"),
    [
        (lambda memory: memory.add(Step(role="user", content="x"), trajectory="t"), True),
        (lambda memory: memory.search("x"), False),
    ],
)
def test_a_server_that_is_lost_in_the_midst_of_a_call_is_told_of(
    call: Callable[..., object], unknown: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    half = b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{"
    for last in (half, b""):
        with answering(answer(ABOUT), last) as location, open_memory(location) as memory:
            with pytest.raises(OwnerLostError, match="before it answered") as lost:
                call(memory)
            assert ("is not known" in lost.value.message) is unknown


def test_a_busy_server_is_asked_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    busy = answer(b'{"error": "Busy", "message": "busy"}', status=b"429 Busy", more=b"Retry-After: 0\r\n")
    done = answer(b'{"stored": 3, "failed": 0}')
    with answering(answer(ABOUT), busy, busy, done) as location, open_memory(location) as memory:
        assert memory.retry() == 3


def test_settings_that_a_server_cannot_be_told_are_refused(served: str) -> None:
    with pytest.raises(SettingsError, match="the setting 'labels' is of no use"):
        open_memory(served, labels="local")
    with pytest.raises(SettingsError, match="observers are of no use"):
        open_memory(served, observers=[print])  # type: ignore[list-item]
    with pytest.raises(ScopeError, match="another tenant than 'ann'"):
        open_memory(served, tenant="ann")
    with open_memory(served, tenant="default", k=2) as memory:
        assert memory.search("x").request.k == 2


def test_a_folder_that_is_served_is_used_by_its_folder_too(served: str, tmp_path: Path) -> None:
    with open_memory(served) as far, open_memory(tmp_path / "m") as near:
        far.add(Step(role="user", content="A hotel."), trajectory="t")
        near.add(Step(role="user", content="A train."), trajectory="t")
        assert [entry.step.content for entry in far.steps("t")] == ["A hotel.", "A train."]
        assert far.folder != near.folder


def test_commands_work_with_a_served_memory(
    served: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "trip.jsonl").write_text('{"role": "user", "content": "Find a hotel in Kyoto."}\n')

    def run(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr("sys.argv", ["stitch", *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
        out, err = capfd.readouterr()
        return int(ended.value.code or 0), out, err

    assert run("ingest", str(tmp_path / "trip.jsonl"), "--memory", served)[0] == 0
    assert "Kyoto" in run("query", "hotel", "--memory", served)[1]
    assert "(1 steps)" in run("show", "--memory", served)[1]
    code, out, _ = run("export", "--memory", served)
    assert (code, "Kyoto" in out) == (0, True)
    code, _, err = run("reindex", "--memory", served)
    assert (code, "is served" in err) == (2, True)


def test_what_is_done_to_a_whole_folder_is_refused_for_a_served_memory(tmp_path: Path) -> None:
    for refused in (
        lambda: backup_memory("stitch+http://h:1", to=tmp_path / "copy"),
        lambda: restore_memory(tmp_path, memory="stitch+http://h:1"),
        lambda: open_tenants("stitch+http://h:1"),
    ):
        with pytest.raises(InputError, match="is served"):
            refused()
    assert list(Path.cwd().glob("stitch+http*")) == []
