"""Kills of a live Qdrant and of its client: `python tests/faults/kill_qdrant.py URL --pid FILE --start COMMAND`.

A client adds steps to a memory on the server, in batches. Meanwhile SIGKILL ends now the server, which COMMAND starts
again, now the client, which begins anew with the steps of which it had no receipt. In the end, when all steps are
added, none may be lost, there twice, or otherwise in the store than in the journal. Of a cluster, FILE and COMMAND are
those of one node, and all URLs are given with commas between them.
"""

from __future__ import annotations

import argparse
import os
import random
import shlex
import signal
import subprocess
import sys
import tempfile
import time
import uuid
from pathlib import Path

BATCH = 10


def add(url: str, collection: str, folder: str, steps: int) -> None:
    """Be the client: add what is not accepted yet, and end when all of it is stored."""
    from stitch import Step, open_memory

    with open_memory(url, collection=collection, journal=folder, qdrant_timeout_s=10) as memory:
        known = memory.status().accepted
        for start in range(known - known % BATCH, steps, BATCH):
            said = [
                Step(role="user", content=f"Word{n} costs {n * 7} dollars", id=str(n))
                for n in range(start, start + BATCH)
            ]
            memory.add_many(said, trajectory=f"trip-{start // 100}")
        while memory.status().stored < steps:
            memory.retry()
            time.sleep(0.2)


def check(url: str, collection: str, folder: str, steps: int) -> list[str]:
    """What is wrong in the end."""
    from stitch import open_memory

    with open_memory(url, collection=collection, journal=folder) as memory:
        status, found = memory.status(), memory.lifecycle.verify()
        wrong = [str(each) for each in found.disagreements]
        for name, is_, should in (
            ("accepted", status.accepted, steps), ("stored", status.stored, steps), ("failed", status.failed, 0),
            ("snippets", status.snippets, steps), ("points", int(status.server["points"]), steps),
        ):  # fmt: skip
            if is_ != should:
                wrong.append(f"{name}: {is_}, not {should}")
        hits = memory.search("What costs 7 dollars?", trajectory="trip-0").hits
        return wrong if hits else [*wrong, "nothing is found"]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("url")
    parser.add_argument("--pid", required=True, help="the file with the number of the server's process")
    parser.add_argument("--start", required=True, help="what starts the server again")
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--steps", type=int, default=4000)
    parser.add_argument("--collection", default=f"stitch-kills-{uuid.uuid4()}")
    parser.add_argument("--journal", default=None)
    parser.add_argument("--as-client", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.as_client:
        add(given.url, given.collection, given.journal, given.steps)
        return
    folder = given.journal or tempfile.mkdtemp(prefix="stitch-kills-")
    client = [
        sys.executable, __file__, given.url, "--pid", given.pid, "--start", given.start, "--as-client",
        "--collection", given.collection, "--journal", folder, "--steps", str(given.steps),
    ]  # fmt: skip
    rng, killed, gave_up = random.Random(0), {"server": 0, "client": 0}, 0
    running = subprocess.Popen(client)
    while sum(killed.values()) < given.kills and running.poll() != 0:
        time.sleep(rng.uniform(0.5, 3.0))
        if running.poll():  # it was opening the memory when the server went
            running, gave_up = subprocess.Popen(client), gave_up + 1
        elif rng.random() < 0.5:
            os.kill(int(Path(given.pid).read_text()), signal.SIGKILL)
            time.sleep(rng.uniform(0.0, 1.0))
            Path(given.pid).unlink()
            subprocess.run(shlex.split(given.start), check=True, stdout=subprocess.DEVNULL)
            killed["server"] += 1
        else:
            running.kill()
            running.wait()
            running = subprocess.Popen(client)
            killed["client"] += 1
    while (ended := running.wait()) and gave_up < given.kills:
        running, gave_up = subprocess.Popen(client), gave_up + 1
    wrong = check(given.url, given.collection, folder, given.steps)
    print(f"killed: {killed}; {gave_up} times the client gave up at opening; it ended with {ended}")
    print(f"{len(wrong)} things are wrong {wrong[:5]}")
    sys.exit(bool(wrong) or ended != 0)


if __name__ == "__main__":
    main()
