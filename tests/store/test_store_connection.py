"""The way to a server: the next URL when one is away, a server that is starting, one that asks to come back later."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from stitch.errors import StoreError
from stitch.store.connection import Server
from stitch.testing.servers import LoopbackServer, Reply

if TYPE_CHECKING:
    from qdrant_client import QdrantClient

AWAY = "http://127.255.255.254:6333"
"""Nobody listens at this machine's last loopback address."""


class Clock:
    """Time that passes only while somebody waits."""

    def __init__(self) -> None:
        self.now_s = 0.0
        self.pauses: list[float] = []

    def pause(self, seconds: float) -> None:
        self.pauses.append(seconds)
        self.now_s += seconds

    def timer(self) -> float:
        return self.now_s


def connect(location: str, clock: Clock | None = None, **options: Any) -> Server:
    clock = clock or Clock()
    return Server(url=location, timeout_s=5.0, pause=clock.pause, timer=clock.timer, **options)


def exists(client: QdrantClient) -> bool:
    return client.collection_exists("stitch")


YES = Reply({"result": {"exists": True}, "status": "ok", "time": 0.0})


def test_the_next_url_is_asked_when_one_is_away_and_stays_the_one_that_is_asked() -> None:
    with LoopbackServer(lambda _: YES) as server, LoopbackServer(lambda _: YES) as third:
        connection = connect(f"{AWAY}, {server.url},{third.url}")
        assert connection.ask("open", exists)
        assert connection.ask("open", exists)
        assert (len(server.requests), len(third.requests)) == (2, 0)
        connection.close()


def test_a_refusal_is_not_taken_to_the_next_url() -> None:
    refuses = LoopbackServer(lambda _: Reply({"status": {"error": "no"}}, status=401))
    with refuses, LoopbackServer(lambda _: YES) as server:
        connection = connect(f"{refuses.url},{server.url}")
        with pytest.raises(StoreError, match="refuses the key"):
            connection.ask("open", exists)
        assert server.requests == []
        connection.close()


def test_a_server_that_is_starting_is_waited_for_and_one_line_says_so(caplog: pytest.LogCaptureFixture) -> None:
    replies = [Reply({"status": {"error": "starting"}}, status=503)] * 3 + [YES]
    clock = Clock()
    with LoopbackServer(lambda _: replies.pop(0)) as server:
        connection = connect(server.url, clock)
        assert connection.ask_first("open", exists)
        connection.close()
    assert len(clock.pauses) == 3
    assert [record.getMessage().partition(":")[0] for record in caplog.records] == [
        "waiting for the server for up to 5 s"
    ]
