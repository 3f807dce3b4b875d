"""Threads in which labels follow."""

from __future__ import annotations

import logging
from queue import Queue

import pytest

from stitch.errors import StoreError
from stitch.ingest.label_threads import LabelThreads

LONG_S = 30.0


def test_threads_that_have_nothing_to_do_wake_for_what_is_announced() -> None:
    worked: Queue[tuple[str, str]] = Queue()
    threads = LabelThreads(lambda *key: worked.put(key), count=2)
    for trajectory in ("t", "u", "t"):
        threads.announce("a", trajectory, after_s=0.0)
        assert worked.get(timeout=LONG_S) == ("a", trajectory)
    threads.close()
    threads.close()
    threads.announce("a", "t", after_s=0.0)
    assert worked.empty()


def test_what_still_waits_is_looked_at_again() -> None:
    worked: Queue[str] = Queue()
    again = [0.0, 0.0]

    def work(tenant: str, trajectory: str) -> float | None:
        worked.put(trajectory)
        return again.pop() if again else None

    threads = LabelThreads(work, count=1)
    threads.announce("a", "t", after_s=0.0)
    assert [worked.get(timeout=LONG_S) for _ in range(3)] == ["t", "t", "t"]
    threads.close()


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (StoreError("the store is full"), "labels of trajectory 't' have to wait: the store is full"),
        (ZeroDivisionError(), "labels of trajectory 't' have to wait"),
    ],
)
def test_an_error_is_logged_and_keeps_nothing_else_waiting(
    error: Exception, said: str, caplog: pytest.LogCaptureFixture
) -> None:
    worked: Queue[str] = Queue()

    def work(tenant: str, trajectory: str) -> None:
        worked.put(trajectory)
        if trajectory == "t":
            raise error

    with caplog.at_level(logging.WARNING, logger="stitch.ingest.label_threads"):
        threads = LabelThreads(work, count=1)
        for trajectory in ("t", "u"):
            threads.announce("a", trajectory, after_s=0.0)
            assert worked.get(timeout=LONG_S) == trajectory
        threads.close()
    assert [record.getMessage() for record in caplog.records] == [said]
