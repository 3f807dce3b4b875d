"""A memory that is served over HTTP, used as any other: what goes wrong on the way is said in one line."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import IO

import pytest

from stitch import Step, open_memory
from stitch.errors import OwnerLostError

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


def test_commands_work_with_a_served_memory(
    served: str, tmp_path: Path, stitch: Callable[..., tuple[int, str, str]]
) -> None:
    (tmp_path / "trip.jsonl").write_text('{"role": "user", "content": "Find a hotel in Kyoto."}\n')

    assert stitch("ingest", str(tmp_path / "trip.jsonl"), "--memory", served)[0] == 0
    assert "Kyoto" in stitch("query", "hotel", "--memory", served)[1]
    assert "(1 steps)" in stitch("show", "--memory", served)[1]
    code, out, _ = stitch("export", "--memory", served)
    assert (code, "Kyoto" in out) == (0, True)
    code, _, err = stitch("reindex", "--memory", served)
    assert (code, "is served" in err) == (2, True)
