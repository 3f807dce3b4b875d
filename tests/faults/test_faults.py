"""Whatever breaks, nothing accepted is missing after a restart, nothing is there twice, and what failed is listed."""

import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from doubles.labeling import ScriptedLabeler
from doubles.storing import ListStore
from stitch import Step, open_memory
from stitch.core import StepState
from stitch.errors import JournalError, StoreError
from stitch.ingest import Ingestor
from stitch.journal import Journal
from stitch.lifecycle.erase import erase
from stitch.lifecycle.repair import verify
from stitch.lifecycle.retention import retire
from stitch.lifecycle.selection import Selector, select
from stitch.maintenance import backup_memory, restore_memory
from stitch.testing.hashing import HashingEmbedder

RUNS = int(os.environ.get("STITCH_TEST_KILL_RUNS", "2"))

pytestmark = pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="kill -9 is a matter of POSIX")

WRITER = """
import os, sys, time
from stitch import Step, open_memory
from stitch.errors import StitchError
with open_memory(sys.argv[1]) as memory:
    {before}
    for number in range({start}, {stop}):
        try:
            step = Step(role="user", content=f"Word{{number}} " + "x" * 2000, id=str(number))
            receipt = memory.add(step, trajectory="t")
        except StitchError as error:
            print("refused", number, error.message, flush=True)
            break
        print(receipt.state.value, number, receipt.reason, flush=True)
"""


def write(memory: Path, *, start: int, stop: int, before: str = "pass") -> list[list[str]]:
    """Let another process add steps; return what it was told of each."""
    code = WRITER.format(start=start, stop=stop, before=before)
    done = subprocess.run(
        [sys.executable, "-c", code, str(memory)], capture_output=True, text=True, check=False, timeout=600
    )
    return [line.split(" ", 2) for line in done.stdout.splitlines()]


def kept(memory: Path) -> list[int]:
    with open_memory(memory) as opened:
        opened.retry()
        assert opened.lifecycle.verify().disagreements == ()
        assert {receipt.state for receipt in opened.receipts()} <= {StepState.STORED}
        assert opened.status().snippets == opened.status().accepted
        return [int(entry.id) for entry in opened.steps("t")]


@pytest.fixture
def memory(tmp_path: Path) -> Path:
    with open_memory(tmp_path / "m") as opened:
        for number in range(10):
            opened.add(Step(role="user", content=f"Word{number}", id=str(number)), trajectory="t")
    return tmp_path / "m"


@pytest.mark.slow
def test_processes_killed_at_boundaries_and_at_random_leave_what_an_undisturbed_one_leaves() -> None:
    command = [sys.executable, str(Path(__file__).with_name("kills.py")), "--runs", str(RUNS), "--workloads", "1"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600 * RUNS)
    assert done.returncode == 0, done.stdout + done.stderr
    told = re.match(r"(\d+) runs, (\d+) kills, .* nothing wrong", done.stdout)
    assert told is not None
    assert (int(told[1]), int(told[2]) > 0) == (RUNS, True)


def test_a_full_disk_refuses_or_fails_steps_and_loses_none(memory: Path) -> None:
    size = sum(path.stat().st_size for path in memory.glob("journal.sqlite*"))
    limit = f"import resource; resource.setrlimit(resource.RLIMIT_FSIZE, ({size + 150_000}, {size + 150_000}))"
    said = write(memory, start=10, stop=400, before=limit)
    assert said[-1][0] == "refused", "the journal could not grow"
    assert "cannot be used" in said[-1][2]
    accepted = [int(number) for state, number, _ in said if state != "refused"]
    there = kept(memory)
    assert there[: 10 + len(accepted)] == [*range(10), *accepted]
    assert len(there) <= 10 + len(accepted) + 1, "only the step that was being written may be there too"
    with open_memory(memory) as opened:
        assert opened.add(Step(role="user", content="And on.", id="on"), trajectory="t").state is StepState.STORED


@pytest.mark.parametrize("verb", ["retire", "erase"])
def test_what_the_store_would_not_delete_is_deleted_by_repeating(tmp_path: Path, verb: str) -> None:
    class Stubborn(ListStore):
        broken = True

        def delete(self, tenant: str, ids: Any) -> int:
            if self.broken:
                self.broken = False
                raise StoreError("the store is broken")
            return super().delete(tenant, ids)

    store = Stubborn()
    ingestor = Ingestor(
        journal=Journal(tmp_path / "j"), store=store, embedder=HashingEmbedder(8), labeler=ScriptedLabeler()
    )
    ingestor.add_many([Step(role="u", content="It costs 1"), Step(role="u", content="x")], tenant="a", trajectory="t")

    def forget() -> None:
        chosen = select(ingestor, Selector(trajectory="t", step="0"), tenant="a")
        if verb == "retire":
            retire(ingestor, chosen, tenant="a", at=1.0, reason="")
        else:
            erase(ingestor, chosen, tenant="a", folder=tmp_path)

    with pytest.raises(StoreError):
        forget()
    forget()
    assert [snippet.step for snippet in store.scroll("a")] == ["1"]
    assert verify(ingestor, tenant="a").disagreements == ()
    ingestor.close()


@pytest.mark.parametrize("part", ["shard", "shard/segments"])
def test_points_that_somebody_removed_are_made_anew_from_the_journal(memory: Path, part: str) -> None:
    before = kept(memory)
    shutil.rmtree(memory / "store" / part)
    assert kept(memory) == before
    with open_memory(memory) as opened:
        assert opened.lifecycle.verify().disagreements == ()


def test_a_corrupt_page_of_the_journal_is_named_and_a_backup_brings_all_back(memory: Path, tmp_path: Path) -> None:
    with open_memory(memory) as opened:
        for number in range(10, 60):
            opened.add(Step(role="user", content=f"Word{number} " + "x" * 2000, id=str(number)), trajectory="t")
    backup_memory(memory, to=tmp_path / "b")
    journal = memory / "journal.sqlite"
    data = bytearray(journal.read_bytes())
    page = data.index(b'"content":"Word30 ') // 4096 * 4096  # of the step, not of its labels
    data[page : page + 4096] = b"\xff" * 4096
    journal.write_bytes(data)
    with open_memory(memory) as opened:
        found = opened.lifecycle.verify().disagreements
        assert found[0].what.startswith("journal: ")
        assert "not all could be compared" in found[-1].what
        with pytest.raises(JournalError, match="is damaged") as damaged:
            list(opened.receipts())
        assert "backup" in damaged.value.hint
    restored = restore_memory(tmp_path / "b", memory=tmp_path / "r")
    assert (restored.steps, restored.disagreements) == (60, 0)
    assert kept(tmp_path / "r") == list(range(60))
