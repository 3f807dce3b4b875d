"""What commands say of steps that wait for a store that cannot be reached."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from stitch.errors import StoreUnavailableError
from stitch.ingest import outage
from stitch.store import EdgeStore

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def trip(tmp_path: Path) -> str:
    path = tmp_path / "trip.jsonl"
    path.write_text("".join(json.dumps({"role": "user", "content": f"Now day {n}."}) + "\n" for n in range(6)))
    return str(path)


@pytest.fixture
def away(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: EdgeStore, records: Any) -> None:
        raise StoreUnavailableError("cannot write to the collection: connection refused")

    monkeypatch.setattr(EdgeStore, "put", refuse)
    monkeypatch.setattr(outage, "FIRST_PAUSE_S", 3600.0)


@pytest.mark.usefixtures("away")
def test_ingest_says_how_many_steps_wait_and_ends_with_a_status_of_its_own(run: Run, trip: str) -> None:
    code, out, err = run("ingest", trip, "--memory", "m")
    assert code == 5
    assert "0 stored, 0 failed, 0 rejected, 6 wait for the store" in out
    assert "failed" not in err


def test_the_next_command_puts_what_waits(run: Run, trip: str) -> None:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(EdgeStore, "put", lambda *_: (_ for _ in ()).throw(StoreUnavailableError("gone")))
        assert json.loads(run("ingest", trip, "--memory", "m", "--json")[1])["waiting"] == 6
    assert json.loads(run("status", "--memory", "m", "--json")[1])["stored"] == 6
