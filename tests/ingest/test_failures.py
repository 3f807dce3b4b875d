"""Steps that cannot be labeled, embedded or put: they are kept, found where they can be, and tried again."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from doubles.labeling import ScriptedLabeler
from stitch.core import StepState, snippet_id
from stitch.errors import ModelUnavailableError, StoreError

Make = Callable[..., Any]

NO_MODEL = ModelUnavailableError("no answer from the provider", hint="try again later")
NO_STORE = StoreError("the disk is full")


def states(receipts: Sequence[Any]) -> list[str]:
    return [receipt.state.value for receipt in receipts]


def test_steps_that_cannot_be_labeled_are_found_by_their_words_and_labeled_later(world: Any, steps: Make) -> None:
    world.add(*steps(3))
    world.labeler.fail_next(NO_MODEL)
    receipts = world.add(*steps(2, start=3))
    assert states(receipts) == ["failed", "failed"]
    assert receipts[0].reason == "no answer from the provider (try again later)"
    (unlabeled,) = world.store.get("a", [snippet_id("a", "t", "s3")])
    assert unlabeled.labeled_by is None
    assert not unlabeled.intent.labels()
    assert unlabeled.resolved == unlabeled.text
    assert world.ingestor.counts("a") == (5, 3, 3, 2, 1, 0)
    assert [r.step for r in world.ingestor.receipts("a", state=StepState.FAILED)] == ["s3", "s4"]
    assert world.ingestor.retry("a") == 2
    assert world.ingestor.counts("a") == (5, 5, 5, 0, 1, 0)
    assert [r.reason for r in world.ingestor.receipts("a")] == [""] * 5


def test_the_wrong_number_of_labels_fails_the_steps(worlds: Make, steps: Make) -> None:
    class Short(ScriptedLabeler):
        def begin(self, trajectory: str, saved: bytes | None = None) -> Any:
            session = super().begin(trajectory, saved)
            label = session.label
            session.label = lambda steps: label(steps)[:1]  # type: ignore[method-assign]
            return session

    receipts = worlds(labeler=Short()).add(*steps(2))
    assert states(receipts) == ["failed", "failed"]
    assert receipts[0].reason == "labeler 'scripted' gave 1 labels for 2 steps"


def test_a_bug_in_the_labeler_fails_steps_and_does_not_lock_the_memory(world: Any, steps: Make) -> None:
    world.labeler.fail_next(NameError("no such thing"))
    receipts = world.add(*steps(3))
    assert states(receipts) == ["failed"] * 3
    assert "broke: NameError: no such thing" in receipts[0].reason
    assert world.store.count("a") == 3
    world.ingestor.recover()
    assert world.ingestor.retry("a") == 3


def test_steps_that_cannot_be_put_keep_their_labels(world: Any, steps: Make) -> None:
    world.store.fail_next(NO_STORE)
    receipts = world.add(*steps(2))
    assert states(receipts) == ["failed", "failed"]
    assert receipts[1].reason == "the disk is full"
    assert world.ingestor.counts("a") == (2, 2, 0, 2, 1, 0)
    assert states(world.add(*steps(1, start=2))) == ["stored"]
    assert world.ingestor.retry("a") == 2
    assert len(world.labeler.calls) == 2, "labels are never made twice"
    assert world.store.count("a") == 3


def test_an_error_in_the_labeler_leaves_steps_accepted_and_the_next_add_goes_on(world: Any, steps: Make) -> None:
    world.add(*steps(1))
    world.labeler.fail_next(KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        world.add(*steps(2, start=1))
    assert world.ingestor.counts("a") == (3, 1, 1, 0, 1, 0)
    assert states(world.add(*steps(1, start=3))) == ["stored"]
    assert world.ingestor.counts("a").stored == 4
    assert world.labeler.replayed == [("t", ("s0",))]
