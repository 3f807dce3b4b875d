"""A label space that is brought up to date is the one that would be made anew."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from stitch.core import EntityTypeSummary, LabelInventory, LabelKind, LabelMerge, ScopeSummary
from stitch.retrieve.question.label_space import LabelSpace

names = st.sampled_from(["day 1 breakfast", "day 2", "the museum", "trip to Oslo", "hotel"])
scopes = st.builds(
    lambda name, trajectory, values, spans: ScopeSummary(
        name=name,
        trajectory=trajectory,
        spans=((0, 1), (4, 5))[:spans],
        steps=2,
        terms={value.split()[0].lower(): 1.0 for value in values},
        values=dict.fromkeys(values, 1),
    ),
    names,
    st.sampled_from("tu"),
    st.lists(st.sampled_from(["Olympus Inn", "Oslo", "March 3", "76", "Inn"]), max_size=3, unique=True),
    st.integers(1, 2),
)
inventories = st.builds(
    lambda found, merged: LabelInventory(
        scopes=tuple(found),
        event_types={scope.name: 1 for scope in found},
        entity_types={scope.name: EntityTypeSummary(steps=1, values=tuple(scope.values)) for scope in found},
        merges=(LabelMerge(kind=LabelKind.SCOPE, alias="hotel", into="the museum"),) * merged,
    ),
    st.lists(scopes, max_size=4),
    st.booleans(),
)


def many(name: str, known: EntityTypeSummary) -> bool:
    return len(known.values) > 1


def read(space: LabelSpace) -> dict[str, Any]:
    """All that can be asked of a space, with scopes by name."""

    def by_name(holders: Any) -> dict[str, set[str]]:
        return {said: {space.names[number] for number in holders.get(said)} for said in holders}

    said = (space.by_value, space.by_word, space.by_term, space.by_moment, space.by_unit, space.by_name)
    phrases = ("olympus inn", "inn", "march 3")
    return {
        "said": [by_name(holders) for holders in said],
        "holders": [{space.names[number] for number in space.holders(phrase)} for phrase in phrases],
        "order": [space.names[number] for number in space.in_order(space.names)],
        "types": (space.entity_types, space.event_types, space.counted, space.valued),
        "rest": (space.longest_name, space.telling({0}), space.vocabulary.merges),
    }


@given(st.lists(inventories, min_size=1, max_size=5))
def test_a_space_brought_up_to_date_is_the_one_made_anew(told: list[LabelInventory]) -> None:
    space = LabelSpace(counts=many)
    for inventory in told:
        space.update(inventory)
        fresh = LabelSpace(counts=many)
        fresh.update(inventory)
        assert read(space) == read(fresh)
