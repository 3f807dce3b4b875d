"""The choice of labels, by rules and by a model: only what the question licenses, from a space up to date."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contracts.selector import SelectorContract
from doubles.golden import compare_answers
from stitch.core import (
    EntityTypeSummary,
    FilterSelector,
    LabelInventory,
    LabelKind,
    LabelMerge,
    ScopeSummary,
    SearchRequest,
)
from stitch.retrieve import LocalFilterSelector
from stitch.retrieve.question.label_space import LabelSpace
from stitch.retrieve.question.reading import read_question

FILTERS = sorted((Path(__file__).parent / "filters").glob("*.txt"))


class TestLocalFilterSelector(SelectorContract):
    @pytest.fixture
    def selector(self) -> FilterSelector:
        return LocalFilterSelector()


def scope(name: str, *values: str, terms: str = "", spans: int = 1) -> ScopeSummary:
    return ScopeSummary(
        name=name, trajectory="t", spans=tuple((10 * n, 10 * n + 5) for n in range(spans)), steps=6,
        terms=dict.fromkeys(terms.split(), 1.0), values=dict.fromkeys(values, 1),
    )  # fmt: skip


def inventory(*scopes: ScopeSummary, classes: str = "", events: dict[str, int] | None = None) -> LabelInventory:
    """Labels; a class is a name alone, or a name with its values behind a colon."""
    summaries = {}
    for told in classes.split(", "):
        name, _, values = told.partition(":")
        summaries[name] = EntityTypeSummary(steps=3, values=tuple(values.split("/")) if values else ())
    summaries.pop("", None)
    return LabelInventory(scopes=scopes, steps=99, event_types=events or {}, entity_types=summaries)


BUSES = inventory(
    scope("bus", "Sacramento", "March 1st", "8:30 am", terms="bus leav"),
    scope("bus 2", "Oslo", "March 8th", "2:15 pm", terms="bus leav"),
    scope("hotel", "San Diego", "All On Me by Devin Dawson", terms="hotel room"),
    classes="price, time, departure time, city, ticket fare",
    events={"ask": 3, "decide": 3, "report result": 3, "play": 3, "attack": 40},
)
KNOWN = {
    "buses": BUSES,
    "merged": BUSES.model_copy(
        update={"merges": (LabelMerge(kind=LabelKind.ENTITY_TYPE, alias="ticket fare", into="price"),)}
    ),
    "cities": inventory(scope("bus", "New York"), scope("bus 2", "York"), scope("hotel"), scope("car")),
    "bugs": inventory(
        scope("login timeout", spans=2), scope("export rows"), events={"report result": 3, "ask": 3}
    ),
    "inns": inventory(scope("stay", "Blue Door Inn"), scope("flight"), classes="price, rating, phone"),
    "days": inventory(
        scope("day 1 plan", "Oslo"), scope("day 2 plan", "Bergen"), classes="name, person, inn, price, song:my way"
    ),
    "classes": inventory(
        scope("a", "Oslo"), scope("b", "Bergen"),
        classes="contact number, salon name, therapist name, link, quantity, stops:2 stops/three stops/none, address",
    ),
    "debate": inventory(
        scope("a"), scope("b"), classes="citation", events={"concede": 3, "attack": 40}
    ),
}  # fmt: skip


@pytest.mark.parametrize("file", FILTERS, ids=[file.stem for file in FILTERS])
def test_what_a_question_licenses_is_what_was_looked_at(file: Path) -> None:
    def answer(query: str) -> list[str]:
        made = LocalFilterSelector().select(SearchRequest(query=query, tenant="a"), KNOWN[file.stem])
        chosen = made.intent_filter
        labels = " | ".join(", ".join(each) for each in (chosen.scopes, chosen.event_types, chosen.entity_types))
        lines = [f"{'likely' if made.likely else 'decides'}: {labels}{'; listed by names' if made.lists_names else ''}"]
        lines += [f"searched: {made.remainder}"] if made.remainder else []
        lines += [f"asked beside {read_question(query).context!r}"] if read_question(query).context else []
        return [*lines, *(f"because {reason}" for reason in made.reasons)]

    compare_answers(file, answer)


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
