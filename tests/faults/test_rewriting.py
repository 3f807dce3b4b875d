"""A file of JSON lines out of which lines are taken when the process is killed has all others whole."""

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from doubles.files import files_with
from stitch import Step, open_memory
from stitch.lifecycle.selection import Selector
from stitch.lm import Charge, Ledger, read_ledger
from stitch.observe import TraceObserver

pytestmark = pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="kill -9 is a matter of POSIX")

SECRET = "Quetzalina Archaeopteryx lives at the Halcyon Observatory."

ERASER = """
import os, pathlib, signal, sys
from stitch import open_memory
from stitch.lifecycle.selection import Selector
calls = 0
def kill(*arguments, real={where}):
    global calls
    calls += 1
    if calls == {call}:
        os.kill(os.getpid(), signal.SIGKILL)
    return real(*arguments)
with open_memory(sys.argv[1]) as memory:
    {where} = kill
    memory.lifecycle.erase(Selector(trajectory="t", step="0"))
"""


@pytest.fixture
def memory(tmp_path: Path) -> Path:
    folder = tmp_path / "m"
    folder.mkdir()
    with TraceObserver(folder / "trace.jsonl") as trace, open_memory(folder, recall_log=99, observers=[trace]) as made:
        for number, text in enumerate([SECRET, *(f"The hotel for day {n} has a pool." for n in range(5))]):
            made.add(Step(role="user", content=text, id=str(number)), trajectory="t")
            made.search(text[:20], k=1)
    ledger = Ledger(folder / "ledger.jsonl")
    for number in range(6):
        ledger.charge(charge(number, trajectory=SECRET if number == 2 else "t"))
    return folder


def charge(number: int, *, trajectory: str = "t") -> Charge:
    return Charge(
        tenant="default", trajectory=trajectory, stage="label", model="m", prompt_tokens=number, reply_tokens=1
    )


def lines_of(folder: Path) -> dict[str, list[bytes]]:
    files = {path.name: path.read_bytes().splitlines() for path in sorted(folder.glob("*.jsonl"))}
    return {name: [line.strip() for line in lines if line.strip()] for name, lines in files.items()}


@pytest.mark.slow
@pytest.mark.parametrize("where", ["os.ftruncate", "os.fsync"])
@pytest.mark.parametrize("call", [1, 2])
def test_killed_while_lines_are_removed_every_other_line_stands_whole_and_once(
    memory: Path, where: str, call: int
) -> None:
    before = lines_of(memory)
    killed = subprocess.run([sys.executable, "-c", ERASER.format(where=where, call=call), str(memory)], check=False)
    assert killed.returncode == -signal.SIGKILL
    open_memory(memory).close()
    for name, lines in lines_of(memory).items():
        left = iter(before[name])
        assert all(line in left for line in lines), f"{name} has the lines that it had, in order, or fewer"
        for line in lines:
            json.loads(line)
        assert [line for line in before[name] if b"hotel" in line and b"Quetz" not in line] == [
            line for line in lines if b"hotel" in line and b"Quetz" not in line
        ]
    with open_memory(memory) as opened:
        assert opened.lifecycle.erase(Selector(trajectory="t", step="0")).proof.found == ()
    assert files_with(memory, b"quetzalina") == []
    assert [each.prompt_tokens for each in read_ledger(memory / "ledger.jsonl")] == [0, 1, 3, 4, 5]
