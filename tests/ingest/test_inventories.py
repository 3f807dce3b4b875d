"""The label space of a trajectory and of a tenant, up to date and never waiting for a model."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from doubles.labeling import ScriptedLabeler
from stitch.core import LabelInventory

Make = Callable[..., Any]


def test_tenants_do_not_share_labels(world: Any, steps: Make) -> None:
    world.add(*steps(3), tenant="a")
    assert world.inventory("b") == LabelInventory()
    world.add(*steps(1, start=6), tenant="b")
    assert world.inventory("b").event_types == {"cancel": 1}
    assert "cancel" not in world.inventory("a").event_types


def test_without_a_last_checkpoint_labels_are_replayed_and_never_made_again(
    worlds: Make, steps: Make, tmp_path: Path
) -> None:
    first = worlds(tmp_path / "j", checkpoint_steps=4)
    for step in steps(6):
        first.add(step)
    expected = first.inventory("a", "t")
    first.journal.close()
    second = worlds(tmp_path / "j")
    assert second.inventory("a", "t") == expected
    assert second.labeler.replayed == [("t", ("s4", "s5"))]
    assert second.labeler.calls == []


def test_the_session_of_another_labeler_is_not_used(worlds: Make, steps: Make, tmp_path: Path) -> None:
    first = worlds(tmp_path / "j")
    first.add(*steps(3))
    first.ingestor.close()
    second = worlds(tmp_path / "j", labeler=ScriptedLabeler(name="other"))
    second.add(*steps(1, start=3))
    assert second.labeler.replayed == [("t", ("s0", "s1", "s2"))]
    assert second.labeler.calls == [("t", ("s3",))]
    assert second.inventory().steps == 4
