"""What every `FilterSelector` must pass: subclass `SelectorContract`, give it a `selector` fixture, run pytest."""

import pytest

from stitch.core import EntityTypeSummary, FilterSelector, LabelInventory, ScopeSummary, SearchRequest

INVENTORY = LabelInventory(
    scopes=(
        ScopeSummary(
            name="day 1 itinerary", trajectory="trip", spans=((0, 4), (9, 12)), steps=9,
            terms={"itinerari": 1.0, "hotel": 0.5}, values={"apollo seaside resort": 2, "march 1st": 1},
        ),
        ScopeSummary(
            name="day 2 itinerary", trajectory="trip", spans=((5, 8),), steps=4,
            terms={"itinerari": 1.0, "hotel": 0.5}, values={"daphne laurel hotel": 2, "march 2nd": 1},
        ),
    ),
    event_types={"ask": 4, "decide": 2},
    entity_types={"price": EntityTypeSummary(steps=3, values=("$76.22",)), "rating": EntityTypeSummary(steps=2)},
    steps=13,
)  # fmt: skip
"""A small label space."""


class SelectorContract:
    """Inherit, name the class `Test…`, and override the fixture `selector`."""

    @pytest.fixture
    def selector(self) -> FilterSelector:
        raise NotImplementedError

    @pytest.mark.parametrize("query", ["What did the hotel for day 1 cost?", "Who sings that song?", "?", "", "日 1"])
    def test_it_chooses_only_labels_of_the_inventory(self, selector: FilterSelector, query: str) -> None:
        chosen = selector.select(SearchRequest(query=query, tenant="a"), INVENTORY).intent_filter
        assert set(chosen.scopes) <= {scope.name for scope in INVENTORY.scopes}
        assert set(chosen.event_types) <= set(INVENTORY.event_types)
        assert set(chosen.entity_types) <= set(INVENTORY.entity_types)

    def test_an_empty_inventory_gives_an_empty_filter(self, selector: FilterSelector) -> None:
        selection = selector.select(SearchRequest(query="What did day 1 cost?", tenant="a"), LabelInventory())
        assert not selection.intent_filter
        assert selection.reasons == ()

    def test_a_question_about_something_else_gives_an_empty_filter(self, selector: FilterSelector) -> None:
        assert not selector.select(SearchRequest(query="Hm?", tenant="a"), INVENTORY).intent_filter

    def test_a_scope_that_the_question_names_is_chosen_alone(self, selector: FilterSelector) -> None:
        request = SearchRequest(query="What did the hotel for day 1 cost?", tenant="a")
        assert selector.select(request, INVENTORY).intent_filter.scopes == ("day 1 itinerary",)

    def test_every_label_has_its_reason(self, selector: FilterSelector) -> None:
        selection = selector.select(SearchRequest(query="What did the hotel for day 1 cost?", tenant="a"), INVENTORY)
        assert len(selection.reasons) == len(selection.intent_filter.labels())

    def test_the_same_question_gives_the_same_filter(self, selector: FilterSelector) -> None:
        request = SearchRequest(query="Which hotel was chosen for day 2?", tenant="a")
        assert selector.select(request, INVENTORY) == selector.select(request, INVENTORY)
