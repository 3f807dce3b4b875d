"""A disk that is really full: whatever is asked says so in one line, nothing accepted is lost, and adding goes on."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

WORK = """
import json, os, subprocess, sys
from pathlib import Path
from stitch import Step, open_memory
from stitch.core.retention import RetentionRule
from stitch.errors import StitchError
from stitch.lifecycle.selection import Selector
from stitch.maintenance import restore_memory

disk, backup = map(Path, sys.argv[1:])

def leave(free):
    now = os.statvfs(disk)
    used = (now.f_blocks - now.f_bfree) * now.f_frsize
    subprocess.run(["mount", "-o", f"remount,size={used + free}", disk], check=True)

def do(what, call):
    print(json.dumps(["begins", what, ""]), flush=True)
    try:
        print(json.dumps([what, "done", str(call())]), flush=True)
    except StitchError as error:
        print(json.dumps([what, type(error).__name__, error.message]), flush=True)

def step(number, size=10):
    return Step(role="user", content=f"Word{number} costs {number} dollars " + "x" * size, id=str(number))

def state(number, size=10):
    return memory.add(step(number, size), trajectory="t").state.value

def correct(name):
    memory.lifecycle.correct(name, trajectory="t", text="It costs a fortune")
    return memory.search("It costs a fortune", k=1, retriever="lexical").hits[0].snippet.step

def expire():
    rule = RetentionRule(older_than_days=1, action="erase")
    expiry = memory.lifecycle.expire([rule], now=1e8, trust_clock=True)
    found = expiry.proof.found if expiry.proof else ()
    return json.dumps([found, [entry.id for entry in memory.steps("old")]])

def restore():
    restored = restore_memory(backup, memory=disk / "r")
    return json.dumps([restored.steps, restored.snippets, restored.disagreements])

def write_out():
    with (disk / "out.jsonl").open("w") as file:
        file.writelines(memory.lifecycle.export())

with open_memory(disk / "m") as memory:
    memory.add_many([step(number) for number in range(40)], trajectory="t")
    memory.lifecycle._ingestor._clock, now = (lambda: 0.0), memory.lifecycle._ingestor._clock
    memory.add_many([step(number) for number in range(400, 440)], trajectory="old")
    memory.lifecycle._ingestor._clock = now
    memory.flush()
    memory.lifecycle.backup(backup)
    erased = Selector(trajectory="t", step="3")
    leave(60 << 20)
    do("put", lambda: state(100))
    do("correct", lambda: correct("5"))
    do("search while there is little", lambda: len(memory.search("What costs 7 dollars?").hits))
    for free in (1 << 20, 1 << 12):
        leave(free)
        do("erase", lambda: memory.lifecycle.erase(erased))
        do("expire", expire)
        do("restore", restore)
        do("retire", lambda: memory.lifecycle.retire(Selector(trajectory="t", step="4")))
        do("correct", lambda: correct("6"))
        do("append", lambda: memory.add_many([step(200 + n, 50_000) for n in range(40)], trajectory="t"))
        do("label spaces", lambda: memory.lifecycle.export().close())
        do("flush", memory.flush)
        do("backup", lambda: memory.lifecycle.backup(disk / "b"))
        do("rebuild", memory.lifecycle.reindex)
        do("search", lambda: len(memory.search("What costs 7 dollars?").hits))
        do("left", lambda: sorted(path.name for path in disk.iterdir()))
    leave(1 << 30)
    do("retry", memory.retry)
    do("go on", lambda: [state(300), state(301)])
    do("expire in the end", expire)
    do("restore in the end", restore)
    do("erase in the end", lambda: memory.lifecycle.erase(erased).proof.found)
    do("rebuild in the end", lambda: memory.lifecycle.reindex() > 0)
    do("flush in the end", memory.flush)
with open_memory(disk / "m") as memory:
    do("steps", lambda: json.dumps([entry.id for entry in memory.steps("t")]))
    do("verify", lambda: memory.lifecycle.verify().disagreements)
    do("states", lambda: sorted({receipt.state.value for receipt in memory.receipts()}))
"""


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of its own, which can be made as small as what is in it."""
    at = tmp_path / "disk"
    at.mkdir()
    if sys.platform != "linux" or not shutil.which("mount"):
        pytest.skip("a disk in memory is a matter of Linux")
    made = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1g", "none", at], capture_output=True, text=True)
    if made.returncode:
        pytest.skip(f"a small disk cannot be mounted here: {made.stderr.strip()}")
    yield at
    subprocess.run(["umount", "--lazy", at], check=True)


def environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name != "STITCH_MEMORY"}


@pytest.mark.slow
def test_on_a_full_disk_all_fails_in_one_line_and_nothing_accepted_is_lost(disk: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", WORK, disk, disk.parent / "b"],
        capture_output=True,
        text=True,
        timeout=600,
        env=environment(),
    )
    said: list[tuple[str, str, str]] = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.returncode == 0, f"it died in {said[-1]}: {done.stderr[-1500:]}"
    outcomes: dict[str, list[tuple[str, str]]] = {}
    for what, how, about in said:
        if what != "begins":
            outcomes.setdefault(what, []).append((how, about))
            assert how == "done" or ("full" in about or "No space" in about or "no space" in about), (what, how, about)
            assert "\n" not in about
    assert outcomes["put"] == [("done", "failed")], "it is accepted, and listed"
    assert {about for how, about in outcomes["correct"] if how == "done"} <= {"5", "6"}, "what is done is found"
    assert any(how == "StoreError" for how, _ in outcomes["correct"]), "with too little space for the store"
    for what in ("erase", "expire", "restore", "append", "backup", "rebuild"):
        assert outcomes[what][-1][0] != "done", f"{what} needs space"
    assert {how for how, _ in outcomes["search"] + outcomes["search while there is little"]} == {"done"}
    assert {about for _, about in outcomes["left"]} <= {"['m']", "['m', 'r.restoring']"}, "no half of a copy"
    assert {about for how, about in outcomes["expire"] if how == "done"} <= {"[[], []]"}, "what is done is true"
    assert outcomes["expire in the end"] == [("done", "[[], []]")]
    assert outcomes["restore in the end"] == [("done", "[80, 80, 0]")]
    (steps,) = outcomes["steps"]
    there = json.loads(steps[1])
    assert there[:3] == ["0", "1", "2"]
    assert there[3:40] == [str(number) for number in [*range(4, 40), 100]]
    assert there[-2:] == ["300", "301"]
    accepted = outcomes["append"].count(("done", ""))
    assert accepted == 0
    assert outcomes["go on"] == [("done", "['stored', 'stored']")]
    assert outcomes["erase in the end"] == [("done", "()")]
    assert outcomes["verify"] == [("done", "()")]
    assert set(json.loads(outcomes["states"][0][1].replace("'", '"'))) <= {"stored", "retired"}


def stitch(*arguments: Any) -> subprocess.CompletedProcess[str]:
    code = "from stitch.cli.main import main; main()"
    return subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)], capture_output=True, text=True, timeout=600,
        env=environment(),
    )  # fmt: skip


@pytest.mark.slow
def test_an_export_to_a_full_disk_fails_in_one_line_and_leaves_no_half_of_it(disk: Path, tmp_path: Path) -> None:
    lines = "".join(f'{{"role": "user", "content": "Word{n} {"x" * 3000}", "id": "{n}"}}\n' for n in range(40))
    (tmp_path / "t.jsonl").write_text(lines)
    assert stitch("ingest", tmp_path / "t.jsonl", "--memory", tmp_path / "m").returncode == 0
    subprocess.run(["mount", "-o", "remount,size=64k", disk], check=True)
    for command, out in (("export", ("--out", disk / "e.jsonl")), ("restore", ())):
        if command == "restore":
            assert stitch("backup", "--to", tmp_path / "b", "--memory", tmp_path / "m").returncode == 0
            done = stitch(command, tmp_path / "b", "--memory", disk / "r")
        else:
            done = stitch(command, *out, "--memory", tmp_path / "m")
        message, *rest = done.stderr.strip().splitlines()
        assert done.returncode not in (0, -7)
        assert message.startswith("stitch: ")
        assert "no space left" in message.lower()
        assert len(rest) == 1, "one line, and what to do next"
        assert {path.name for path in disk.iterdir()} <= {"r.restoring"}
    done = stitch("status", "--memory", disk / "r")
    assert "restoring it was interrupted" in done.stderr
    assert "stitch restore" in done.stderr
