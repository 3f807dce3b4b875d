"""The long form of the erase suite: `python tests/faults/erasures.py --runs 100` prints its counts.

Each run makes a memory of two tenants from sentences with a word of their own in each, works on it (corrections,
another text, a question, a backup, sometimes a reindexing), erases a random choice of steps, and looks for the words of
these in every file of the memory; all other steps must be as they were, and `verify` must have nothing to say.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
import sys
import tempfile
from collections import Counter
from pathlib import Path

from stitch import Memory, Step, open_memory
from stitch.lifecycle.selection import Selector
from stitch.observe import TraceObserver

SENTENCES = (
    "Let's plan day {day}. One idea for the hotel is the {word} Inn.",
    "How much is the first hotel I raised for day {day}, the {word}?",
    "It is priced at ${n}.22 a night, says {word}.",
    "Now book it, and write to {word} about breakfast.",
)


def word_of(tenant: str, trajectory: str, n: int) -> str:
    return f"Quetzal{hashlib.md5(f'{tenant} {trajectory} {n}'.encode()).hexdigest()[:12]}"


def steps_of(tenant: str, trajectory: str, count: int) -> list[Step]:
    return [
        Step(id=str(n), role="assistant" if n % 4 == 2 else "user", metadata={"from": word_of(tenant, trajectory, n)},
             content=SENTENCES[n % 4].format(day=n // 4 + 1, n=n, word=word_of(tenant, trajectory, n)))
        for n in range(count)
    ]  # fmt: skip


def held(memory: Memory) -> dict[tuple[str, str], str]:
    """What the memory has of each step, but for labels: these may lose what they had from an erased one."""
    return {
        (name, entry.id): json.dumps([entry.position, entry.step.model_dump(mode="json"), entry.recorded])
        for name in memory.trajectories()
        for entry in memory.steps(name)
    }


def run(seed: int, folder: Path, counts: Counter[str]) -> list[str]:
    """One erasure; return what was wrong."""
    chance = random.Random(seed)
    wrong: list[str] = []
    with TraceObserver(_made(folder) / "trace.jsonl") as trace:
        with open_memory(folder, tenant="b", observers=[trace]) as other:
            other.add_many(steps_of("b", "t", 8), trajectory="t")
        with open_memory(folder, tenant="a", observers=[trace], recall_log=10) as memory:
            for name in ("t", "u"):
                memory.add_many(steps_of("a", name, chance.randrange(6, 24)), trajectory=name)
            memory.lifecycle.correct("1", trajectory="t", labels={"scope": "another scope"})
            memory.lifecycle.correct("2", trajectory="u", text="It is another text.")
            memory.search("What is the price of the hotel for day 1?")
            if chance.random() < 0.3:
                memory.lifecycle.reindex()
            selector = chance.choice([
                Selector(trajectory="t"), Selector(trajectory="u", step="2"), Selector(everything=True),
                Selector(trajectory="t", step=str(chance.randrange(6))), Selector(event_type="ask price"),
            ])  # fmt: skip
            before = held(memory)
            erased = memory.lifecycle.erase(selector)
            after = held(memory)
            gone = set(before) - set(after)
            wrong += [f"{step} is not as it was" for step in after if after[step] != before[step]]
            if len(gone) != erased.steps:
                wrong.append(f"{erased.steps} were erased, {len(gone)} are gone")
            wrong += [str(each) for each in memory.lifecycle.verify().disagreements]
            wrong += list(erased.proof.found)
            memory.lifecycle.backup(folder.with_name(f"{folder.name}-backup"))
            files = sum(path.is_file() for path in folder.rglob("*"))
            counts.update(erasures=1, steps=len(gone), traces=erased.proof.traces, files=files)
    words = {word_of("a", trajectory, int(step)).lower().encode() for trajectory, step in gone}
    for path in [*folder.rglob("*"), *folder.with_name(f"{folder.name}-backup").rglob("*")]:
        data = path.read_bytes().lower() if path.is_file() else b""
        wrong += [f"{word.decode()} stands in {path.name}" for word in words if word in data]
    return [f"seed {seed}: {each}" for each in wrong]


def _made(folder: Path) -> Path:
    folder.mkdir(parents=True)
    return folder


def main() -> int:
    """Do the runs; print the counts."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--runs", type=int, default=100)
    arguments.add_argument("--first", type=int, default=0, help="the seed of the first run")
    options = arguments.parse_args()
    counts, wrong = Counter[str](), list[str]()
    for seed in range(options.first, options.first + options.runs):
        with tempfile.TemporaryDirectory() as scratch:
            wrong += run(seed, Path(scratch) / "m", counts)
    print(
        f"{counts['erasures']} erasures of {counts['steps']} steps; {counts['traces']} texts, names and ids of them"
        f" were searched for in {counts['files']} files: {len(wrong) or 'nothing'} wrong"
    )
    print("\n".join(wrong))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
