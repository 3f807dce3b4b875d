"""Randomized kill-and-resume runs: `python tests/faults/kills.py --runs 200` says what was wrong.

Each run lets `victim.py` do a workload of 27 operations on a memory with the real journal and store, kills it up to
three times with SIGKILL, at a boundary between two stages or at any moment, and starts it again. Sometimes the log of
the journal gets a torn last write before the restart. In the end the memory must hold what an undisturbed one holds.
Boundaries are drawn by name, so that those that are seldom crossed are tried as often as others. Long runs may be done
in pieces, `--first` 0, 50, ...
"""

import argparse
import json
import os
import random
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from pathlib import Path
from typing import IO, NamedTuple

import numpy as np  # noqa: F401 - as all that is imported here, so that no process has to load it
import qdrant_edge  # noqa: F401
from faults import victim

KILLS = 3
WORKLOADS = 5


class Calm(NamedTuple):
    """What an undisturbed process leaves, and which boundaries it crosses."""

    digest: str
    crossed: list[tuple[str, dict[str, int]]]
    """What was done, opening and closing included, and how often each boundary was crossed meanwhile."""


class Outcome(NamedTuple):
    """What one run came to."""

    kills: list[str]
    torn: int
    wrong: list[str]


def be_calm(work: int, folder: Path) -> Calm:
    """Do a workload without disturbing it."""
    process = begin(folder, work=work, first=0, kill_at=[])
    with process.said:
        said = process.said.read().splitlines()
    problems = [line for line in said if line.startswith("wrong")]
    if process.wait() or problems:
        raise AssertionError(problems)
    return Calm(said[-2].split()[1], json.loads(said[-1].removeprefix("boundaries ")))


class Victim(NamedTuple):
    """A process of its own. It is forked from this one, which has loaded all it needs and opened nothing."""

    pid: int
    said: IO[str]

    def wait(self) -> int:
        """Wait for its end; return its exit status, negative if a signal ended it."""
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


def begin(folder: Path, *, work: int, first: int, kill_at: list[tuple[str, str, int]]) -> Victim:
    """Start a process on a memory."""
    folder.mkdir(parents=True, exist_ok=True)
    reader, writer = os.pipe()
    pid = os.fork()
    if pid:
        os.close(writer)
        return Victim(pid, os.fdopen(reader))
    status = 1
    try:
        os.dup2(writer, 1)
        victim.live(folder / "m", work=work, first=first, kill_at=kill_at)
        status = 0
    except BaseException:  # noqa: BLE001 - whatever ended it is told
        victim.say(f"wrong: it ended by {traceback.format_exc().strip().splitlines()[-1]}")
        traceback.print_exc()
    finally:
        os._exit(status)


def draw(chance: random.Random, calm: Calm, *, done: int, before: str) -> list[tuple[str, str, int]]:
    """Where the next process dies: a boundary that is ahead of it, each name as likely as any other.

    Args:
        chance: Draws.
        calm: Which boundaries there are.
        done: How many operations are behind it.
        before: Where the last one died. After an interrupted erasure, it may die in what opening has to do for it.
    """
    ahead: dict[str, Counter[str]] = {}
    for operation, crossed in calm.crossed[1 + done :]:
        for boundary, times in crossed.items():
            ahead.setdefault(boundary, Counter())[operation] += times
    forgetting = [
        boundary for boundary in sorted(ahead) if boundary.endswith((" delete", " purge", "_lines", "_files"))
    ]
    boundary = chance.choice(sorted(ahead) + forgetting)  # these twice: what is erased must stay so
    operation = chance.choice(sorted(ahead[boundary]))
    times = chance.randrange(1, ahead[boundary][operation] + 1)
    wanted = [(boundary, operation, min(times, chance.randrange(1, ahead[boundary][operation] + 1)))]
    if before.endswith(("(erase)", "(expire)")):
        names = ("compact", "compact", "compact", "purge", "put")
        opening = [f"{moment} {name}" for moment in ("before", "after") for name in names]
        wanted.append((chance.choice(opening), "opening", 1))
    return wanted


def run(seed: int, *, work: int, calm: Calm, folder: Path) -> Outcome:
    """Kill and resume a workload until it is done; say what was wrong."""
    chance = random.Random(seed)
    done, kills, torn, wrong = 0, list[str](), 0, list[str]()
    while True:
        by_boundary = chance.random() < 0.8
        kill = len(kills) < KILLS
        last = kills[-1] if kills else ""
        kill_at = draw(chance, calm, done=done, before=last) if kill and by_boundary else []
        after = (
            chance.randrange(min(done, victim.OPERATIONS - 1), victim.OPERATIONS) if kill and not by_boundary else None
        )
        killed, digest = False, ""
        process = begin(folder, work=work, first=done, kill_at=kill_at)
        with process.said:
            for line in process.said:
                word, _, rest = line.strip().partition(" ")
                if word == "wrong":
                    wrong.append(f"seed {seed}, after {done} operations and {kills}: {rest}")
                elif word == "done":
                    done = int(rest)
                elif word == "digest":
                    digest = rest
                if after is not None and done > after and not killed:
                    time.sleep(chance.random() * 0.02)
                    os.kill(process.pid, signal.SIGKILL)
                    killed = True
        status = process.wait()
        if status == 0:
            if digest != calm.digest:
                wrong.append(f"seed {seed}: after {kills} the memory is not the undisturbed one")
            return Outcome(kills, torn, wrong)
        if status != -signal.SIGKILL:
            wrong.append(f"seed {seed}, after {done} operations and {kills}: it ended with {status}")
            return Outcome(kills, torn, wrong)
        kills.append("at any moment" if killed else (folder / "killed.txt").read_text())
        log = folder / "m" / "journal.sqlite-wal"
        if chance.random() < 0.3 and log.exists():
            with log.open("ab") as file:
                file.write(chance.randbytes(chance.randrange(1, 6000)))
            torn += 1


def main() -> int:
    """Do the runs; print what came of them."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--runs", type=int, default=200)
    arguments.add_argument("--first", type=int, default=0, help="the seed of the first run")
    arguments.add_argument("--workloads", type=int, default=WORKLOADS, help="how many different ones there are")
    options = arguments.parse_args()
    torn, kills, wrong = 0, Counter[str](), list[str]()
    with tempfile.TemporaryDirectory() as scratch:
        calm = {work: be_calm(work, Path(scratch) / f"calm-{work}") for work in range(options.workloads)}
        for seed in range(options.first, options.first + options.runs):
            folder = Path(scratch) / f"run-{seed}"
            folder.mkdir()
            work = seed % options.workloads
            outcome = run(seed, work=work, calm=calm[work], folder=folder)
            shutil.rmtree(folder)
            torn += outcome.torn
            kills.update(outcome.kills)
            wrong += outcome.wrong
            print(f"seed {seed}, {kills.total()} kills, {len(wrong)} wrong", *outcome.wrong, sep="\n", file=sys.stderr)
    print(f"{options.runs} runs, {kills.total()} kills, {torn} torn last writes: {len(wrong) or 'nothing'} wrong.")
    print(*(f"{times} {place}" for place, times in kills.most_common()), *wrong, sep="\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
