"""A memory that is served over HTTP, used as any other; windows of it labeled elsewhere."""

import json
import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import IO, Any

import pytest

from stitch import Memory, Step, open_memory
from stitch.errors import OwnerLostError, ScopeError, StitchError
from stitch.label.local import LocalLabeler
from stitch.label.model.offline import OfflineLabeler
from stitch.lifecycle.relabel import Handover, NumberedLine
from stitch.lm import Price
from stitch.lm.batch import write_request
from stitch.testing.model import label_by_rules

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
    assert "(1 step" in stitch("show", "--memory", served)[1]
    code, out, _ = stitch("export", "--memory", served)
    assert (code, "Kyoto" in out) == (0, True)
    code, _, err = stitch("reindex", "--memory", served)
    assert (code, "is served" in err) == (2, True)


def by_hand(memory: Memory, **options: Any) -> Handover:
    return memory.lifecycle.handover(OfflineLabeler("hand", fallback=LocalLabeler(), **options))


def requests(handover: Handover) -> list[dict[str, Any]]:
    return [json.loads(write_request(window)) for window in handover.windows()]


def reply(request: dict[str, Any], **more: Any) -> dict[str, Any]:
    system, user = (message["content"] for message in request["messages"])
    return {"id": request["id"], "reply": label_by_rules(system, user), **more}


def lines(replies: Sequence[object]) -> list[NumberedLine]:
    return [NumberedLine("replies", number, json.dumps(each).encode()) for number, each in enumerate(replies, 1)]


@pytest.fixture(params=["another process", "server"])
def memory(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    if request.param == "server":
        with open_memory(request.getfixturevalue("served")) as memory:
            yield memory
    else:
        with open_memory(tmp_path / "m"), open_memory(tmp_path / "m") as memory:
            yield memory


def fill(memory: Memory, *, number: int = 30) -> None:
    said = ["Let us plan day {day}. What is a good hotel?", "The Zephyr Mill costs $41.80.", "Take it for the night."]
    for name in ("a", "b"):
        memory.add_many(
            [
                {"id": str(n), "role": "user", "content": said[n % 3].format(day=1 + n // 12)}
                for n in range(number)
            ],
            trajectory=name,
        )  # fmt: skip


def test_rounds_of_windows_and_replies_label_all_and_cost_what_they_say(memory: Memory) -> None:
    fill(memory)
    price = Price(prompt_usd=1.0, reply_usd=2.0)
    rounds = 0
    while asked := requests(by_hand(memory, window_steps=20)):
        usage = {"prompt_tokens": 1_000_000, "reply_tokens": 500_000}
        taken = by_hand(memory, window_steps=20, price=price).take_in(
            lines([reply(each, usage=usage) for each in asked])
        )
        assert (taken.windows, taken.repeated, taken.rejections) == (2, 0, ())
        rounds += 1
    assert rounds == 2
    assert by_hand(memory).waiting() == (0, 0)
    assert {entry.labels.made_by for entry in memory.steps("a") if entry.labels} == {"hand windowed-3"}


def test_a_key_says_whose_memory_it_is_and_what_may_be_done(
    keyed: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    ann, bea = keyed(ann=("read", "write", "forget", "admin"), bea=("read",))
    with open_memory(f"stitch+{ann.url}", key=ann.key) as memory:
        assert memory.add("The gate code is in the blue book.").tenant == memory.tenant == "ann"
        with pytest.raises(ScopeError, match="writes nothing into folders"):
            memory.lifecycle.backup(tmp_path / "b")
    with open_memory(f"stitch+{bea.url}", key=bea.key) as memory:
        assert (memory.tenant, memory.trajectories()) == ("bea", [])
        for call in (lambda: memory.add("hello"), lambda: memory.delete("0", trajectory="notes")):
            with pytest.raises(StitchError):
                call()
        with pytest.raises(ScopeError, match="does not allow 'write'"):
            memory.add("hello")
    for wrong in ("nonsense", None):
        with pytest.raises(StitchError):
            open_memory(f"stitch+{ann.url}", key=wrong)
    with pytest.raises(ScopeError, match="another tenant"):
        open_memory(f"stitch+{ann.url}", key=ann.key, tenant="bea")


@pytest.mark.parametrize(
    ("location", "told"),
    [
        ("stitch+http://", "names no server"),
        ("stitch+http://host:port", "names no server"),
        ("stitch+http://ann:secret@127.0.0.1:1", "holds no key"),
        ("stitch+http://127.0.0.1:9", "no server answers"),
    ],
)
def test_what_is_no_server_is_told_so(
    location: str, told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    with pytest.raises(StitchError, match=told):
        open_memory(location)
