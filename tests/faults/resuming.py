"""Kills an ingest again and again, resumes it, and compares its labels with those of one that nobody killed.

`python tests/faults/resuming.py --set PATH --kills 50` takes the first trajectory of a set (JSON lines, or gzip), kills
`stitch ingest` at random moments with SIGKILL, one to three times for each memory, and compares what `stitch labels
--json` and `stitch show --steps --json` print. With `--labels model` a model labels that answers the same to the same
and is served by this process. `test_resuming_kills.py` does the same in short.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from stitch import Step, open_memory
from stitch.testing.model import LoopbackProvider, label_by_rules

COMMAND = Path(sys.executable).parent / "stitch"


def work(folder: Path, file: Path, *, batch: int) -> Iterator[int]:
    """Add the steps of a file to a memory, so many at a time; yield how many are stored after each batch."""
    steps = [Step.model_validate(step) for step in orjson.loads(file.read_bytes())]
    with open_memory(folder) as memory:
        for start in range(0, len(steps), batch):
            memory.add_many(steps[start : start + batch], trajectory="t")
            yield start + batch


def remembered(folder: Path) -> list[Any]:
    """All labels of a memory, byte for byte, with what the labeling remembers after them."""
    with open_memory(folder) as memory:
        journal = memory._ingestor.journal
        labels = [entry.labels and entry.labels.model_dump_json() for entry in memory.steps("t")]
        checkpoint = journal.checkpoint(memory.tenant, "t")
        return [labels, checkpoint and checkpoint.session, memory.inventory("t").model_dump_json()]


def kill_work(folder: Path, file: Path, *, batch: int, after: int) -> int:
    """Let a process do the work until so many steps are stored, and kill it; return its exit status."""
    command = [sys.executable, __file__, "--work", str(folder), str(file), str(batch)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if int(line) >= after:
                process.kill()
                break
    return process.returncode


class Outcome(NamedTuple):
    """What a memory prints."""

    labels: str
    steps: str


def printed(folder: Path) -> Outcome:
    """The labels and steps of a memory, as the command prints them."""
    labels, shown = run("labels", "--memory", folder), run("show", "--steps", "--memory", folder)
    return Outcome(json.dumps(labels), json.dumps(without(shown, "recorded")))


def without(value: Any, name: str) -> Any:
    """A JSON value without the fields of a name."""
    if isinstance(value, dict):
        return {key: without(item, name) for key, item in value.items() if key != name}
    return [without(item, name) for item in value] if isinstance(value, list) else value


def run(*arguments: object, **settings: str) -> Any:
    """What a command prints as JSON."""
    command = [str(COMMAND), *map(str, arguments), "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=os.environ | settings)
    if done.returncode:
        raise RuntimeError(f"{arguments} ended with {done.returncode}: {done.stderr or done.stdout}")
    return orjson.loads(done.stdout)


class Killed(NamedTuple):
    """What came of all kills."""

    memories: int
    kills: int
    """How many hit an ingest at work."""
    labels: int
    """How many memories have other labels."""
    steps: int
    """How many have other steps."""

    def __str__(self) -> str:
        said = f"{self.memories} memories, {self.kills} kills"
        return f"{said}: {self.labels} with other labels, {self.steps} with other steps"


def kill_ingests(file: Path, scratch: Path, *, kills: int, seed: int, settings: Mapping[str, str]) -> Killed:
    """Make memories until so many kills have hit, and compare each with one that nobody killed."""
    chance, found = random.Random(seed), Killed(0, 0, 0, 0)
    started = time.perf_counter()
    run("ingest", file, "--memory", scratch / "whole", **settings)
    lasts_s = time.perf_counter() - started
    expected = printed(scratch / "whole")
    while found.kills < kills:
        folder, hits = scratch / str(found.memories), 0
        for _ in range(chance.choice((1, 1, 2, 3))):
            begun = subprocess.Popen(
                [COMMAND, "ingest", file, "--memory", folder],
                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=os.environ | settings,
            )  # fmt: skip
            try:
                begun.wait(chance.uniform(0.1, 1.05) * lasts_s)
            except subprocess.TimeoutExpired:
                hits += 1
            begun.kill()
            begun.wait()
        run("ingest", file, "--memory", folder, **settings)
        made = printed(folder)
        found = Killed(
            found.memories + 1,
            found.kills + hits,
            found.labels + (made.labels != expected.labels),
            found.steps + (made.steps != expected.steps),
        )
        shutil.rmtree(folder)
        print(found, file=sys.stderr)
    return found


def main() -> int:
    """Do the work of one process, or all kills."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--set", type=Path, help="trajectories, one JSON line each")
    arguments.add_argument("--kills", type=int, default=50)
    arguments.add_argument("--labels", choices=["local", "model"], default="local")
    arguments.add_argument("--steps", type=int, help="take so many steps of the trajectory")
    arguments.add_argument("--seed", type=int, default=1)
    arguments.add_argument("--work", nargs=3, metavar=("FOLDER", "FILE", "BATCH"), help="what is killed; for the test")
    options = arguments.parse_args()
    if options.work:
        folder, file, batch = options.work
        for stored in work(Path(folder), Path(file), batch=int(batch)):
            print(stored, flush=True)
        return 0
    with tempfile.TemporaryDirectory() as scratch:
        file = Path(scratch) / "first.jsonl"
        reading = gzip.open if options.set.suffix == ".gz" else open
        with reading(options.set, "rb") as lines:
            trajectory = orjson.loads(lines.readline())
        trajectory["steps"] = trajectory["steps"][: options.steps]
        file.write_bytes(orjson.dumps(trajectory))
        settings = {}
        with LoopbackProvider(label_by_rules) as provider:
            if options.labels == "model":
                settings = {"STITCH_LABELS": "model", "STITCH_MODEL": "m", "STITCH_BASE_URL": provider.base_url}
            found = kill_ingests(file, Path(scratch), kills=options.kills, seed=options.seed, settings=settings)
    print(f"**{options.labels}: {found}.**")
    return 1 if found.labels or found.steps else 0


if __name__ == "__main__":
    sys.exit(main())
