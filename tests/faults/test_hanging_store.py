"""A store on a server that hangs: everything ends by a time limit, says what is not done, and is made up for."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from doubles.qdrant import LoopbackQdrant
from stitch import Step, open_memory
from stitch.core import StepState
from stitch.errors import StoreUnavailableError
from stitch.ingest import store_health

LIMIT_S = 3.0
"""What hangs is given up after it; what does not must not take so long on a busy machine."""


@pytest.fixture
def server() -> Iterator[LoopbackQdrant]:
    with LoopbackQdrant() as serving:
        yield serving


@pytest.fixture
def settings(tmp_path: Path) -> dict[str, Any]:
    return {"journal": str(tmp_path / "j"), "qdrant_timeout_s": LIMIT_S}


def steps(start: int, stop: int) -> list[Step]:
    return [Step(role="user", content=f"Word{n} costs {n} dollars", id=str(n)) for n in range(start, stop)]


def test_a_server_that_hangs_is_given_up_in_time_and_what_it_missed_is_put_when_it_answers_again(
    server: Any, settings: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store_health, "FIRST_PAUSE_S", 3600.0)
    with open_memory(server.url, **settings) as memory:
        memory.add_many(steps(0, 3), trajectory="t")
        assert len(memory.search("What costs 2 dollars?").hits) == 3
        server.hangs = True
        receipts = memory.add_many(steps(3, 5), trajectory="t")
        assert [receipt.state for receipt in receipts] == [StepState.LABELED] * 2
        assert all("timed out" in receipt.reason for receipt in receipts)
        asked = len(server.requests)
        memory.add_many(steps(5, 7), trajectory="t")
        assert len(server.requests) == asked, "nobody waits for it a second time"
        with pytest.raises(StoreUnavailableError, match="cannot search") as caught:
            memory.search("What costs 2 dollars?")
        assert server.url in caught.value.hint
        server.hangs = False
        assert (memory.status().waiting, memory.status().failed) == (4, 0)
        memory.flush()
        assert (memory.status().waiting, memory.status().away) == (0, "")
        assert memory.lifecycle.verify().disagreements == ()
        assert len(memory.search("What costs 4 dollars?").hits) == 7
