"""The retrieval modes over the plainest store: what each ranks by, and that an empty filter costs nothing."""

from collections.abc import Iterable
from typing import Any

import pytest

from contracts.retriever import EMBEDDER, LEXICAL, QUERY, RECORDS, DensityContract, RetrieverContract, record, snippet
from doubles.storing import ListStore
from stitch.core import (
    ContextualIntent,
    DecidedBy,
    EntityTypeSummary,
    FilterMaker,
    IntentFilter,
    Label,
    LabelInventory,
    LabelKind,
    LabelMerge,
    MemorySnippet,
    Ranking,
    Retriever,
    ScopeSummary,
    SearchRequest,
    Selection,
)
from stitch.errors import InputError
from stitch.retrieve import (
    DenseRetriever,
    HybridRetriever,
    IntentRetriever,
    LexicalRetriever,
    LocalFilterSelector,
)

INVENTORY = LabelInventory(
    scopes=(
        ScopeSummary(name="day 1 itinerary", trajectory="trip", spans=((0, 2),), steps=3),
        ScopeSummary(name="day 2 itinerary", trajectory="trip", spans=((3, 4),), steps=2),
    ),
    event_types={"ask": 2, "inform": 5},
    entity_types={"price": EntityTypeSummary(steps=4), "name": EntityTypeSummary(steps=1)},
    steps=6,
)


class FixedSelector:
    """Always selects the same."""

    def __init__(self, intent_filter: IntentFilter, **given: Any) -> None:
        self._selection = Selection(intent_filter, (), **given)

    def select(self, request: SearchRequest, inventory: LabelInventory) -> Selection:
        return self._selection


def stored(snippets: Iterable[MemorySnippet] = ()) -> ListStore:
    store = ListStore()
    store.put([*map(record, snippets)] or list(RECORDS))
    return store


def intent_retriever(
    store: ListStore | None = None,
    *,
    choosing: IntentFilter | None = None,
    inventory: LabelInventory = INVENTORY,
    **given: Any,
) -> IntentRetriever:
    return IntentRetriever(
        store=store or stored(),
        selector=LocalFilterSelector() if choosing is None else FixedSelector(choosing, **given),
        embedder=EMBEDDER,
        lexical=LEXICAL,
        inventories=lambda tenant, trajectory: inventory,
    )


def unlabeled(mode: str, store: ListStore | None = None, *, inventory: LabelInventory = INVENTORY) -> Retriever:
    searched: dict[str, Any] = {"store": store or stored()}
    searched["inventories"] = lambda tenant, trajectory: inventory
    made: dict[str, Retriever] = {
        "dense": DenseRetriever(**searched, embedder=EMBEDDER),
        "lexical": LexicalRetriever(**searched, lexical=LEXICAL),
        "hybrid": HybridRetriever(**searched, embedder=EMBEDDER, lexical=LEXICAL),
    }
    return made[mode]


class TestIntentRetriever(RetrieverContract, DensityContract):
    @pytest.fixture
    def retriever(self) -> Retriever:
        return intent_retriever()


class TestDenseRetriever(RetrieverContract):
    @pytest.fixture
    def retriever(self) -> Retriever:
        return unlabeled("dense")


class TestLexicalRetriever(RetrieverContract):
    @pytest.fixture
    def retriever(self) -> Retriever:
        return unlabeled("lexical")


class TestHybridRetriever(RetrieverContract):
    @pytest.fixture
    def retriever(self) -> Retriever:
        return unlabeled("hybrid")


def steps(retriever: Retriever, request: SearchRequest) -> list[str]:
    return [hit.snippet.step for hit in retriever.search(request).hits]


ASKED = SearchRequest(query=QUERY, tenant="a", trajectory="trip")


def test_the_price_in_the_right_scope_is_first_although_another_step_has_the_words() -> None:
    result = intent_retriever().search(ASKED)
    assert result.hits[0].snippet.text == "It is $291.72 a night."
    assert result.hits[0].matched == {
        Label(LabelKind.SCOPE, "day 1 itinerary"), Label(LabelKind.ENTITY_TYPE, "price"),
    }  # fmt: skip
    assert any("day 1" in reason for reason in result.reasons)
    assert steps(unlabeled("dense"), ASKED)[0] != "2"


def test_a_question_is_matched_against_the_labels_of_its_own_tenant_and_trajectory() -> None:
    asked: list[tuple[str, str | None]] = []

    def inventories(tenant: str, trajectory: str | None) -> LabelInventory:
        asked.append((tenant, trajectory))
        return INVENTORY

    retriever = IntentRetriever(
        store=stored(), selector=LocalFilterSelector(), embedder=EMBEDDER, lexical=LEXICAL, inventories=inventories,
    )  # fmt: skip
    request = SearchRequest(query=QUERY, tenant="a", trajectory="trip")
    retriever.search(request)
    retriever.why_not(request, step="1")
    assert set(asked) == {("a", "trip")}


@pytest.mark.parametrize("mode", ["intent", "dense", "lexical", "hybrid"])
def test_hits_are_shown_with_the_names_that_their_labels_were_merged_into(mode: str) -> None:
    pairs = ((LabelKind.SCOPE, "first day", "day 1 itinerary"), (LabelKind.EVENT_TYPE, "tell", "inform"))
    merges = tuple(LabelMerge(kind=kind, alias=alias, into=into) for kind, alias, into in pairs)
    intent = ContextualIntent(scope="first day", event_types=("tell", "inform"), entity_types=("price",))
    kept = stored([snippet("The price is $9.", step="1", intent=intent)])
    known = INVENTORY.model_copy(update={"merges": merges})
    retriever = intent_retriever(kept, inventory=known) if mode == "intent" else unlabeled(mode, kept, inventory=known)
    [hit] = retriever.search(ASKED).hits
    read = {"scope": "day 1 itinerary", "event_types": ("inform",)}
    assert hit.snippet.intent == intent.model_copy(update=read)


DAY_1 = IntentFilter(scopes=("day 1 itinerary",), entity_types=("price",))


def test_why_not_names_the_lacking_label_and_the_change_that_admits_the_step() -> None:
    request = ASKED.model_copy(update={"k": 1})
    why = intent_retriever(choosing=DAY_1, made_by=FilterMaker.PERSON).why_not(request, step="4")
    assert why.rank > why.k == 1
    assert why.lost_by == "density"
    assert why.lacking == (Label(LabelKind.SCOPE, "day 1 itinerary"),)
    assert why.last.snippet.step == "2"
    assert why.change is not None
    assert "scope 'day 1 itinerary'" in str(why)
    assert "would admit it" in str(why)


@pytest.mark.parametrize("trajectory", [None, "trip", "other"])
def test_why_not_of_an_unknown_step_is_an_error(trajectory: str | None) -> None:
    request = SearchRequest(query=QUERY, tenant="a", trajectory="trip" if trajectory else None)
    with pytest.raises(InputError) as caught:
        intent_retriever().why_not(request, step="0" if trajectory == "other" else "99", trajectory=trajectory)
    assert caught.value.hint


DAY_2 = IntentFilter(scopes=("day 2 itinerary",))


@pytest.mark.parametrize("made_by", [FilterMaker.PERSON, FilterMaker.MODEL])
def test_a_filter_of_a_person_or_a_model_is_weighed_where_that_is_asked_for_and_not_thrown_away(
    made_by: FilterMaker,
) -> None:
    retriever = intent_retriever(choosing=DAY_2, made_by=made_by)
    decided, weighed = (
        retriever.search(ASKED.model_copy(update={"ranking": ranking})) for ranking in (Ranking.AUTO, Ranking.WEIGHED)
    )
    assert (decided.ranking, decided.decided_by) == (Ranking.STRICT, DecidedBy.LABEL_DENSITY)
    assert (weighed.ranking, weighed.decided_by) == (Ranking.WEIGHED, DecidedBy.WEIGHED_LABELS)
    counted = {hit.snippet.step: hit.density for hit in weighed.hits}
    assert counted == {hit.snippet.step: hit.density for hit in decided.hits}
    assert max(counted.values()) == 1.0


@pytest.mark.parametrize(
    ("maker", "made_by", "ranking"),
    [
        ("gpt-5", FilterMaker.MODEL, Ranking.STRICT), ("ann", FilterMaker.PERSON, Ranking.STRICT),
        ("local-20", FilterMaker.MODEL, Ranking.WEIGHED), ("local-20", FilterMaker.PERSON, Ranking.WEIGHED),
        ("gpt-5", FilterMaker.WORDS, Ranking.WEIGHED),
    ],
)  # fmt: skip
def test_density_stands_first_where_neither_labels_nor_filter_are_of_words(
    maker: str, made_by: FilterMaker, ranking: Ranking
) -> None:
    made = [one.snippet.model_copy(update={"labeled_by": maker}) for one in RECORDS]
    assert intent_retriever(stored(made), choosing=DAY_2, made_by=made_by).search(ASKED).ranking is ranking


def test_where_density_stands_first_a_context_ends_with_it_unless_it_shall_be_filled() -> None:
    made = [one.snippet.model_copy(update={"labeled_by": "gpt-5"}) for one in RECORDS]
    retriever = intent_retriever(stored(made), choosing=DAY_2, made_by=FilterMaker.MODEL)
    ended = retriever.search(ASKED)
    assert set(ended.context_hits) == {hit.snippet.id for hit in ended.hits if hit.density}
    assert len(ended.hits) > len(ended.context_hits)
    for filling in ({"min_share": 0.0}, {"ranking": Ranking.STRICT}):
        assert len(retriever.search(ASKED.model_copy(update=filling)).context_hits) == len(ended.hits)
