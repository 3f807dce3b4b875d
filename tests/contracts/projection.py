"""What every `Projection` must do: subclass `ProjectionContract`, give it a `derive` fixture, run pytest.

One that outlives its process also passes `KilledProjectionContract`.
"""

from __future__ import annotations

import random
import subprocess
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from doubles.journal_lives import live
from doubles.journaling import MemoryJournal
from stitch.core import Projection
from stitch.journal import Journal
from stitch.journal.projections import catch_up, follow

Derive = Callable[[Journal], tuple[Projection, Callable[[], Any]]]
"""A projection of a journal, begun where an earlier one of it was left, and what tells all that it holds."""


class ProjectionContract:
    """The tests every projection passes.

    A subclass gives a fixture `derive`: from a journal to a projection of it, with a function that tells what is
    derived. Called again with the same journal, it gives what a process finds that comes after the one before.
    """

    def test_what_has_followed_equals_what_is_rebuilt(self, derive: Derive) -> None:
        for seed in range(6):
            journal = MemoryJournal()
            projection, derived = derive(journal)
            assert isinstance(projection, Projection)
            for part in range(3):
                live_and_erase(journal, projection, seed=10 * seed + part)
                follow(projection, journal)
                assert projection.position() == journal.last_change()
                followed = derived()
                projection.rebuild()
                assert derived() == followed, f"seed {seed}, part {part}"

    def test_an_interruption_at_any_point_changes_nothing_of_what_is_derived(self, derive: Derive) -> None:
        for seed in range(6):
            journal, chance = MemoryJournal(), random.Random(seed)
            projection, _ = derive(journal)
            live_and_erase(journal, projection, seed=seed)
            changes = list(journal.changes())
            stop = chance.randrange(1, len(changes))
            projection.apply(changes[:stop])
            if chance.random() < 0.5:
                projection.checkpoint()
            again, derived = derive(journal)  # the first is never heard of again
            follow(again, journal)
            followed = derived()
            again.rebuild()
            assert derived() == followed, f"seed {seed}"

    def test_who_holds_everything_has_nothing_to_follow(self, derive: Derive) -> None:
        journal = MemoryJournal()
        projection, _ = derive(journal)
        assert follow(projection, journal) == 0
        live_and_erase(journal, projection, seed=1)
        assert follow(projection, journal) > 0
        assert follow(projection, journal) == 0


class Derived(NamedTuple):
    """A projection in a folder, as the process finds it that comes after one that was killed."""

    journal: Journal
    projection: Projection
    everything: Callable[[], Any]
    """Tells all that is derived, numbers included."""


class KilledProjectionContract:
    """What a projection passes that is kept in files: whatever a kill leaves is made good by the next process.

    A subclass gives three fixtures: `opened`, which opens journal and projection in a folder; `command`, which starts a
    process that does `live_on` there; and `kills`, how many times that process is killed.
    """

    @pytest.fixture
    def kills(self) -> int:
        """How many times the process is killed."""
        return 3

    def test_what_a_killed_process_left_equals_what_is_rebuilt(
        self,
        opened: Callable[[Path], AbstractContextManager[Derived]],
        command: Callable[[Path, int], list[str]],
        kills: int,
        tmp_path: Path,
    ) -> None:
        """However often a process is killed from outside, at random moments of its work."""
        chance = random.Random(kills)
        for number in range(kills):
            with subprocess.Popen(command(tmp_path, number), stdout=subprocess.PIPE) as process:
                assert process.stdout is not None
                assert process.stdout.readline(), "it has opened, and begins to work"
                try:
                    process.wait(chance.uniform(0, 0.5))
                except subprocess.TimeoutExpired:
                    process.kill()
                assert process.wait() < 0, "it was killed and did not end"
            with opened(tmp_path) as derived:
                catch_up(derived.projection, derived.journal)
                left = derived.everything()
                derived.projection.rebuild()
                assert derived.everything() == left, f"kill {number}"
                derived.projection.checkpoint()


def live_and_erase(journal: Journal, projection: Projection, *, seed: int) -> None:
    """Live a random history; what it erases is erased from the projection first, as lifecycle does."""
    before = journal.erase

    def erase(seqs: Any, *, tenant: str, trajectory: str, **cleaned: Any) -> None:
        ids = [entry.id for entry in journal.entries_of(seqs)]
        projection.erase(tenant, trajectory=trajectory, steps=ids)
        before(seqs, tenant=tenant, trajectory=trajectory, **cleaned)

    journal.erase = erase  # type: ignore[method-assign]
    try:
        live(journal, seed)
    finally:
        journal.erase = before  # type: ignore[method-assign]


def live_on(derived: Derived, *, seed: int) -> None:
    """Live random histories and follow them, without an end: for a process that is killed."""
    while True:
        live_and_erase(derived.journal, derived.projection, seed=seed)
        follow(derived.projection, derived.journal)
        if seed % 5 == 0:
            derived.projection.rebuild()
        seed += 1_000
