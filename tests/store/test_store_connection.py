"""The way to a server: the next URL when one is away, a server that is starting, one that asks to come back later."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import pytest
from qdrant_client import QdrantClient

from stitch.errors import StoreError, StoreUnavailableError
from stitch.store.connection import Connection
from stitch.testing.servers import LoopbackServer, Reply, Request, Silence

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


def connect(location: str, clock: Clock | None = None, **options: Any) -> Connection:
    clock = clock or Clock()
    about = {"collection": "stitch", "timeout_s": 5.0, **options}
    return Connection(location, pause=clock.pause, timer=clock.timer, **about)


def exists(client: QdrantClient) -> bool:
    return client.collection_exists("stitch")


YES = Reply({"result": {"exists": True}, "status": "ok", "time": 0.0})


def busy(*, times: int, after_s: int) -> Callable[[Request], Reply]:
    """Says so many times to come back later, and then answers."""
    left = [times]

    def answer(_: Request) -> Reply:
        left[0] -= 1
        later = Reply({"status": {"error": "rate limit"}}, status=429, headers={"retry-after": str(after_s)})
        return later if left[0] >= 0 else YES

    return answer


def test_the_next_url_is_asked_when_one_is_away_and_stays_the_one_that_is_asked() -> None:
    with LoopbackServer(lambda _: YES) as server, LoopbackServer(lambda _: YES) as third:
        connection = connect(f"{AWAY}, {server.url},{third.url}")
        assert connection.ask("open", exists)
        assert connection.ask("open", exists)
        assert (len(server.requests), len(third.requests)) == (2, 0)
        connection.close()


def test_a_url_that_hangs_is_passed_over_after_the_timeout() -> None:
    with LoopbackServer(lambda _: Silence()) as hanging, LoopbackServer(lambda _: YES) as server:
        connection = connect(f"{hanging.url},{server.url}", timeout_s=1)
        assert connection.ask("open", exists)
        assert connection.ask("open", exists)
        assert len(hanging.requests) == 1
        connection.close()


def test_where_no_url_answers_the_error_names_the_first() -> None:
    connection = connect(f"{AWAY},{AWAY}1")
    with pytest.raises(StoreUnavailableError, match=r"cannot search the collection 'stitch' of .*Errno") as caught:
        connection.ask("search", exists)
    assert AWAY in caught.value.hint
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


def test_a_server_that_does_not_start_is_given_up_after_the_timeout() -> None:
    clock = Clock()
    connection = connect(AWAY, clock, timeout_s=5.0)
    with pytest.raises(StoreUnavailableError):
        connection.ask_first("open", exists)
    assert 4.0 < clock.now_s <= 5.0
    connection.close()


def test_a_server_that_asks_to_come_back_later_is_asked_again_then() -> None:
    clock = Clock()
    with LoopbackServer(busy(times=2, after_s=2)) as server:
        connection = connect(server.url, clock)
        assert connection.ask("open", exists)
        connection.close()
    assert clock.pauses == [2.0, 2.0]


def test_who_asks_to_come_back_much_later_is_away() -> None:
    clock = Clock()
    with LoopbackServer(busy(times=9, after_s=4)) as server:
        connection = connect(server.url, clock)
        with pytest.raises(StoreUnavailableError, match="rate limit"):
            connection.ask("open", exists)
        connection.close()
    assert clock.pauses == [4.0]


@pytest.mark.parametrize(("url", "lines"), [("http://qdrant.example", 1), ("https://a.example", 0), (AWAY, 0)])
def test_a_key_over_plain_http_is_told_in_one_line(url: str, lines: int, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        connect(url, api_key="secret").close()
    assert len(caplog.records) == lines
    assert "secret" not in caplog.text


def test_a_key_is_sent_and_on_this_machine_without_a_word(caplog: pytest.LogCaptureFixture) -> None:
    with LoopbackServer(lambda _: YES) as server, caplog.at_level(logging.WARNING):
        connection = connect(server.url, api_key="secret")
        connection.ask("open", exists)
        connection.close()
    assert server.requests[0].headers["api-key"] == "secret"
    assert caplog.records == []


@pytest.mark.parametrize("url", ["ftp://qdrant.example:6333", "http://:6333", "http://", "http://a.example:port"])
def test_what_is_no_address_of_a_server_is_refused(url: str) -> None:
    with pytest.raises(StoreError, match="is not the address of a qdrant server") as refused:
        connect(url).ask("open", exists)
    assert "http://localhost:6333" in (refused.value.hint or "")


def test_a_closed_connection_says_so() -> None:
    connection = connect(AWAY)
    connection.close()
    connection.close()
    with pytest.raises(StoreError, match="is closed"):
        connection.ask("search", exists)
