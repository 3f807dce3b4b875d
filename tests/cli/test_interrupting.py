"""Ctrl-C and SIGTERM end a command that waits for a model at once, and nothing that was accepted is lost."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from stitch import open_memory
from stitch.core import StepState
from stitch.testing.servers import LoopbackServer, Request, Silence

PATIENCE_S = 60
"""After which a test gives up; a call of the model would last twice as long."""


@pytest.fixture
def asked() -> threading.Event:
    return threading.Event()


@pytest.fixture
def silent(asked: threading.Event) -> Iterator[LoopbackServer]:
    """A provider that takes every request and answers none."""

    def answer(request: Request) -> Silence:
        asked.set()
        return Silence()

    with LoopbackServer(answer) as server:
        yield server


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
@pytest.mark.parametrize(
    ("sent", "status", "way"),
    [
        (signal.SIGTERM, 143, ["--window", "4"]),
        pytest.param(signal.SIGINT, 130, ["--window", "4"], marks=pytest.mark.slow),
        pytest.param(signal.SIGTERM, 143, ["--stepwise"], marks=pytest.mark.slow),
        pytest.param(signal.SIGINT, 130, ["--stepwise"], marks=pytest.mark.slow),
    ],
)
def test_a_signal_ends_an_ingest_that_waits_for_a_model(
    sent: signal.Signals,
    status: int,
    way: list[str],
    begin: Callable[..., subprocess.Popen[bytes]],
    silent: LoopbackServer,
    asked: threading.Event,
    tmp_path: Path,
) -> None:
    for name in ("one", "two"):
        lines = (json.dumps({"role": "user", "content": f"Book hotel {n} for {name}."}) for n in range(6))
        (tmp_path / f"{name}.jsonl").write_text("\n".join(lines))
    options = ["--memory", str(tmp_path / "m"), "--labels", "model", "--model", "m", "--base-url", f"{silent.url}/v1"]
    files = [tmp_path / f"{name}.jsonl" for name in ("one", "two")]
    process = begin("ingest", *files, *options, *way)
    assert asked.wait(PATIENCE_S)
    process.send_signal(sent)
    assert process.wait(PATIENCE_S) == status
    with open_memory(tmp_path / "m") as memory:
        memory.flush()
        steps = [entry for name in memory.trajectories() for entry in memory.steps(name)]
        assert len(steps) >= 6
        assert {entry.state for entry in steps} == {StepState.STORED}
