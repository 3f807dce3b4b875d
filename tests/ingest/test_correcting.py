"""A correction changes the step that it names and teaches the labeling, which reads nothing of the trajectory again."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from doubles.talk import SAID, talk
from stitch.core import StepLabels
from stitch.errors import StoreError
from stitch.label.local import LocalLabeler
from stitch.label.local.labeler import LocalLabelSession
from stitch.lifecycle.correct import Changes, correct

Make = Callable[..., Any]


class Counting(LocalLabeler):
    """Local labels; counts the steps that its sessions take in again."""

    def __init__(self) -> None:
        self.replayed = 0

    def begin(self, trajectory: str, saved: bytes | None = None) -> LocalLabelSession:
        session = super().begin(trajectory, saved)
        replay = session.replay

        def counted(steps: Any, labels: Any) -> None:
            self.replayed += len(steps)
            replay(steps, labels)

        session.replay = counted  # type: ignore[method-assign]
        return session


def labels_of(world: Any) -> dict[str, StepLabels]:
    return {entry.id: entry.labels for entry in world.journal.entries("a", "t")}


CORRECTIONS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("s1", {"labels": {"scope": "savings"}}),
    ("s9", {"labels": {"scope": "travel", "event_types": ["tell"]}}),
    ("s4", {"text": "There is one at 9 am. Shall I take it?"}),
    ("s7", {"labels": {"entity_types": ["money"]}}),
    ("s0", {"labels": {"scope": "savings"}}),
)


@pytest.mark.parametrize(("step", "correction"), CORRECTIONS, ids=str)
def test_a_correction_changes_its_step_alone_and_nothing_is_read_again(
    worlds: Make, step: str, correction: dict[str, Any]
) -> None:
    world = worlds(labeler=Counting())
    world.add(*talk(*SAID))
    before, merges = labels_of(world), world.inventory(trajectory="t").merges
    correct(world.ingestor, Changes(**correction), tenant="a", trajectory="t", step=step, at=1.0, by="ann")
    after = labels_of(world)
    assert {each for each in before if before[each] != after[each]} <= {step}
    assert world.inventory(trajectory="t").merges == merges
    world.add(*talk("Thanks, that is all.", start=len(SAID)))
    assert world.labeler.replayed == 0


@pytest.mark.parametrize(("step", "correction"), CORRECTIONS, ids=str)
def test_a_process_that_dies_after_a_correction_leaves_the_next_one_to_go_on_as_it_would_have(
    worlds: Make, tmp_path: Path, step: str, correction: dict[str, Any]
) -> None:
    outcomes = []
    for dies in (False, True):
        world = worlds(tmp_path / f"j{dies}", labeler=LocalLabeler())
        world.add(*talk(*SAID))
        correct(world.ingestor, Changes(**correction), tenant="a", trajectory="t", step=step, at=1.0)
        if dies:
            world.journal.close()
            world = worlds(tmp_path / f"j{dies}", labeler=LocalLabeler(), store=world.store)
            world.ingestor.recover()
        world.add(*talk(*SAID, start=len(SAID)))
        world.ingestor.save()
        checkpoint = world.journal.checkpoint("a", "t")
        outcomes.append((labels_of(world), checkpoint.session, world.inventory(trajectory="t")))
    assert outcomes[0] == outcomes[1]


def test_a_correction_that_the_store_does_not_hold_is_not_reported_as_done(worlds: Make) -> None:
    world = worlds()
    world.add(*talk(*SAID))
    world.store.fail_next(StoreError("the disk is full"))
    with pytest.raises(StoreError, match="is corrected, and is not found so yet: the disk is full"):
        correct(world.ingestor, Changes(text="There is none."), tenant="a", trajectory="t", step="s4", at=1.0)
    assert world.journal.entry("a", "t", "s4").step.content == "There is none."
    assert world.ingestor.retry("a") == 1
    (held,) = [record.snippet for record in world.store.records.values() if record.snippet.step == "s4"]
    assert held == world.journal.entry("a", "t", "s4").snippet()
