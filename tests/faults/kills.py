"""Randomized kill-and-resume runs: `python tests/faults/kills.py --runs 200` prints the table of the README.

Each run lets `victim.py` do a workload of 36 operations on a memory with the real journal and store, kills it up to
three times with SIGKILL, at a boundary between two stages or at any moment, and starts it again. Sometimes the log of
the journal gets a torn last write before the restart. In the end the memory must hold what an undisturbed one holds.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import NamedTuple

VICTIM = Path(__file__).with_name("victim.py")
KILLS = 3
WORKLOADS = 5
TIMEOUT_S = 300


class Calm(NamedTuple):
    """What an undisturbed process leaves, and how many boundaries it crosses."""

    digest: str
    boundaries: int


class Outcome(NamedTuple):
    """What one run came to."""

    kills: list[str]
    torn: int
    wrong: list[str]


def be_calm(work: int, folder: Path) -> Calm:
    """Do a workload without disturbing it."""
    said = subprocess.run(
        [sys.executable, VICTIM, folder / "m", str(work), "0", "0"], stdout=subprocess.PIPE, text=True, check=True,
        timeout=TIMEOUT_S,
    ).stdout.splitlines()  # fmt: skip
    problems = [line for line in said if line.startswith("wrong")]
    if problems:
        raise AssertionError(problems)
    digest, boundaries = said[-2].split()[1], said[-1].split()[1]
    return Calm(digest, int(boundaries))


def run(seed: int, *, work: int, calm: Calm, folder: Path) -> Outcome:
    """Kill and resume a workload until it is done; say what was wrong."""
    chance = random.Random(seed)
    done, kills, torn, wrong = 0, list[str](), 0, list[str]()
    while True:
        by_boundary = chance.random() < 0.8
        kill = len(kills) < KILLS
        kill_at = chance.randrange(1, calm.boundaries // 2) if kill and by_boundary else 0
        after = chance.randrange(min(done, 35), 36) if kill and not by_boundary else None
        killed, digest = False, ""
        with subprocess.Popen(
            [sys.executable, VICTIM, folder / "m", str(work), str(done), str(kill_at)], stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True,
        ) as process:  # fmt: skip
            assert process.stdout
            assert process.stderr
            for line in process.stdout:
                word, _, rest = line.strip().partition(" ")
                if word == "wrong":
                    wrong.append(f"seed {seed}, after {done} operations and {kills}: {rest}")
                elif word == "done":
                    done = int(rest)
                elif word == "digest":
                    digest = rest
                if after is not None and done > after and not killed:
                    time.sleep(chance.random() * 0.02)
                    process.kill()
                    killed = True
            complaint = process.stderr.read()
        if process.returncode == 0:
            if digest != calm.digest:
                wrong.append(f"seed {seed}: after {kills} the memory is not the undisturbed one")
            return Outcome(kills, torn, wrong)
        if process.returncode != -signal.SIGKILL:
            wrong.append(f"seed {seed}, after {done} operations and {kills}: {complaint.strip().splitlines()[-1]}")
            return Outcome(kills, torn, wrong)
        kills.append("at any moment" if killed else (folder / "killed.txt").read_text())
        log = folder / "m" / "journal.sqlite-wal"
        if chance.random() < 0.3 and log.exists():
            with log.open("ab") as file:
                file.write(chance.randbytes(chance.randrange(1, 6000)))
            torn += 1


def main() -> int:
    """Do the runs; print the table."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--runs", type=int, default=200)
    arguments.add_argument("--first", type=int, default=0, help="the seed of the first run")
    options = arguments.parse_args()
    began = time.time()
    stages: Counter[str] = Counter()
    torn, wrong = 0, list[str]()
    with tempfile.TemporaryDirectory() as scratch:
        calm = {work: be_calm(work, Path(scratch) / f"calm-{work}") for work in range(WORKLOADS)}
        for seed in range(options.first, options.first + options.runs):
            folder = Path(scratch) / f"run-{seed}"
            folder.mkdir()
            outcome = run(seed, work=seed % WORKLOADS, calm=calm[seed % WORKLOADS], folder=folder)
            shutil.rmtree(folder)
            stages.update(outcome.kills)
            torn += outcome.torn
            wrong += outcome.wrong
            done = seed - options.first + 1
            print(f"{done} runs, {stages.total()} kills, {len(wrong)} wrong", file=sys.stderr)
            for problem in outcome.wrong:
                print(problem, file=sys.stderr)
    print(f"{options.runs} runs, {stages.total()} kills, {torn} torn last writes, {len(wrong)} things wrong,")
    print(f"{time.time() - began:.0f} s on {os.cpu_count()} cores\n")
    print("| killed | during | times |\n|---|---|---:|")
    for stage, times in sorted(stages.items()):
        place, _, operation = stage.removesuffix(")").partition(" (")
        print(f"| {place} | {operation or 'any operation'} | {times} |")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
