"""Of long steps what matters is shown: beginning, end, and the lines that a question or an error points at."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from stitch.core import MemorySnippet, Origin, ScoredSnippet
from stitch.retrieve import PieceCounter, fit_context, shorten_long
from stitch.retrieve.context.outputs import SHOWN_CHARS, most_chars, what_matters

LOG = "\n".join(
    ["python check.py", *(f"loading part {n} of the plan, all is quiet" for n in range(200)), "the red valve is open",
     *(f"writing part {n} of the plan, all is quiet" for n in range(200)), "ValueError: bad seal", "done in 4 s"]
)  # fmt: skip


def hit(position: int, text: str, *, tool: bool = True, trajectory: str = "t") -> ScoredSnippet:
    snippet = MemorySnippet(
        tenant="a", trajectory=trajectory, step=str(position), position=position, role="tool" if tool else "ann",
        text=text, resolved=text, origin=Origin.TOOL if tool else Origin.AGENT, recorded=0.0,
    )  # fmt: skip
    return ScoredSnippet(snippet, frozenset(), {}, 0.0)


def shorten(hits: Sequence[ScoredSnippet], query: str, *, budget_tokens: int = 4096) -> list[ScoredSnippet]:
    return list(shorten_long(hits, query, budget_tokens=budget_tokens))


def test_of_a_long_result_the_lines_are_shown_that_the_question_points_at_with_beginning_and_end() -> None:
    (shown,) = shorten([hit(1, LOG)], "Which valve was open?")
    text = shown.snippet.resolved
    assert text.startswith("python check.py")
    assert text.endswith("done in 4 s")
    assert "the red valve is open" in text
    assert "ValueError: bad seal" in text
    assert " … " in text
    assert len(text) < 1_200
    assert shown.snippet.text == LOG


def test_what_ranks_first_is_shown_at_greater_length() -> None:
    shown = [each.snippet.resolved for each in shorten([hit(n, LOG) for n in range(20)], "the part 3 or 4?")]
    assert len(shown[0]) == len(shown[4]) > len(shown[5]) > len(shown[15])
    assert len(shown[15]) <= SHOWN_CHARS[-1][1] + 40


def test_short_steps_stay_whole_and_talk_does_where_it_takes_little_of_the_budget() -> None:
    talk = [hit(n, LOG, tool=False, trajectory="talk") for n in range(5)]
    hits = [hit(1, "quiet"), *talk]
    assert shorten(hits, "Which valve?", budget_tokens=1_000_000) == hits


def test_no_step_of_a_talk_takes_more_than_its_share_of_a_budget() -> None:
    advice = "Do this first. " * 40 + "Paint the fence with linseed oil in May. " + "Then do that. " * 60
    talk = [hit(n, advice, tool=False, trajectory="talk") for n in range(3)]
    for budget in (512, 1024, 2048):
        texts = [
            each.snippet.resolved for each in shorten(talk, "What is the fence painted with?", budget_tokens=budget)
        ]
        assert all("linseed oil" in text for text in texts)
        assert max(map(len, texts)) <= most_chars(budget) * 1.5
        context = fit_context(
            shorten(talk, "What is the fence painted with?", budget_tokens=budget),
            budget_tokens=budget, counter=PieceCounter(),
        )  # fmt: skip
        assert len(context.ids) == 3


def test_of_a_talk_the_later_hits_are_shown_shorter_and_of_more_of_them_all_where_there_is_more_room() -> None:
    talk = [hit(n, LOG, tool=False, trajectory="talk") for n in range(20)]
    for budget, first in ((512, 3), (1024, 4), (4096, 13)):
        lengths = [len(each.snippet.resolved) for each in shorten(talk, "the part 3 or 4?", budget_tokens=budget)]
        assert len(set(lengths[:first])) == len(set(lengths[first:])) == 1
        assert lengths[first] < 0.8 * lengths[0]


def test_no_step_of_a_run_takes_more_than_its_share_of_a_small_budget() -> None:
    small, large = (shorten([hit(1, LOG)], "the part 3 or 4?", budget_tokens=budget) for budget in (600, 4096))
    assert len(small[0].snippet.resolved) < most_chars(600) * 1.3 < len(large[0].snippet.resolved)


def test_steps_of_a_run_are_shown_the_shorter_the_later_they_rank_and_by_the_root_of_a_budget() -> None:
    run = [hit(n, LOG) for n in range(20)]

    def lengths(budget: int) -> list[int]:
        shown = [len(each.snippet.resolved) for each in shorten(run, "the part 3 or 4?", budget_tokens=budget)]
        return [shown[0], shown[5], shown[15]]

    for budget, root in ((10_000, 1.0), (2_500, 1.0), (1_600, 0.8), (900, 0.6)):
        most = [min(chars * root, most_chars(budget)) for _, chars in SHOWN_CHARS]
        assert all(
            0.7 * at_most < length < 1.3 * at_most for length, at_most in zip(lengths(budget), most, strict=True)
        )


def test_of_a_large_budget_four_times_as_large_a_step_takes_half_the_share_and_of_a_small_one_a_sixth() -> None:
    assert [most_chars(budget) for budget in (30, 600, 1_024, 4_096, 16_384)] == [20, 400, 640, 1_280, 2_560]


def test_what_is_left_out_is_left_out_between_words_and_sentences_of_any_script() -> None:
    words = "incomprehensibilities " * 12 + "end. "
    text = what_matters(words * 20, ("end",), chars=600)
    assert set(text.split()) <= {"incomprehensibilities", "end.", "…"}
    assert "…" in text
    said = "我们先看地图。" * 60 + "酒店的价格是九百元。" + "然后我们走。" * 60
    assert "酒店的价格是九百元" in what_matters(said, ("价格",), chars=200)
    assert len(what_matters(said, ("价格",), chars=200)) < 400


def test_a_record_in_one_line_is_taken_apart_between_its_fields() -> None:
    record = "[" + ", ".join(
        f'{{"part": {n}, "color": "gray", "place": "shelf {n} of the long hall"}}' for n in range(99)
    )
    text = what_matters(record.replace('7, "color": "gray"', '7, "color": "violet"'), ("violet",), chars=300)
    assert "violet" in text
    assert len(text) < 700


def test_of_a_long_step_that_says_nothing_of_the_question_the_beginning_is_shown() -> None:
    advice = " ".join(f"Sentence number {n} says something about paint, wood and the weather." for n in range(60))
    text = what_matters(advice, ("train",), chars=400)
    assert advice.startswith(text.rstrip(" …"))
    assert 200 < len(text) <= 420


def test_no_fence_rule_or_ellipsis_is_shown_alone() -> None:
    code = "\n".join(["---", "Mend it like this:", "```python", "seal(valve)", "```", "…", *LOG.split("\n")[1:], "```"])
    shown = what_matters(code, ("valve",), chars=300, tail=2)
    assert "seal(valve)" in shown
    assert not any(line.strip() in ("```", "---", "…", "") for line in shown.split("\n"))
    assert "…  …" not in shown


@given(st.text(alphabet="ab \n.,;{}[]\"'1", max_size=3_000), st.integers(10, 400))
def test_all_that_is_shown_stands_in_the_text_in_its_order(text: str, chars: int) -> None:
    left = text
    for part in what_matters(text, ("ab", "b1"), chars=chars, tail=2).split(" … "):
        assert part.strip() in left
        left = left[left.index(part.strip()) + len(part.strip()) :]


@given(st.lists(st.integers(0, 500), min_size=1, max_size=6), st.booleans(), st.integers(64, 4096))
def test_where_all_are_short_they_stay_as_they_are(lengths: list[int], tool: bool, budget_tokens: int) -> None:
    hits = [hit(n, ("word " * 100)[:length], tool=tool) for n, length in enumerate(lengths)]
    least = min(most_chars(budget_tokens), SHOWN_CHARS[-1][1])
    shown = shorten([one for one in hits if len(one.snippet.text) <= least], "word?", budget_tokens=budget_tokens)
    assert shown == [one for one in hits if len(one.snippet.text) <= least]
