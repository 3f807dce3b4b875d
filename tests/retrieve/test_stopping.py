"""Contexts that stop where more would not help, and hits that are near the best one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contracts.worlds import make_record
from stitch import Memory, open_memory
from stitch.core import DENSITY, IntentFilter, ScoredSnippet
from stitch.core.ranking import SIMILARITY
from stitch.errors import InputError, SettingsError
from stitch.retrieve import PieceCounter
from stitch.retrieve.constants import CONSTANTS
from stitch.retrieve.context.stopping import STOPPED, densest, enough, leading
from stitch.retrieve.rank.telling import scores_tell

QUESTION = "What does the hotel Aurora in Oslo cost a night?"
ANSWER = "The hotel Aurora in Oslo costs $120 a night and breakfast is included."
TALK = [
    "The weather was awful on {}, we stayed inside, read the paper and drank two pots of tea with lemon.",
    "My neighbor {} keeps talking about his new tractor, as if anybody wanted to buy one from him this spring.",
    "I still have to water the tomatoes and to call {} because of the roof, which leaks again near the window.",
    "{} sang in the choir yesterday, and everybody clapped for a long time, although the piano was out of tune.",
]
NAMES = [
    "Anna",
    "Bert",
    "Carl",
    "Dora",
    "Emil",
    "Frida",
    "Gustav",
    "Hanna",
    "Ivo",
    "Jana",
    "Kurt",
    "Lena",
    "Max",
    "Nora",
    "Otto",
    "Paula",
    "Quentin",
    "Rosa",
    "Silvio",
]


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Memory]:
    texts = [talk.format(name) for name in NAMES for talk in TALK]
    texts.insert(20, ANSWER)
    with open_memory(tmp_path_factory.mktemp("stopping") / "m", tenant="t") as memory:
        memory.add_many([{"role": "user", "content": text} for text in texts], trajectory="x")
        yield memory


def hit_of(place: int, score: float, *, text: str = "A step.", similarity: float | None = None) -> ScoredSnippet:
    record = make_record(step=str(place), position=place, trajectory="x", text=text)
    parts = {SIMILARITY: score if similarity is None else similarity}
    return ScoredSnippet(record.snippet, frozenset(), parts, score)


def left_of(hits: Sequence[ScoredSnippet]) -> list[int]:
    left = enough(hits, budget_tokens=4096, counter=PieceCounter(), constants=CONSTANTS)
    return [hit.snippet.position for hit in left]


def test_a_context_stops_where_more_would_not_help(memory: Memory) -> None:
    stopped, full = memory.search(QUESTION), memory.search(QUESTION, min_share=0.0)
    assert [hit.snippet.id for hit in stopped] == [hit.snippet.id for hit in full][: len(stopped)]
    assert ANSWER in stopped.context()
    assert 0.9 * CONSTANTS.stop_tokens < stopped.context_tokens < 0.9 * full.context_tokens
    assert {decision.what for decision in stopped.trace} == {STOPPED}
    assert not full.trace
    assert set(stopped.context_hits) < set(full.context_hits)


@pytest.mark.parametrize(
    "query",
    [
        "Summarize what was said about the hotel Aurora in Oslo and its price a night.",
        "Was kostet das Hotel Aurora in Oslo eine Nacht, und was ist dabei?",
        "Explain monads.",
    ],
)
def test_a_context_is_filled_where_scores_tell_nothing(memory: Memory, query: str) -> None:
    assert memory.search(query).context() == memory.search(query, min_share=0.0).context()


def test_a_context_is_filled_where_labels_decide(memory: Memory) -> None:
    scope = memory.inventory().scopes[0].name
    asked = IntentFilter(scopes=(scope,))
    full = memory.search(QUESTION, intent_filter=asked, min_share=0.0)
    assert memory.search(QUESTION, intent_filter=asked).context() == full.context()


def test_only_what_is_near_the_best_hit_comes_back_if_that_is_asked_for(memory: Memory) -> None:
    every = memory.search(QUESTION, min_share=0.0)
    near = memory.search(QUESTION, min_share=0.6)
    assert [hit.snippet.step for hit in near] == [
        hit.snippet.step for hit in every if hit.score >= 0.6 * max(hit.score for hit in every)
    ]
    assert 1 <= len(near) < len(every)
    assert set(near.context_hits) == {hit.snippet.id for hit in near}
    assert near.context_tokens < memory.search(QUESTION).context_tokens
    alone = memory.search(QUESTION, min_share=1.0)
    assert [hit.snippet.text for hit in alone] == [ANSWER]


def test_what_is_near_the_best_hit_can_be_unlikely_all_the_same(memory: Memory) -> None:
    nothing = memory.search("Explain monads.", min_share=0.6, min_relevance=0.9)
    assert (nothing.nothing_relevant, nothing.context()) == (True, "")


def test_a_context_of_likely_hits_stops_too(memory: Memory) -> None:
    stopped, likely = memory.search(QUESTION), memory.search(QUESTION, min_relevance=0.001)
    assert len(likely) < len(stopped) or likely.context() == stopped.context()
    assert likely.context_tokens <= stopped.context_tokens


def test_different_things_are_chosen_of_all_hits(memory: Memory) -> None:
    chosen = memory.search(QUESTION, k=3, diverse=True)
    assert [decision.what for decision in chosen.trace] == ["diverse"]


def test_a_share_is_from_0_to_1_and_of_scores_that_compare(memory: Memory) -> None:
    with pytest.raises(InputError, match="min_share"):
        memory.search(QUESTION, min_share=1.5)
    with pytest.raises(SettingsError, match="cannot tell") as told:
        memory.search(QUESTION, retriever="lexical", min_share=0.5)
    assert "min_share" in (told.value.hint or "")


def test_a_memory_without_likeness_keeps_its_hits() -> None:
    hits = [hit_of(0, 0.0), hit_of(1, -0.1)]
    assert leading(hits, share=0.5) == tuple(hits)
    assert leading([], share=0.5) == ()


@given(st.lists(st.integers(0, 5), max_size=12))
def test_where_labels_decide_a_context_shows_the_best_density_and_one_less_and_no_step_without_a_label(
    densities: list[int],
) -> None:
    hits = [hit_of(place, 0.5)._replace(parts={DENSITY: float(count)}) for place, count in enumerate(densities)]
    shown = [densities[hit.snippet.position] for hit in densest(hits)]
    best = max(densities, default=0)
    assert shown == [count for count in densities if not best or count >= max(1, best - 1)]


@pytest.mark.parametrize(
    ("parts", "tells"),
    [
        ({SIMILARITY: 0.5}, True), ({SIMILARITY: 0.5, "place": 0.1}, False), ({SIMILARITY: 0.2}, False),
        ({SIMILARITY: 0.5, DENSITY: 1.0}, False), ({SIMILARITY: 0.5, DENSITY: 0.0}, True),
    ],
)  # fmt: skip
def test_scores_tell_only_where_they_rank_what_is_alike(parts: dict[str, float], *, tells: bool) -> None:
    hits = [hit_of(0, 0.5)._replace(parts=parts)]
    assert scores_tell(hits, QUESTION, constants=CONSTANTS) is tells


LONG = "so it goes " * 100
FIRST = [hit_of(100 + place, 1.0, text=f"{LONG}{place}") for place in range(12)]
"""More than the tokens that are shown in any case."""


def test_a_step_far_below_the_best_one_ends_a_context_unless_it_is_among_the_first() -> None:
    assert left_of([hit_of(0, 1.0), hit_of(10, 0.1)]) == [0, 10]
    assert left_of([*FIRST, hit_of(0, 0.55), hit_of(10, 0.54)]) == [*range(100, 112), 0]


def test_a_long_step_has_to_be_nearer() -> None:
    assert left_of([*FIRST, hit_of(0, 0.79, text=LONG), hit_of(10, 0.8, text=LONG)]) == [*range(100, 112), 10]


def test_a_short_step_beside_a_hit_stays_with_it() -> None:
    beside = [hit_of(51, 0.0), hit_of(52, 0.0), hit_of(53, 0.0), hit_of(49, 0.0, text="a" * 300)]
    assert left_of([*FIRST, hit_of(50, 0.7), *beside]) == [*range(100, 112), 50, 51, 52]


scored = st.lists(st.floats(-0.2, 1.0), max_size=30)


@given(scored)
def test_what_is_shown_stands_in_the_order_of_the_hits_and_holds_all_near_ones(scores: list[float]) -> None:
    hits = [hit_of(7 * place, score) for place, score in enumerate(scores)]
    places = left_of([*FIRST, *hits])
    assert places == [place for place in [*range(100, 112), *(7 * n for n in range(len(scores)))] if place in places]
    assert {7 * n for n, score in enumerate(scores) if score >= CONSTANTS.stop_share} <= set(places)


@given(scored, st.floats(0, 1), st.floats(0, 1))
def test_a_larger_share_never_leaves_more(scores: list[float], one: float, other: float) -> None:
    hits = [hit_of(place, score) for place, score in enumerate(scores)]
    fewer, more = (leading(hits, share=share) for share in (max(one, other), min(one, other)))
    assert set(map(id, fewer)) <= set(map(id, more))


def test_what_takes_few_tokens_is_shown_whole(tmp_path: Path) -> None:
    with open_memory(tmp_path / "m", tenant="t") as memory:
        memory.add_many([{"role": "user", "content": text} for text in (ANSWER, *TALK)], trajectory="x")
        assert len(memory.search(QUESTION).context_hits) == len(TALK) + 1
