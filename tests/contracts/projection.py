"""What every `Projection` must do: subclass `ProjectionContract`, give it a `derive` fixture, run pytest."""

import random
from collections.abc import Callable
from typing import Any

from doubles.journal_lives import live
from doubles.journaling import MemoryJournal
from stitch.core import Projection
from stitch.journal import Journal
from stitch.journal.journal import follow

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


def live_and_erase(journal: Journal, projection: Projection, *, seed: int) -> None:
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
