from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from doubles.labeling import ScriptedLabeler
from doubles.storing import ListStore
from stitch.core import LabelInventory, Step
from stitch.ingest import Ingestor
from stitch.journal import Journal
from stitch.testing.hashing import HashingEmbedder

CONTENTS = (
    "Book the Olympus hotel for day 1",
    "It costs 76 dollars",
    "Compare restaurants near the harbor",
    "The second one has a terrace",
    "It opens at 8",
    "Return to the hotel of day 1",
    "Cancel breakfast",
)


class World:
    """A memory without its façade: doubles around a real journal and a real ingestor."""

    def __init__(
        self, path: str | Path = ":memory:", *, store: Any = None, labeler: Any = None, **options: Any
    ) -> None:
        self.store: Any = store if store is not None else ListStore()
        self.labeler: Any = labeler if labeler is not None else ScriptedLabeler()
        self.journal = options.pop("journal", None) or Journal(path)
        options.setdefault("clock", lambda: 1000.0)
        options.setdefault("embedder", HashingEmbedder(16))
        self.ingestor = Ingestor(journal=self.journal, store=self.store, labeler=self.labeler, **options)

    def add(self, *steps: Step, tenant: str = "a", trajectory: str = "t") -> list[Any]:
        return self.ingestor.add_many(steps, tenant=tenant, trajectory=trajectory)

    def snippets(self) -> dict[str, Any]:
        """All that a search can see, by snippet id."""
        return {
            name: (record.snippet, record.vector.tobytes(), dict(record.words))
            for name, record in self.store.records.items()
        }

    def truth(self) -> list[Any]:
        """All that the journal holds of steps, whatever the order between trajectories."""
        entries = (entry._replace(seq=0) for entry in self.journal.every_entry())
        return sorted(entries, key=lambda entry: (entry.tenant, entry.trajectory, entry.position))

    def inventory(self, tenant: str = "a", trajectory: str | None = None) -> LabelInventory:
        return self.ingestor.inventory(tenant, trajectory)


def make_steps(count: int, *, start: int = 0) -> list[Step]:
    return [
        Step(role="user" if n % 2 else "assistant", content=CONTENTS[n % len(CONTENTS)] + f" ({n})", id=f"s{n}")
        for n in range(start, start + count)
    ]


@pytest.fixture(scope="session")
def steps() -> Callable[..., list[Step]]:
    return make_steps


@pytest.fixture(scope="session")
def world_type() -> type[World]:
    return World


@pytest.fixture
def worlds() -> Iterator[Callable[..., World]]:
    made: list[World] = []

    def make(*arguments: Any, **options: Any) -> World:
        made.append(World(*arguments, **options))
        return made[-1]

    yield make
    for world in made:
        world.ingestor.worker.threads.close()  # or they would go on looking at a journal that is closed
        world.journal.close()


@pytest.fixture
def world(worlds: Callable[..., World]) -> World:
    return worlds()
