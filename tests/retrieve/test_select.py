"""The choice of labels: only what the question licenses, and at the right granularity."""

import pytest

from contracts.selector import SelectorContract
from stitch.core import (
    EntityTypeSummary,
    FilterSelector,
    IntentFilter,
    LabelInventory,
    LabelKind,
    LabelMerge,
    ScopeSummary,
    SearchRequest,
    Selection,
)
from stitch.retrieve import LocalFilterSelector
from stitch.retrieve.question.reading import read_question


class TestLocalFilterSelector(SelectorContract):
    @pytest.fixture
    def selector(self) -> FilterSelector:
        return LocalFilterSelector()


def scope(name: str, *values: str, terms: tuple[str, ...] = (), spans: int = 1) -> ScopeSummary:
    return ScopeSummary(
        name=name, trajectory="t", spans=tuple((10 * n, 10 * n + 5) for n in range(spans)), steps=6,
        terms=dict.fromkeys(terms, 1.0), values=dict.fromkeys(values, 1),
    )  # fmt: skip


def inventory(
    *scopes: ScopeSummary, entity_types: tuple[str, ...] = (), event_types: tuple[str, ...] = ()
) -> LabelInventory:
    return LabelInventory(
        scopes=scopes, steps=99, event_types=dict.fromkeys(event_types, 3),
        entity_types={name: EntityTypeSummary(steps=3) for name in entity_types},
    )  # fmt: skip


BUSES = inventory(
    scope("bus", "Sacramento", "March 1st", "8:30 am", terms=("bus", "leav")),
    scope("bus 2", "Oslo", "March 8th", "2:15 pm", terms=("bus", "leav")),
    scope("hotel", "San Diego", "All On Me by Devin Dawson", terms=("hotel", "room")),
    entity_types=("price", "time", "departure time", "city", "ticket fare"),
    event_types=("ask", "decide", "report result", "play"),
)


def select(query: str, known: LabelInventory = BUSES) -> Selection:
    return LocalFilterSelector().select(SearchRequest(query=query, tenant="a"), known)


@pytest.mark.parametrize(
    ("where", "chosen"),
    [
        ("the city is Sacramento", "bus"),
        ("the destination is oslo", "bus 2"),
        ("the date is 2019-03-08", "bus 2"),
        ("the bus leaves at 08:30", "bus"),
        ("the bus leaves at 14:15", "bus 2"),
        ("the song is All On Me", "hotel"),
    ],
)
def test_the_scope_that_has_the_named_value_is_chosen(where: str, chosen: str) -> None:
    selection = select(f"In the bus request where {where}, what was the number of seats?")
    assert selection.intent_filter.scopes == (chosen,)
    assert selection.remainder is None


def licensed(query: str, known: LabelInventory = BUSES) -> IntentFilter:
    """What decides, and is not only hinted at."""
    selection = select(query, known)
    return IntentFilter() if selection.likely else selection.intent_filter


def test_a_question_without_a_context_of_its_own_licenses_nothing_and_hints_at_what_it_says() -> None:
    for query in (
        "When did Caroline take the bus to Sacramento?",
        "In what city does the bus leave, what was said?",
        "When going to Sacramento by bus, what should I take along?",
    ):
        assert not licensed(query), query
    hinted = select("When did Caroline take the bus to Sacramento?")
    assert hinted.intent_filter.scopes == ("bus",)
    assert hinted.reasons[0].startswith("likely scope 'bus': the question says 'sacramento'")
    assert not select("How are you?").intent_filter


@pytest.mark.parametrize(
    "query",
    [
        "What was the fare in the bus request where the city is Sacramento?",
        "What was the fare during the trip when we went to Sacramento? Answer briefly.",
        "Which fare was it, in the request whose city is Sacramento?",
        "What was the fare for the bus with Sacramento as its city?",
        "What was the fare in the request in which the city is Sacramento",
    ],
)
def test_the_clause_that_says_where_to_look_may_stand_behind_the_question(query: str) -> None:
    selection = select(query)
    assert (selection.likely, selection.intent_filter.scopes) == (True, ("bus",))
    assert "sacramento" not in read_question(query).asked_beside_context.lower()
    assert "fare" in read_question(query).asked_beside_context


@pytest.mark.parametrize(
    "query", ["Where is the station from which the bus leaves?", "Is this the place? Where does it stand, in Oslo?"]
)
def test_what_is_asked_for_is_no_clause_that_says_where_to_look(query: str) -> None:
    assert read_question(query).context == ""


def test_a_name_within_a_longer_one_is_not_read_for_itself() -> None:
    cities = inventory(scope("bus", "New York"), scope("bus 2", "York"), scope("hotel"), scope("car"))
    asked = "In the request where the city is {}, what was the fare?"
    assert select(asked.format("New York"), cities).intent_filter.scopes == ("bus",)
    assert select(asked.format("York"), cities).intent_filter.scopes == ("bus", "bus 2")


def test_a_resumed_scope_is_chosen_by_its_name_and_the_name_is_not_searched_again() -> None:
    bugs = inventory(scope("login timeout", spans=2), scope("export rows"), event_types=("report result", "ask"))
    selection = select("What did the tests report after the fix for the login timeout?", bugs)
    assert selection.intent_filter.scopes == ("login timeout",)
    assert selection.intent_filter.event_types == ("report result",)
    assert selection.remainder == "what did the tests report after the fix for the"
    assert not select("What is the cause of the export rows?", bugs).intent_filter
    assert not select("Who raised the login timeout?", bugs).intent_filter
    assert not select("Who spoke about the login timeout conference?", bugs).intent_filter


@pytest.mark.parametrize(
    ("asked", "chosen"),
    [
        ("what was the departure time of the bus?", ("departure time", "time")),
        ("when does it leave?", ("time",)),
        ("how much is it?", ("price",)),
        ("what did the seats cost?", ("price",)),
        ("what was the fare per seat?", ("price", "ticket fare")),
        ("what was the arrival time?", ("time", "departure time")),
        ("what was the city centre called?", ("city",)),
        ("how were they rated?", ()),
        ("who was there?", ()),
        ("tell me more", ()),
    ],
)
def test_the_class_of_what_is_asked_for_is_chosen_beside_the_scope(asked: str, chosen: tuple[str, ...]) -> None:
    selection = select(f"In the request where the city is Oslo, {asked}")
    assert selection.intent_filter.entity_types == chosen


def test_a_question_for_a_list_licenses_the_class_of_what_is_listed_without_a_scope() -> None:
    chosen = select("List all cities that were mentioned.").intent_filter
    assert (chosen.scopes, chosen.entity_types) == ((), ("city",))


def test_labels_are_weighed_where_the_question_describes_a_scope_and_counted_where_it_names_one() -> None:
    assert select("In the request where the city is Oslo, what was the fare?").likely
    assert select("In the request where the city is Bergen, what was the fare?").likely
    assert select("What did the bus leave behind?").likely
    bugs = inventory(scope("login timeout", spans=2), scope("export rows"))
    assert not select("In the fix for the login timeout, what failed?", bugs).likely


def test_merged_labels_are_chosen_under_the_name_they_read_as() -> None:
    merged = BUSES.model_copy(
        update={"merges": (LabelMerge(kind=LabelKind.ENTITY_TYPE, alias="ticket fare", into="price"),)}
    )
    selection = select("In the request where the city is Oslo, what was the ticket fare?", merged)
    assert selection.intent_filter.entity_types == ("price",)


@pytest.mark.parametrize(
    ("query", "chosen"),
    [
        ("What does Blue Door Inn cost according to the conversation?", ("price",)),
        ("Which price was named for the Blue Door Inn?", ("price",)),
        ("How is Blue Door Inn rated, as told in the conversation?", ("rating",)),
        ("What was the phone number of the Blue Door Inn?", ("phone",)),
        ("What does Red Door Inn cost?", ()),
    ],
)
def test_one_fact_of_a_thing_that_was_named_licenses_its_class_without_a_scope(
    query: str, chosen: tuple[str, ...]
) -> None:
    known = inventory(scope("stay", "Blue Door Inn"), scope("flight"), entity_types=("price", "rating", "phone"))
    selection = select(query, known)
    assert selection.intent_filter.entity_types == chosen
    assert not selection.intent_filter.scopes
    for query in ("How many stars do I need at Blue Door Inn?", "When did I go to Blue Door Inn?"):
        assert not licensed(query, known), query


DAYS = inventory(
    scope("day 1 plan", "Oslo"), scope("day 2 plan", "Bergen"), entity_types=("name", "person", "inn", "price", "song")
).model_copy(
    update={
        "entity_types": {
            "name": EntityTypeSummary(steps=9), "person": EntityTypeSummary(steps=3), "inn": EntityTypeSummary(steps=5),
            "price": EntityTypeSummary(steps=2), "song": EntityTypeSummary(steps=2, values=("my way",)),
        }
    }
)  # fmt: skip


@pytest.mark.parametrize(
    ("query", "chosen"),
    [
        ("List all inns that came up for day 1.", {"inn", "name", "person"}),
        ("Which inns came up for day 1?", {"inn", "name", "person"}),
        ("Which inn(s) did we book for day 1?", {"inn", "name", "person"}),
        ("Which taverns came up for day 1?", {"name", "person"}),
        ("What is the plan for day 1? Stay at [inn]; Lunch at [lunch]", {"name", "person"}),
        ("Which cities did we see on day 1?", {"name", "person"}),
        ("Which inn came up for day 1?", {"inn"}),
        ("Which songs were played on day 1?", {"song"}),
        ("List the prices for day 1.", {"price"}),
        ("List all changes for day 1.", set()),
        ("How many inns came up for day 1?", {"inn"}),
    ],
)
def test_in_a_scope_things_of_a_class_without_known_values_are_listed_by_their_names(
    query: str, chosen: set[str]
) -> None:
    selection = select(query, DAYS)
    assert selection.intent_filter.scopes == ("day 1 plan",)
    assert set(selection.intent_filter.entity_types) == chosen
    assert selection.lists_names == ("name" in chosen)


@pytest.mark.parametrize(
    ("asked", "known", "chosen"),
    [
        ("what is the phone number?", ("contact number", "salon name"), ("contact number",)),
        ("what is the contact number?", ("phone number", "number of seats"), ("phone number",)),
        ("what is the name of the therapist?", ("salon name", "therapist name"), ("therapist name",)),
        ("what is the name of the therapist?", ("salon name", "price"), ()),
        ("what is the website?", ("link",), ("link",)),
    ],
)
def test_classes_that_a_model_named_are_matched_by_the_whole_phrase_and_by_what_it_is_called(
    asked: str, known: tuple[str, ...], chosen: tuple[str, ...]
) -> None:
    labels = inventory(scope("a", "Oslo"), scope("b", "Bergen"), entity_types=known)
    assert select(f"In the request where the city is Oslo, {asked}", labels).intent_filter.entity_types == chosen
