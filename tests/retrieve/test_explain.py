"""Why a step is not among the hits: which change of the filter would bring it there."""

from __future__ import annotations

from doubles.scoring import snippet
from stitch.core import LABEL_DENSITY, ContextualIntent, Label, LabelKind, LabelVocabulary, RankingRule, ScoredSnippet
from stitch.retrieve.rank.explain import FilterChange, WhyNot, explain_rank

EVENTS = [Label(LabelKind.EVENT_TYPE, name) for name in "abcde"]
NO_MERGES = LabelVocabulary()


def hit(position: int, events: str, *, asked: str = "", similarity: float = 0.0) -> ScoredSnippet:
    said = snippet(position=position, intent=ContextualIntent(event_types=tuple(events)))
    matched = frozenset(label for label in EVENTS if label.value in events and label.value in asked)
    return ScoredSnippet(said, matched, {"density": float(len(matched)), "similarity": similarity}, 0.0)


def why(
    *ranking: ScoredSnippet,
    asked: str,
    k: int = 1,
    vocabulary: LabelVocabulary = NO_MERGES,
    rule: RankingRule = LABEL_DENSITY,
) -> WhyNot:
    labels = frozenset(label for label in EVENTS if label.value in asked)
    wanted = ranking[-1].snippet.id
    return explain_rank(wanted, ranking, labels, rule=rule, k=k, vocabulary=vocabulary)


def test_the_smallest_change_is_named_and_dropping_comes_before_adding() -> None:
    assert why(hit(1, "ab", asked="ab"), hit(2, "ac", asked="ab"), asked="ab").change == FilterChange(
        drop=(EVENTS[1],), add=(EVENTS[2],)
    )
    assert why(hit(9, "a", asked="a"), hit(1, "c", asked="a"), asked="a").change == FilterChange(drop=(EVENTS[0],))
    assert why(hit(1, "a", asked="a"), hit(9, "ac", asked="a"), asked="a").change == FilterChange(add=(EVENTS[2],))
    assert why(hit(1, "a", asked="a"), hit(9, "a", asked="a"), asked="a").change is None
    many = [hit(number, "ab", asked="ab") for number in range(3)]
    assert why(*many, hit(9, "b", asked="ab"), asked="ab", k=3).change is None
    found = why(*many, hit(9, "bcd", asked="ab"), asked="ab", k=3)
    assert found.change == FilterChange(drop=(EVENTS[0],), add=(EVENTS[2],))
    assert why(*many[:2], hit(9, "b", asked="ab"), asked="ab", k=3).rank == 3


def test_of_equal_density_the_more_similar_wins_and_a_hit_needs_no_change() -> None:
    better, worse = hit(1, "a", asked="a", similarity=0.5), hit(2, "a", asked="a", similarity=0.25)
    lost = why(better, worse, asked="a")
    assert (lost.lost_by, lost.change, lost.last) == ("similarity", None, better)
    found = why(better, worse, asked="a", k=2)
    assert (found.rank, found.lost_by, found.change, found.last) == (2, "", None, worse)


def test_what_stands_above_and_beside_density_is_not_changed_by_the_filter() -> None:
    def said(one: ScoredSnippet, **parts: float) -> ScoredSnippet:
        return one._replace(parts={**one.parts, **parts})

    rule = RankingRule(tiers=(("verbatim",), ("density", "named")))
    best, last = hit(1, "ab", asked="ab"), hit(2, "a", asked="ab")
    dropped = FilterChange(drop=(EVENTS[1],))
    assert why(said(best, named=0.25), said(last, named=0.5), asked="ab", rule=rule).change == dropped
    assert why(said(best, named=0.75), said(last, named=0.5), asked="ab", rule=rule).change is None
    assert why(said(best, verbatim=1.0), said(last, named=0.5), asked="ab", rule=rule).change is None
    both = said(best, verbatim=1.0), said(last, verbatim=1.0, named=0.5)
    assert why(*both, asked="ab", rule=rule).change == dropped
