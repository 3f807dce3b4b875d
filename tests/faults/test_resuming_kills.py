"""A process that is killed and resumed leaves the labels of one that was not, byte for byte."""

from __future__ import annotations

import importlib.util
import signal
from pathlib import Path
from types import ModuleType

import orjson
import pytest

SAID = (
    "Hello!",
    "I need to check my bank balance.",
    "It is ${n}.80 on the savings account.",
    "Now find me a bus to Seattle on March 8th.",
    "There is one at 7:{n} am. Shall I book it?",
    "Yes, please.",
    "Back to the bank balance: what about the other account?",
    "The other account has ${n}.",
    "Let's turn to day {n}. Which hotel is near the harbor?",
    "The Zephyr Mill is, and it has {n} rooms.",
)


def load() -> ModuleType:
    spec = importlib.util.spec_from_file_location("resuming", Path(__file__).with_name("resuming.py"))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


RESUMING = load()


@pytest.mark.parametrize(
    ("batch", "kills"),
    [
        pytest.param(1, (13, 30, 47), marks=pytest.mark.slow),
        (7, (7, 35)),
        pytest.param(16, (16, 48), marks=pytest.mark.slow),
    ],
)
def test_labels_after_kills_are_those_of_a_process_that_nobody_killed(
    tmp_path: Path, batch: int, kills: tuple[int, ...]
) -> None:
    file = tmp_path / "steps.json"
    steps = [
        {"id": str(n), "role": "user" if n % 2 else "assistant", "content": SAID[n * 7 % 10].format(n=10 + n)}
        for n in range(60)
    ]
    file.write_bytes(orjson.dumps(steps))
    list(RESUMING.work(tmp_path / "whole", file, batch=len(steps)))
    for after in kills:
        status = RESUMING.kill_work(tmp_path / "killed", file, batch=batch, after=after)
        assert status == -signal.SIGKILL
    list(RESUMING.work(tmp_path / "killed", file, batch=batch))
    assert RESUMING.remembered(tmp_path / "killed") == RESUMING.remembered(tmp_path / "whole")
