"""The label space of a trajectory and of a tenant, up to date and never waiting for a model."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stitch.core import (
    EntityTypeSummary,
    Label,
    LabelInventory,
    LabelKind,
    LabelMerge,
    LabelVocabulary,
    ScopeSummary,
    Step,
    StepLabels,
)
from stitch.ingest import unite
from stitch.ingest.inventories import Union
from stitch.ingest.united_merges import UnitedMerges
from stitch.testing.labeling import ScriptedLabeler, label_from_the_past
from stitch.testing.reachable import texts_held_by

Make = Callable[..., Any]


def merge(alias: str, into: str, *, kind: LabelKind = LabelKind.EVENT_TYPE) -> LabelMerge:
    return LabelMerge(kind=kind, alias=alias, into=into)


def scope(name: str, trajectory: str) -> ScopeSummary:
    return ScopeSummary(name=name, trajectory=trajectory, spans=((0, 1),), steps=2)


def test_an_unknown_trajectory_or_tenant_has_no_labels(world: Any) -> None:
    assert world.inventory("a", "t") == LabelInventory()
    assert world.inventory("a") == LabelInventory()


def test_the_labels_of_a_step_are_there_when_it_is_added(world: Any, steps: Make) -> None:
    world.add(*steps(1))
    assert world.inventory("a", "t").event_types == {"book": 1}
    assert world.inventory().event_types == {"book": 1}
    world.add(*steps(1), trajectory="u")
    assert world.inventory().event_types == {"book": 2}
    world.add(*steps(1, start=1))
    assert world.inventory("a", "t").event_types == {"book": 1, "it": 1}
    assert world.inventory().event_types == {"book": 2, "it": 1}
    assert {(s.name, s.trajectory) for s in world.inventory().scopes} == {("scope 0", "t"), ("scope 0", "u")}
    assert world.inventory().steps == 3


def test_tenants_do_not_share_labels(world: Any, steps: Make) -> None:
    world.add(*steps(3), tenant="a")
    assert world.inventory("b") == LabelInventory()
    world.add(*steps(1, start=6), tenant="b")
    assert world.inventory("b").event_types == {"cancel": 1}
    assert "cancel" not in world.inventory("a").event_types


def test_a_reopened_memory_knows_its_labels_without_a_session(worlds: Make, steps: Make, tmp_path: Path) -> None:
    first = worlds(tmp_path / "j")
    first.add(*steps(5))
    first.add(*steps(4), trajectory="u")
    expected = [first.inventory(), first.inventory("a", "t")]
    first.ingestor.close()
    second = worlds(tmp_path / "j")
    assert [second.inventory(), second.inventory("a", "t")] == expected
    assert second.labeler.replayed == []


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


def test_only_so_many_sessions_are_live_and_the_others_are_resumed(worlds: Make, steps: Make) -> None:
    few, many = worlds(live_sessions=2), worlds()
    for world in (few, many):
        for start in range(0, 6, 2):
            for name in "tuvw":
                world.add(*steps(2, start=start), trajectory=name)
    assert few.snippets() == many.snippets()
    assert few.inventory() == many.inventory()
    assert few.labeler.replayed == [], "who makes room is saved"
    assert few.journal.checkpoint("a", "t").position == 6


def test_trajectories_that_are_kept_ready_have_only_so_many_steps(
    worlds: Make, steps: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    few, many = worlds(), worlds()
    for most, world in ((5, few), (1_000, many)):
        monkeypatch.setattr("stitch.ingest.state.KEPT_STEPS", most)
        for start in range(0, 6, 2):
            for name in "tuvw":
                world.add(*steps(2, start=start), trajectory=name)
    assert few.snippets() == many.snippets()
    assert few.inventory() == many.inventory()
    assert few.journal.checkpoint("a", "t").position == 6
    assert many.journal.checkpoint("a", "t") is None


def test_nobody_waits_for_labels_that_are_being_made(worlds: Make, steps: Make) -> None:
    begun, go_on = threading.Event(), threading.Event()

    def slow(step: Step, past: Sequence[Step]) -> StepLabels:
        if past:
            begun.set()
            assert go_on.wait(60)
        return label_from_the_past(step, past)

    world = worlds(labeler=ScriptedLabeler(slow))
    world.add(*steps(1))
    before = world.inventory("a", "t")
    thread = threading.Thread(target=world.add, args=steps(1, start=1))
    thread.start()
    assert begun.wait(60)
    assert world.inventory("a", "t") == before
    assert world.inventory() == before
    go_on.set()
    thread.join()
    assert world.inventory().steps == 2
    assert world.inventory("a", "t").steps == 2


def test_who_asks_while_a_trajectory_is_resumed_sees_what_was_saved_of_it(
    worlds: Make, steps: Make, tmp_path: Path
) -> None:
    begun, go_on = threading.Event(), threading.Event()

    class Resuming(ScriptedLabeler):
        def begin(self, *arguments: Any, **named: Any) -> Any:
            begun.set()
            assert go_on.wait(60)
            return super().begin(*arguments, **named)

    first = worlds(tmp_path / "j")
    first.add(*steps(5))
    before = first.inventory("a", "t")
    first.ingestor.close()
    second = worlds(tmp_path / "j", labeler=Resuming())
    thread = threading.Thread(target=second.add, args=steps(1, start=5))
    thread.start()
    assert begun.wait(60)
    assert second.inventory("a", "t") == before
    go_on.set()
    thread.join()
    assert second.inventory("a", "t").steps == 6


def test_a_failing_trajectory_is_asked_again(worlds: Make, steps: Make, tmp_path: Path) -> None:
    first = worlds(tmp_path / "j")
    first.add(*steps(2))
    first.journal.close()

    class Once(ScriptedLabeler):
        broken = True

        def begin(self, trajectory: str, saved: bytes | None = None) -> Any:
            if self.broken:
                raise KeyboardInterrupt
            return super().begin(trajectory, saved)

    labeler = Once()
    second = worlds(tmp_path / "j", labeler=labeler)
    try:
        second.inventory()
    except KeyboardInterrupt:
        labeler.broken = False
    assert second.inventory().steps == 2


def test_many_tenants_are_each_given_their_own(world: Any, steps: Make) -> None:
    for n in range(70):
        world.add(*steps(1 + n % 3), tenant=f"tenant {n}")
        world.inventory(f"tenant {n}")
    assert [world.inventory(f"tenant {n}").steps for n in range(70)] == [1 + n % 3 for n in range(70)]


def test_a_union_adds_counts_and_keeps_scopes_apart() -> None:
    one = LabelInventory(
        scopes=(scope("day 1", "t"),),
        event_types={"ask": 2},
        entity_types={"price": EntityTypeSummary(steps=2, values=("3", "4"))},
        steps=2,
    )
    two = LabelInventory(
        scopes=(scope("day 1", "u"),),
        event_types={"ask": 1, "answer": 1},
        entity_types={"price": EntityTypeSummary(steps=1, values=("4", "5"))},
        steps=2,
    )
    union = unite([one, two])
    assert union.scopes == (scope("day 1", "t"), scope("day 1", "u"))
    assert union.event_types == {"ask": 3, "answer": 1}
    assert union.entity_types == {"price": EntityTypeSummary(steps=3, values=("3", "4", "5"))}
    assert union.steps == 4
    assert unite([one]) is one
    assert unite([]) == LabelInventory()


def test_a_union_keeps_the_last_values_of_an_entity_type() -> None:
    parts = [
        LabelInventory(entity_types={"price": EntityTypeSummary(steps=1, values=tuple(f"{n}-{i}" for i in range(40)))})
        for n in range(3)
    ]
    values = unite(parts).entity_types["price"].values
    assert len(values) == 64
    assert values[-40:] == parts[-1].entity_types["price"].values


def the_last(parts: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    """The values of as many of the last parts as it takes to have 64, in their order, each once; the last 64."""
    first = len(parts)
    while first and len({value for part in parts[first:] for value in part}) < 64:
        first -= 1
    return tuple(dict.fromkeys(value for part in parts[first:] for value in part))[-64:]


@given(st.randoms(use_true_random=False), st.integers(2, 100), st.sampled_from([8, 70, 400]))
def test_however_many_parts_there_are_a_union_has_the_last_values(chance: Random, size: int, values: int) -> None:
    union, parts = Union(), dict[str, tuple[str, ...]]()
    for _ in range(6):
        for name in chance.sample([f"{n:03}" for n in range(size)], chance.randint(1, size)):
            parts[name] = tuple(str(chance.randrange(values)) for _ in range(chance.randrange(4)))
        gone = chance.sample(sorted(parts), chance.randrange(3) if len(parts) > 4 else 0)
        changed = {name: priced(*kept) for name, kept in parts.items()} | dict.fromkeys(gone, LabelInventory())
        for name in gone:
            del parts[name]
        whole = union.update(changed)
        if len(parts) > 1:
            assert whole.entity_types["price"].values == the_last([parts[name] for name in sorted(parts)])


def priced(*values: str) -> LabelInventory:
    return LabelInventory(entity_types={"price": EntityTypeSummary(steps=1, values=values)}, steps=1)


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


def test_merges_that_contradict_each_other_do_no_harm() -> None:
    one = LabelInventory(event_types={"cost": 1}, merges=(merge("price", "cost"),))
    two = LabelInventory(event_types={"price": 2}, merges=(merge("cost", "price"), merge("price", "fee")))
    union = unite([one, two])
    assert union.merges == one.merges
    assert union.event_types == {"cost": 3}


values = st.sampled_from("abcdef")
inventories = st.builds(
    lambda events, merges: LabelInventory(event_types=events, merges=merges, steps=sum(events.values())),
    st.dictionaries(values, st.integers(1, 5), max_size=4),
    st.lists(st.builds(merge, values, values), max_size=4).map(tuple),
)


@given(st.lists(inventories.filter(lambda part: part.steps > 0), min_size=2, max_size=4))
def test_a_union_loses_no_step_and_its_labels_are_canonical(parts: list[LabelInventory]) -> None:
    union = unite(parts)
    vocabulary = union.vocabulary()
    assert sum(union.event_types.values()) == sum(part.steps for part in parts) == union.steps
    assert all(vocabulary.canonical(LabelKind.EVENT_TYPE, value) == value for value in union.event_types)


scoped = st.builds(
    lambda inventory, names: inventory.model_copy(
        update={
            "scopes": tuple(scope(f"{name} / look up" if name > "c" else name, "t") for name in names),
            "entity_types": {name: EntityTypeSummary(steps=1, values=tuple(names)) for name in names},
        }
    ),
    inventories,
    st.lists(values, max_size=3, unique=True),
)


@given(st.lists(st.dictionaries(st.sampled_from("tuvw"), scoped | st.just(LabelInventory()), max_size=3), max_size=5))
def test_a_union_that_is_brought_up_to_date_is_the_one_that_would_be_made_anew(
    changes: list[dict[str, LabelInventory]],
) -> None:
    union, parts = Union(), dict[str, LabelInventory]()
    for changed in changes:
        parts |= changed
        whole = unite(parts[name] for name in sorted(parts))
        assert union.update(changed) == whole
        assert orders(union.update({})) == orders(whole)
        written = LabelInventory.model_validate_json(
            whole.model_copy(update={"scopes": [*whole.scopes]}).model_dump_json()
        )
        assert list(whole.phases()) == list(written.phases())
        assert written.scopes == tuple(whole.scopes)
        assert len(whole.scopes) == len(written.scopes)


@given(
    st.lists(
        st.dictionaries(st.sampled_from("tuvw"), st.lists(st.builds(merge, values, values), max_size=5), max_size=3),
        max_size=5,
    )
)
def test_merges_that_are_brought_up_to_date_are_those_that_hold_one_after_the_other(
    changes: list[dict[str, list[LabelMerge]]],
) -> None:
    united, parts = UnitedMerges(), dict[str, list[LabelMerge]]()
    for changed in changes:
        before = united.into.copy()
        touched = [united.replace(name, parts.get(name, []), merges) for name, merges in changed.items()]
        moved = united.unite(set().union(*touched))
        parts |= changed
        vocabulary = LabelVocabulary()
        for each in (each for name in sorted(parts) for each in parts[name]):
            with suppress(ValueError):
                vocabulary.merge(each)
        assert united.merges == vocabulary.merges
        aliases = [Label(each.kind, each.alias) for each in vocabulary.merges]
        assert united.into == {alias: vocabulary.canonical(*alias) for alias in aliases}
        assert moved == {label for label, _ in before.items() ^ united.into.items()}


def test_a_merge_of_one_trajectory_is_applied_without_those_of_others() -> None:
    applied = 0

    class Watched(LabelMerge):
        def __getattribute__(self, name: str) -> Any:
            nonlocal applied
            applied += name == "alias"
            return super().__getattribute__(name)

    def part(number: int, *merges: LabelMerge) -> LabelInventory:
        own = Watched(kind=LabelKind.EVENT_TYPE, alias=f"alias {number}", into=f"label {number}")
        return LabelInventory.model_construct(event_types={f"label {number}": 1}, merges=(own, *merges), steps=1)

    union = Union()
    union.update({str(number): part(number) for number in range(50)})
    before, applied = union.update({}), 0
    after = union.update({"7": part(7, merge("ask", "query"))})
    assert len(after.merges) == 51
    assert applied < 10
    assert union.update({"8": part(8)}).merges is after.merges
    assert before.merges is not after.merges


def orders(inventory: LabelInventory) -> tuple[list[str], list[str]]:
    return list(inventory.event_types), list(inventory.entity_types)


def test_of_a_part_that_is_empty_now_nothing_stays_in_a_union() -> None:
    secret = LabelInventory(
        scopes=(scope("zorblatt", "zorblatt trip"),),
        event_types={"zorblatt": 1},
        entity_types={"zorblatt": EntityTypeSummary(steps=1, values=("zorblatt",))},
        merges=(merge("zorblatts", "zorblatt"),),
        steps=1,
    )
    others = {name: LabelInventory(event_types={"ask": 1}, steps=1) for name in "ab"}
    union = Union()
    union.update({**others, "zorblatt trip": secret})
    union.update({"zorblatt trip": LabelInventory()})
    assert not [held for held in texts_held_by(union) if "zorblatt" in held]


def test_what_remembers_much_is_saved_the_more_seldom(worlds: Make, steps: Make) -> None:
    class Heavy(ScriptedLabeler):
        def begin(self, trajectory: str, saved: bytes | None = None) -> Any:
            session = super().begin(trajectory, saved)
            save = session.save
            session.save = lambda: save() + b" " * 10 * 4096  # type: ignore[method-assign]
            return session

    world = worlds(labeler=Heavy(), checkpoint_steps=2)
    saved = []
    for step in steps(15):
        world.add(step)
        checkpoint = world.journal.checkpoint("a", "t")
        saved.append(checkpoint.position if checkpoint else 0)
    assert sorted(set(saved)) == [0, 2, 12], "ten steps for ten times 4096 bytes"
    assert world.inventory() == worlds(labeler=Heavy(), journal=world.journal).inventory()
