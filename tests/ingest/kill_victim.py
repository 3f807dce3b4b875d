"""A process that adds steps to a memory in a folder, and says of each batch when it is stored.

Usage: python kill_victim.py FOLDER. Started again, it takes up where it was.
"""

from __future__ import annotations

import sys
from pathlib import Path

from stitch.core import Step
from stitch.embed.hashing import HashingEmbedder
from stitch.ingest import Ingestor, Journal
from stitch.store import EdgeStore
from stitch.testing.labeling import ScriptedLabeler

BATCHES = 60
BATCH = 4
TRAJECTORIES = ("t", "u")


def open_ingestor(folder: Path) -> Ingestor:
    embedder = HashingEmbedder(16)
    store = EdgeStore(folder, embedder_name=embedder.name, dimension=embedder.dimension)
    ingestor = Ingestor(
        journal=Journal(folder / "journal"),
        store=store,
        embedder=embedder,
        labeler=ScriptedLabeler(),
        clock=lambda: 1000.0,
        checkpoint_steps=10,
        flush_steps=60,
        live_sessions=1,
    )
    ingestor.recover()
    return ingestor


def main(folder: Path) -> None:
    ingestor = open_ingestor(folder)
    for number in range(BATCHES):
        trajectory = TRAJECTORIES[number % len(TRAJECTORIES)]
        first = number // len(TRAJECTORIES) * BATCH
        steps = [Step(role="user", content=f"Word{n} costs {n}", id=str(n)) for n in range(first, first + BATCH)]
        receipts = ingestor.add_many(steps, tenant="a", trajectory=trajectory)
        sys.stdout.write(f"{trajectory} {receipts[-1].step} {receipts[-1].state.value}\n")
        sys.stdout.flush()
    ingestor.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
