"""What cannot work is told in one line, and nothing is half done."""

from collections.abc import Callable
from typing import Any

import psycopg
import pytest

from doubles.qdrant import LoopbackQdrant
from stitch import Memory, Step, open_memory
from stitch.cluster.opening import open_worker
from stitch.errors import JournalError, StoreError, StoreMismatchError


def say(content: str) -> Step:
    return Step(role="user", content=content)


def test_status_says_who_works_and_what_waits(open_shared: Callable[..., Memory], server: LoopbackQdrant) -> None:
    with open_shared() as memory, open_shared(tenant="other") as other:
        assert memory.status().queue == {
            "workers": "0", "waiting trajectories": "0", "oldest step without labels": "none",
        }  # fmt: skip
        memory.add(say("Day 1: Kyoto."), trajectory="t")
        memory.add(say("Day 2: Osaka."), trajectory="u")
        told = memory.status().queue
        assert (told["waiting trajectories"], told["oldest step without labels"][:3]) == ("2", "202")
        assert other.status().queue["waiting trajectories"] == "0"


def test_a_second_cluster_on_the_same_database_is_refused(
    open_shared: Callable[..., Memory], journal_url: str, worker: None
) -> None:
    with open_shared() as memory:
        memory.add(say("Day 1: Kyoto."), trajectory="t")
        memory.flush()
        with LoopbackQdrant() as second, pytest.raises(StoreError, match="holds nothing of this memory"):
            open_memory(second.url, journal=journal_url, workers=True)


def test_a_worker_with_another_embedder_is_refused(
    open_shared: Callable[..., Memory], server: LoopbackQdrant, journal_url: str
) -> None:
    with open_shared(), pytest.raises(StoreMismatchError, match="written with embedder"):
        open_worker(
            server.url, journal=journal_url, concurrency=1, embedder="openai/other", embedder_dimension=256,
            embedder_key="k",
        )  # fmt: skip


def test_a_queue_of_another_version_is_refused(open_shared: Callable[..., Memory], journal_url: str) -> None:
    open_shared().close()
    with psycopg.connect(journal_url, autocommit=True) as other:
        other.execute("DROP FUNCTION procrastinate_fetch_job_v2")
    with pytest.raises(JournalError, match="made by another version of procrastinate") as refused:
        open_shared()
    assert refused.value.hint


@pytest.mark.parametrize(
    ("journal", "status", "told"),
    [
        ("postgresql://nobody@127.0.0.1:9/none", 5, "the server cannot be reached"),
        ("trip.journal", 2, "workers label in a journal that they share"),
    ],
)
def test_the_command_says_in_a_line_what_journal_it_cannot_use(
    stitch: Callable[..., Any], server: LoopbackQdrant, journal: str, status: int, told: str
) -> None:
    ended, _, err = stitch("worker", "--memory", server.url, "--journal", journal)
    assert (ended, told in err, len(err.splitlines())) == (status, True, 2), err
