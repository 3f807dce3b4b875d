"""The choice of labels without a model: only what the question licenses."""

import pytest

from contracts.selector import SelectorContract
from stitch.core import (
    EntityTypeSummary,
    FilterSelector,
    LabelInventory,
    LabelKind,
    LabelMerge,
    ScopeSummary,
    SearchRequest,
    Selection,
)
from stitch.retrieve import LocalFilterSelector


class TestLocalFilterSelector(SelectorContract):
    @pytest.fixture
    def selector(self) -> FilterSelector:
        return LocalFilterSelector()


def inventory(*scopes: str, classes: str = "price name", merges: tuple[LabelMerge, ...] = ()) -> LabelInventory:
    return LabelInventory(
        scopes=tuple(ScopeSummary(name=name, trajectory="t", spans=((0, 5),), steps=6) for name in scopes),
        entity_types={name: EntityTypeSummary(steps=3) for name in classes.split()},
        merges=merges,
        steps=99,
    )


KNOWN = inventory("day 1 plan", "day 1", "bank import", "cats", "of the")


def select(query: str, known: LabelInventory = KNOWN) -> Selection:
    return LocalFilterSelector().select(SearchRequest(query=query, tenant="a"), known)


@pytest.mark.parametrize(
    ("query", "scopes"),
    [
        ("What did we plan for day 1?", {"day 1", "day 1 plan"}),
        ("How did the bank imports end?", {"bank import"}),
        ("How did the import of the bank end?", set()),
        ("Do cats matter?", set()),  # one word says too little
    ],
)
def test_a_scope_is_chosen_by_its_whole_name_of_several_words(query: str, scopes: set[str]) -> None:
    chosen = select(query)
    assert set(chosen.intent_filter.scopes) == scopes
    assert len([reason for reason in chosen.reasons if "the question names" in reason]) == len(scopes)


def test_names_that_do_not_tell_scopes_apart_choose_none() -> None:
    many = inventory(*(f"day {n}" for n in range(20)))
    assert not select(" ".join(f"day {n}" for n in range(20)), many).intent_filter.scopes


def test_classes_of_what_is_asked_for_are_likely_where_the_memory_has_them() -> None:
    assert select("What did it cost?").intent_filter.entity_types == ("price",)
    assert select("Which phone number was it?").intent_filter.entity_types == ()
    merge = LabelMerge(kind=LabelKind.ENTITY_TYPE, alias="price", into="fare")
    merged = inventory(classes="fare name", merges=(merge,))
    assert select("What did it cost?", merged).intent_filter.entity_types == ("fare",)


def test_what_is_new_in_an_inventory_is_found_and_what_is_gone_is_not() -> None:
    selector, request = LocalFilterSelector(), SearchRequest(query="And the bank import?", tenant="a")
    assert selector.select(request, inventory("day 1")).intent_filter.scopes == ()
    assert selector.select(request, KNOWN).intent_filter.scopes == ("bank import",)
    assert selector.select(request, inventory("day 1")).intent_filter.scopes == ()
