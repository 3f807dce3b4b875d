"""The label space of a trajectory and of a tenant, up to date and never waiting for a model."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from doubles.labeling import ScriptedLabeler
from stitch.core import EntityTypeSummary, LabelInventory, LabelKind, LabelMerge
from stitch.ingest.inventories import Union, unite

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


NAMES = st.sampled_from("abcd")
PAIRS = st.lists(st.tuples(NAMES, NAMES), max_size=3)


def part(events: dict[str, int], entities: list[tuple[str, str]], merged: list[tuple[str, str]]) -> LabelInventory:
    return LabelInventory(
        event_types=events,
        entity_types={name: EntityTypeSummary(steps=1, values=(name, value)) for name, value in entities},
        merges=tuple(LabelMerge(kind=LabelKind.EVENT_TYPE, alias=one, into=other) for one, other in merged),
        steps=len(events),
    )


PARTS = st.builds(part, st.dictionaries(NAMES, st.integers(1, 3), max_size=3), PAIRS, PAIRS)


@given(st.lists(st.dictionaries(st.sampled_from("pqrs"), PARTS, min_size=1), min_size=1, max_size=6))
def test_a_union_that_is_kept_up_to_date_is_that_which_is_made_anew(changes: list[dict[str, LabelInventory]]) -> None:
    kept, parts = Union(), dict[str, LabelInventory]()
    for changed in changes:
        parts |= changed
        now, anew = kept.update(changed), Union().update(parts)
        assert now == anew
        assert [list(now.event_types), list(now.entity_types)] == [list(anew.event_types), list(anew.entity_types)]
        assert unite(parts[name] for name in sorted(parts)) == anew
