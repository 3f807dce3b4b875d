"""kill -9 in the middle of the work, with the real store: nothing acknowledged is lost, nothing is there twice."""

from __future__ import annotations

import importlib.util
import os
import random
import subprocess
import sys
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

VICTIM = Path(__file__).with_name("kill_victim.py")
KILLS = 3
ROUNDS = int(os.environ.get("STITCH_TEST_KILL_ROUNDS", "1"))


def victim() -> Any:
    spec = importlib.util.spec_from_file_location("kill_victim", VICTIM)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def left_behind(folder: Path) -> tuple[list[Any], list[Any], Any]:
    """All snippets, all journal entries and all labels of a folder, after recovery."""
    ingestor = victim().open_ingestor(folder)
    try:
        entries = sorted(
            (entry._replace(seq=0) for entry in ingestor.journal.every_entry()),
            key=lambda entry: (entry.trajectory, entry.position),
        )
        return list(ingestor.store.scroll("a")), entries, ingestor.inventory("a")
    finally:
        ingestor.close()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="kill -9 is a matter of POSIX")
@pytest.mark.parametrize("seed", range(ROUNDS))
def test_processes_killed_at_random_leave_what_an_undisturbed_one_leaves(tmp_path: Path, seed: int) -> None:
    calm, killed = tmp_path / "calm", tmp_path / "killed"
    calm.mkdir()
    killed.mkdir()
    victim().main(calm)
    chance = random.Random(seed)
    acknowledged = 0
    for _ in range(KILLS):
        with subprocess.Popen([sys.executable, VICTIM, killed], stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout
            wanted = min(acknowledged + chance.randrange(1, 20), victim().BATCHES - 1)
            lines = list(islice(process.stdout, wanted))
            process.kill()
            trajectory, step, state = lines[-1].split()
            assert state == "stored"
        snippets, entries, _ = left_behind(killed)
        stored = {(snippet.trajectory, snippet.step) for snippet in snippets}
        assert (trajectory, step) in stored, "what was acknowledged is there"
        assert len(stored) == len(snippets) == len(entries), "what was accepted is there, once"
        acknowledged = len(entries) // victim().BATCH
    subprocess.run([sys.executable, VICTIM, killed], stdout=subprocess.DEVNULL, check=True)
    assert left_behind(killed) == left_behind(calm)
