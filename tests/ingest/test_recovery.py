"""A run that is interrupted anywhere and taken up again ends as one that was not."""

import shutil
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from doubles.observing import RecordingObserver
from doubles.storing import FaultPlan, ListStore, SimulatedCrash, with_faults
from stitch.journal import Journal
from stitch.testing.hashing import HashingEmbedder

Make = Callable[..., Any]

JOURNAL_CALLS = (
    "append_many", "record_labels", "record_stored", "record_failed", "save_checkpoint", "record_projected", "sync",
)  # fmt: skip


class Run:
    """A run of a fixed work that crashes where a plan says, in a folder of its own."""

    def __init__(self, world_type: Any, steps: Make, folder: Path) -> None:
        self.world_type, self.steps, self.folder = world_type, steps, folder
        self.copies = 0

    def work(self, world: Any) -> None:
        """Two trajectories and two tenants, several batches, checkpoints, flushes, and a repetition."""
        for start, count in ((0, 3), (3, 1), (4, 4)):
            world.add(*self.steps(count, start=start), trajectory="t")
            world.add(*self.steps(2, start=start), trajectory="u", tenant="b")
        world.add(*self.steps(3), trajectory="t")
        world.ingestor.close()

    def world(self, path: Path, *, plan: FaultPlan | None = None, store: Any = None, **options: Any) -> Any:
        plan = plan or FaultPlan()
        store = store if store is not None else ListStore()
        store.reopen()
        journal = Journal(path)
        world = self.world_type(
            journal=with_faults(journal, plan, *JOURNAL_CALLS),
            store=with_faults(store, plan, "put", "flush"),
            labeler=options.pop("labeler", None),
            embedder=with_faults(HashingEmbedder(16), plan, "embed"),
            observer=with_faults(RecordingObserver(), plan, "notice"),
            checkpoint_steps=3,
            flush_steps=6,
            live_sessions=1,
            **options,
        )
        world.disk = journal
        return world

    def crash(self, world: Any, doing: Callable[[Any], object]) -> Path:
        """Do something until it crashes; return the journal as it lies on the disk then."""
        with pytest.raises(SimulatedCrash):
            doing(world)
        return self.left(world)

    def left(self, world: Any) -> Path:
        """A copy of the journal of a world that has crashed."""
        self.copies += 1
        left = self.folder / f"left{self.copies}"
        for suffix in ("", "-wal"):
            if (there := Path(f"{world.disk.path}{suffix}")).exists():
                shutil.copy(there, f"{left}{suffix}")
        world.disk.close()
        return left

    def path(self, name: str) -> Path:
        return self.folder / name


@pytest.fixture
def run(world_type: Any, steps: Make, tmp_path: Path) -> Run:
    return Run(world_type, steps, tmp_path)


def outcome(run: Run, world: Any, path: Path) -> Any:
    """All that a run leaves behind."""
    with closing(Journal(path)) as journal:
        left = run.world_type(journal=journal)
        inventories = [left.inventory(tenant) for tenant in ("a", "b")]
        is_behind = left.ingestor.snippets.position() < journal.last_change()
        return world.snippets(), left.truth(), inventories, journal.counts(), is_behind


def uninterrupted(run: Run) -> tuple[Any, list[str]]:
    plan = FaultPlan()
    world = run.world(run.path("calm"), plan=plan)
    run.work(world)
    return outcome(run, world, run.path("calm")), plan.crossed


def check_recovered(world: Any) -> None:
    counts = world.ingestor.counts()
    assert counts.stored == counts.accepted == world.store.count()


@pytest.mark.parametrize("ends", ["process", "power of the store"])
@pytest.mark.parametrize("every", [pytest.param(1, marks=pytest.mark.slow), 5])
def test_a_crash_at_any_boundary_leaves_what_an_uninterrupted_run_leaves(run: Run, every: int, ends: str) -> None:
    expected, boundaries = uninterrupted(run)
    assert {name.split()[1] for name in boundaries} == {
        *JOURNAL_CALLS, "put", "flush", "embed", "notice",
    } - {"record_failed"}  # fmt: skip
    for number in range(0, len(boundaries), every):  # before and after take turns: every fifth is of both kinds
        store, path = ListStore(), run.path(f"crash{number}")
        left = run.crash(run.world(path, plan=FaultPlan(number), store=store), run.work)
        if ends != "process":
            store.lose_power()
        world = run.world(left, store=store)
        world.ingestor.recover()
        check_recovered(world)
        assert world.ingestor.recover() == 0, "recovering again finds nothing to do"
        run.work(world)
        assert outcome(run, world, left) == expected, f"boundary {number}: {boundaries[number]}"


def test_a_crash_while_recovering_is_recovered_from(run: Run) -> None:
    expected, boundaries = uninterrupted(run)
    for number in range(3, len(boundaries), 7):
        store = ListStore()
        left = run.crash(run.world(run.path(f"crash{number}"), plan=FaultPlan(number), store=store), run.work)
        crash_at = 0
        while True:  # each recovery gets a little further than the one before
            plan = FaultPlan(crash_at)
            world = run.world(left, plan=plan, store=store)
            try:
                world.ingestor.recover()
            except SimulatedCrash:
                left = run.left(world)
                crash_at += 2
            else:
                break
        check_recovered(world)
        world.disk.close()
        world = run.world(left, store=store)
        run.work(world)
        assert outcome(run, world, left) == expected
