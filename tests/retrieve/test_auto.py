"""Choosing the lens by the form of a question, and why a step is not among the hits."""

from pathlib import Path
from typing import Any

from doubles.scoring import snippet
from stitch import open_memory
from stitch.core import LABEL_DENSITY, ContextualIntent, Label, LabelKind, LabelVocabulary, RankingRule, ScoredSnippet
from stitch.retrieve.explain import FilterChange, WhyNot, explain_rank


def test_hits_are_those_of_intent_and_the_context_is_that_of_themes(tmp_path: Path) -> None:
    with open_memory(tmp_path / "m", tenant="t") as memory:
        memory.add_many(
            [
                {"role": "Ada", "content": "I planted roses in the front garden. It rained for days after that."},
                {"role": "Ben", "content": "My car broke down on the way to the lake."},
                {"role": "Ada", "content": "Behind the house I planted beans, and they grow well."},
            ],
            trajectory="x",
        )
        question = "What did Ada plant?"
        auto = memory.search(question, retriever="auto")
        assert [hit.snippet.step for hit in auto] == [hit.snippet.step for hit in memory.search(question)]
        assert auto.context() == memory.search(question, retriever="themes").context()
        assert auto.trace[0].what == "lens"
        assert auto.trace[0].figures == {"intent": 1.0, "themes": 1.0}


RUN: list[dict[str, Any]] = [
    {"role": "system", "content": "You are a support agent."},
    {"role": "user", "content": "My parcel arrived broken and I want my money back for order A-1001."},
    {
        "role": "assistant",
        "content": "",
        "tool_calls": [{"id": "c1", "name": "refund", "arguments": {"order": "A-1001"}}],
    },
    {"role": "tool", "tool_name": "refund", "content": '{"status": "refunded", "amount": 20}'},
    {"role": "assistant", "content": "Done, the money is on its way."},
]


def test_of_what_somebody_wanted_whole_goals_answer_and_a_task_is_covered(tmp_path: Path) -> None:
    with open_memory(tmp_path / "m", tenant="t") as memory:
        memory.add_many([{**step, "id": f"a{place}"} for place, step in enumerate(RUN)], trajectory="x")
        auto = memory.search("What did this customer ask for before?", retriever="auto")
        assert auto.trace[0].reason == "whole goals are asked for"
        assert auto.trace[0].figures == {"intent": 1.0, "themes": 0.0}
        task = memory.search("I want to return a broken lamp and get a refund for order B-77.", retriever="auto")
        assert task.trace[0].figures == {"intent": 1.0, "themes": 1.0}


def test_as_of_a_moment_nothing_later_is_in_the_context(tmp_path: Path) -> None:
    with open_memory(tmp_path / "m", tenant="t") as memory:
        memory.add_many(
            [
                {"id": "a", "role": "Ada", "content": "I planted roses in the front garden."},
                {"id": "b", "role": "Ada", "content": "I planted beans behind the house."},
            ],
            trajectory="x",
        )
        context = memory.search("What did Ada plant?", retriever="auto", trajectory="x", as_of="a").context()
    assert "roses" in context
    assert "beans" not in context


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
