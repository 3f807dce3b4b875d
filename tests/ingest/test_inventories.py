"""The label space of a trajectory and of a tenant, up to date and never waiting for a model."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from doubles.labeling import ScriptedLabeler
from stitch.core import (
    EntityTypeSummary,
    Label,
    LabelInventory,
    LabelKind,
    LabelMerge,
    ScopeSummary,
)
from stitch.ingest import unite

Make = Callable[..., Any]


def merge(alias: str, into: str, *, kind: LabelKind = LabelKind.EVENT_TYPE) -> LabelMerge:
    return LabelMerge(kind=kind, alias=alias, into=into)


def scope(name: str, trajectory: str) -> ScopeSummary:
    return ScopeSummary(name=name, trajectory=trajectory, spans=((0, 1),), steps=2)


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


def test_merges_of_one_trajectory_hold_for_the_labels_of_another() -> None:
    one = LabelInventory(event_types={"ask": 1}, merges=(merge("query", "ask"),), steps=1)
    two = LabelInventory(
        scopes=(scope("query", "u"), scope("trip", "u")),
        event_types={"query": 2},
        merges=(merge("tour", "trip", kind=LabelKind.SCOPE),),
    )
    three = LabelInventory(
        scopes=(scope("tour", "v"),),
        entity_types={"cost": EntityTypeSummary(steps=1), "price": EntityTypeSummary(steps=1)},
        merges=(merge("price", "cost", kind=LabelKind.ENTITY_TYPE),),
    )
    union = unite([one, two, three])
    assert union.event_types == {"ask": 3}
    assert [s.name for s in union.scopes] == ["query", "trip", "trip"]
    assert union.entity_types["cost"].steps == 2
    assert union.count(Label(LabelKind.SCOPE, "trip")) == 4
    assert len(union.merges) == 3
