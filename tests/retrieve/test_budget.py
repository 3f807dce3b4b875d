"""The token budget: what fits, in the order it happened, and no way out of the quotation marks."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doubles.scoring import hit_of
from stitch.core import ScoredSnippet, Trust
from stitch.retrieve import fit_context
from stitch.text.words import count_tokens


def hit(
    text: str, *, position: int = 0, trajectory: str = "t", scope: str | None = None, **more: object
) -> ScoredSnippet:
    return hit_of(
        text, position=position, trajectory=trajectory, scope=scope, **{"recorded": 1.7e9, "trust": Trust.HIGH, **more}
    )


hits = st.lists(
    st.builds(
        hit,
        st.text(alphabet=st.sampled_from('ab c.é?!\n<>/&"memory step12漢。'), max_size=80),
        position=st.integers(0, 50),
        trajectory=st.sampled_from(["t", "u<step>"]),
        scope=st.sampled_from([None, "day 1", 'a "b"']),
        happened=st.sampled_from([None, 3.5, "2025-05-15", "</step>\n"]),
    ),
    max_size=12,
    unique_by=lambda h: (h.snippet.trajectory, h.snippet.position),
)


@given(hits, st.integers(1, 300))
def test_a_context_never_exceeds_its_budget_and_counts_itself_right(
    ranked: list[ScoredSnippet], budget_tokens: int
) -> None:
    context = fit_context(ranked, budget_tokens=budget_tokens)
    assert context.tokens <= budget_tokens
    assert context.tokens == (count_tokens(context.text) if context.text else 0)
    assert len(context.ids) == context.text.count("<step ")


@given(hits)
def test_no_text_can_open_or_close_an_element(ranked: list[ScoredSnippet]) -> None:
    text = fit_context(ranked, budget_tokens=100_000).text
    assert len(re.findall(r"<\s*step\b", text)) == len(ranked)
    assert not re.findall(r"<\s*/\s*step\b", text)
    assert len(re.findall(r"<\s*/?\s*memory\b", text)) == (2 if ranked else 0)


@given(hits, st.integers(20, 300))
def test_what_stands_in_a_context_is_a_beginning_of_the_ranking(
    ranked: list[ScoredSnippet], budget_tokens: int
) -> None:
    context = fit_context(ranked, budget_tokens=budget_tokens)
    first = ranked[: len(context.ids)]
    in_order = sorted((h.snippet for h in first), key=lambda s: (s.trajectory, s.position))
    assert context.ids == tuple(s.id for s in in_order)


@given(st.integers(30, 400), st.lists(st.integers(1, 30), min_size=4, max_size=30))
def test_hits_that_do_not_all_fit_fill_the_budget_as_if_they_came_one_by_one(budget: int, sizes: list[int]) -> None:
    ranked = [hit("word " * size + "end.", position=size * 7 % 31, trajectory=f"t{n}") for n, size in enumerate(sizes)]
    context = fit_context(ranked, budget_tokens=budget)
    fitting = len([size for size in range(1, len(ranked) + 1) if whole(ranked[:size]) <= budget])
    assert len(context.ids) in (fitting, fitting + 1)  # of the next one there may be a sentence
    assert all(h.snippet.id in context.ids and h.snippet.text in context.text for h in ranked[:fitting])


def whole(ranked: list[ScoredSnippet]) -> int:
    """The tokens of these hits with all the room there is."""
    return fit_context(ranked, budget_tokens=10**6).tokens


def heads(ranked: list[ScoredSnippet], *, scopes: bool = False) -> list[str]:
    """What stands before the text of each step."""
    text = fit_context(ranked, budget_tokens=5_000, scopes=scopes).text
    return [line.partition(">")[0].removeprefix("<step ") for line in text.splitlines()[1:-1]]


NOON = 1_763_726_400.0  # 21 November 2025, 12:00


def test_who_spoke_when_where_and_what_for_are_said_when_they_change() -> None:
    ranked = [
        hit("a", position=1, scope="day 1", happened="May 3"),
        hit("b", position=2, scope="day 1", happened="May 3"),
        hit("c", position=3, scope=None, happened="May 4", role="Professor B"),
        hit("d", position=4, scope="trip in May", happened="May 4", role="Professor B"),
        hit("e", position=0, trajectory="z", scope="day 1"),
    ]
    assert heads(ranked, scopes=True) == [
        "1 user on May 3 in t about day 1",
        "2 user",
        '3 Professor B on May 4 about ""',
        '4 Professor B about "trip in May"',
        "0 user recorded 14 Nov 2023 22:13 in z about day 1",
    ]
    assert heads(ranked) == [
        "1 user on May 3 in t", "2 user", "3 Professor B on May 4", "4 Professor B",
        "0 user recorded 14 Nov 2023 22:13 in z",
    ]  # fmt: skip


def test_the_zone_of_a_time_is_said_where_it_is_not_that_of_the_line_above() -> None:
    times = ["2026-05-01T10:00+02:00", "2026-05-01T10:40+0200", "2026-05-01T09:30Z", "2026-05-01 08:20", 1777626000.0]
    shown = fit_context([hit("a b", position=at, happened=time) for at, time in enumerate(times)], budget_tokens=300)
    assert re.findall(r"<step \d user ?(.*)>", shown.text.replace(" in t>", ">")) == [
        "on 1 May 2026 10:00+02:00", "", "at 09:30Z", "at 08:20", "at 09:00"]  # fmt: skip


def test_a_day_is_said_once_and_its_clock_when_another_hour_begins() -> None:
    moments = [
        NOON, NOON + 3_540, NOON + 3_600, NOON + 86_400, "2025-11-22", "1:56 pm on 22 November, 2025",
        "2025/11/22 (Sat) 23:07", "2026-01-03T00:00:00Z", "12:30 am, Jan 3, 2026", "2026-01-04T09:05:59+02:00",
        "Tuesday", "Tuesday",
    ]  # fmt: skip
    said = heads([hit("a", position=place, happened=moment) for place, moment in enumerate(moments)])
    assert [head.removesuffix(" in t").partition(" user")[2].strip() for head in said] == [
        "on 21 Nov 2025 12:00", "", "at 13:00", "on 22 Nov 12:00", "", "at 13:56",
        "at 23:07", "on 3 Jan 2026", "at 00:30", "on 4 Jan 09:05+02:00",
        "on Tuesday", "",
    ]  # fmt: skip


@pytest.mark.parametrize(
    "name",
    [
        "12", "3 May", "user on 3 May 2025", "tool in t", "low trust", "about day 2", "because", 'a"b', "a> b",
        "<step 1>", "", "user trust=high", "é, 中",
    ],
)  # fmt: skip
def test_no_name_can_be_taken_for_what_else_is_said_of_a_line(name: str) -> None:
    [head] = heads([hit("text", role=name, trajectory=name, happened=NOON)])
    quoted = r'"[^"<>]*"'
    assert re.fullmatch(rf"0 {quoted} on 21 Nov 2025 12:00 in {quoted}", head)


def test_the_last_hit_is_cut_at_its_last_full_sentence_that_fits() -> None:
    ranked = [hit("Short.", position=5), hit("It costs $76.22. It is open. " + "And much more " * 50, position=1)]
    context = fit_context(ranked, budget_tokens=90)
    assert ">It costs $76.22. It is open.\n" in context.text
    assert len(context.ids) == 2


def test_a_hit_without_a_sentence_that_fits_ends_the_context() -> None:
    ranked = [hit("Short.", position=5), hit("word " * 100, position=1), hit("Tiny.", position=2)]
    assert fit_context(ranked, budget_tokens=60).ids == (ranked[0].snippet.id,)


def test_a_first_hit_without_a_sentence_that_fits_is_cut_at_a_word() -> None:
    context = fit_context([hit("word " * 100)], budget_tokens=50)
    assert "word word\n</memory>" in context.text
    assert context.tokens <= 50


def test_a_budget_below_the_frame_gives_an_empty_context() -> None:
    assert fit_context([hit("word")], budget_tokens=5) == ("", 0, ())


@given(st.text(max_size=60), st.text(max_size=10))
def test_more_text_never_counts_fewer_tokens(text: str, more: str) -> None:
    assert count_tokens(text + more) >= count_tokens(text) >= 0


def test_the_counter_counts_pieces_of_words_numbers_and_signs() -> None:
    assert count_tokens("The Olympus Summit") == 3
    assert count_tokens("internationalization") == 3
    assert count_tokens("2019-03-01") == 6
    assert count_tokens("漢字") == 2
    assert count_tokens("") == 0
