"""The ranking is a total order: density, then similarity, then where the step stands."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stitch.core import (
    ContextualIntent,
    DensityCount,
    IntentFilter,
    LabelKind,
    LabelMerge,
    LabelVocabulary,
    MemorySnippet,
    RankingRule,
    ScoredSnippet,
    density,
    match,
    matched_by_kind,
    rank_by_label_density,
)
from stitch.core.ranking import add_up, matcher

NAMES = ("a", "b", "c", "d")
names = st.lists(st.sampled_from(NAMES), max_size=3, unique=True).map(tuple)
intents = st.builds(
    ContextualIntent, scope=st.none() | st.sampled_from(NAMES), event_types=names, entity_types=names, targets=names
)
filters = st.builds(IntentFilter, scopes=names, event_types=names, entity_types=names, targets=names)


def snippet(intent: ContextualIntent, position: int, trajectory: str = "t") -> MemorySnippet:
    return MemorySnippet(
        tenant="x", trajectory=trajectory, step=str(position), position=position, role="user", text="", resolved="",
        intent=intent, recorded=0.0,
    )  # fmt: skip


@st.composite
def candidate_lists(draw: st.DrawFn) -> list[tuple[MemorySnippet, float]]:
    drawn = draw(st.lists(st.tuples(intents, st.sampled_from([0.0, 0.25, 0.5, 1.0])), max_size=12))
    return [(snippet(intent, position), similarity) for position, (intent, similarity) in enumerate(drawn)]


merges = st.lists(
    st.tuples(st.sampled_from(list(LabelKind)), st.sampled_from(["a", "b"]), st.sampled_from(["c", "d"])),
    max_size=3,
    unique_by=lambda merge: merge[:2],
).map(lambda found: LabelVocabulary(LabelMerge(kind=kind, alias=alias, into=into) for kind, alias, into in found))


@given(candidate_lists(), filters, merges, st.randoms())
def test_the_order_of_the_candidates_does_not_matter(candidates, intent_filter, vocabulary, random):
    ranked = rank_by_label_density(candidates, intent_filter, vocabulary=vocabulary)
    shuffled = list(candidates)
    random.shuffle(shuffled)
    assert rank_by_label_density(shuffled, intent_filter, vocabulary=vocabulary) == ranked


@given(candidate_lists(), filters, merges, st.sampled_from(list(DensityCount)))
def test_a_denser_snippet_never_ranks_below_a_sparser_one(candidates, intent_filter, vocabulary, count):
    ranked = rank_by_label_density(candidates, intent_filter, vocabulary=vocabulary, count=count)
    keys = [(-hit.density, -hit.similarity, hit.snippet.position) for hit in ranked]
    assert keys == sorted(keys)
    assert len(ranked) == len(candidates)


@given(candidate_lists(), filters, st.integers(0, 12))
def test_the_first_k_of_a_ranking_are_the_ranking_of_k(candidates, intent_filter, k):
    assert rank_by_label_density(candidates, intent_filter, k=k) == rank_by_label_density(candidates, intent_filter)[:k]


@given(intents, filters)
def test_density_counts_the_matched_values_and_never_more_than_the_filter_has(intent, intent_filter):
    matched = match(intent, intent_filter.labels())
    assert matched == intent.labels() & intent_filter.labels()
    assert density(matched) == len(matched) <= len(intent_filter.labels())
    assert density(matched, count=DensityCount.KINDS) == len({label.kind for label in matched})


def test_values_and_kinds_order_differently():
    two_events = snippet(ContextualIntent(event_types=("a", "b")), 0)
    scope_and_event = snippet(ContextualIntent(scope="s", event_types=("a",)), 1)
    intent_filter = IntentFilter(scopes=("s",), event_types=("a", "b"))
    candidates = [(two_events, 0.9), (scope_and_event, 0.1)]
    assert rank_by_label_density(candidates, intent_filter)[0].snippet.position == 0
    by_kind = rank_by_label_density(candidates, intent_filter, count=DensityCount.KINDS)
    assert [hit.snippet.position for hit in by_kind] == [1, 0]


def test_an_empty_filter_leaves_the_ranking_to_similarity_then_to_the_trajectory_and_to_time():
    said = [(2, "a", 0.5), (1, "a", 0.5), (0, "b", 0.5), (0, "a", 0.1)]
    candidates = [(snippet(ContextualIntent(), position, trip), alike) for position, trip, alike in said]
    ranked = [hit.snippet for hit in rank_by_label_density(candidates, IntentFilter())]
    assert [(one.trajectory, one.position) for one in ranked] == [("a", 1), ("a", 2), ("b", 0), ("a", 0)]


def test_two_aliases_of_one_label_on_a_snippet_count_once():
    vocabulary = LabelVocabulary([LabelMerge(kind=LabelKind.EVENT_TYPE, alias="ask price", into="inquire price")])
    both = snippet(ContextualIntent(event_types=("ask price", "inquire price")), 0)
    [hit] = rank_by_label_density([(both, 0.0)], IntentFilter(event_types=("ask price",)), vocabulary=vocabulary)
    assert hit.density == 1
    assert matched_by_kind(hit.matched) == {"scope": [], "event_type": ["inquire price"], "entity_type": []}


@given(st.lists(intents, max_size=6), filters, merges)
def test_to_match_many_is_to_match_each(drawn, intent_filter, vocabulary):
    labels = frozenset(map(vocabulary.canonical_label, intent_filter.labels()))
    matched = matcher(labels, vocabulary)
    assert [matched(intent, "") for intent in drawn] == [match(intent, labels, vocabulary) for intent in drawn]


RULE = RankingRule((("a",), ("b", "c")), ("d", "e"))
parts = st.dictionaries(st.sampled_from("abcdefg"), st.sampled_from([0.0, 0.1, 0.2, 0.3, 1.0]), max_size=7)


def scored(said: dict[str, float], position: int = 0) -> ScoredSnippet:
    return ScoredSnippet(snippet(ContextualIntent(), position), frozenset(), said, RULE.totals(said)[-1])


@given(st.lists(parts, min_size=2, max_size=8))
def test_hits_are_compared_tier_by_tier_then_by_the_sum_then_by_place(drawn):
    hits = sorted((scored(said, place) for place, said in enumerate(drawn)), key=RULE.key)
    for above, below in pairwise(hits):
        own, other = RULE.totals(above.parts), RULE.totals(below.parts)
        assert own > other or (own == other and above.snippet.position < below.snippet.position)


def test_a_sum_of_several_parts_does_not_depend_on_the_order_of_adding_and_one_part_stays_as_it_is():
    assert add_up([0.1, 0.2, 0.3]) == add_up([0.3, 0.2, 0.1]) == 0.6
    assert add_up([0.1 + 0.2]) == 0.1 + 0.2 != 0.3
    assert add_up([]) == 0


@pytest.mark.parametrize(
    ("above", "below", "part"),
    [
        ({"a": 1.0, "d": 0.1}, {"a": 0.0, "d": 0.9}, "a"),
        ({"a": 1.0, "b": 1.0, "c": 0.5}, {"a": 1.0, "c": 1.0}, "b"),
        ({"d": 0.5, "e": 0.4}, {"d": 0.6}, "e"),
        ({"a": 1.0, "g": 7.0}, {"a": 1.0}, ""),
    ],
)
def test_the_part_that_did_most_in_what_decided_is_named(above, below, part):
    assert RULE.lead(scored(above), scored(below)) == part
