"""Of long steps of runs what matters is shown: beginning, end, and the lines that a question or an error points at."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from stitch.core import MemorySnippet, Origin, ScoredSnippet
from stitch.retrieve import shorten_outputs
from stitch.retrieve.context.outputs import SHOWN_CHARS, what_matters

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


def test_of_a_long_result_the_lines_are_shown_that_the_question_points_at_with_beginning_and_end() -> None:
    (shown,) = shorten_outputs([hit(1, LOG)], "Which valve was open?")
    text = shown.snippet.resolved
    assert text.startswith("python check.py")
    assert text.endswith("done in 4 s")
    assert "the red valve is open" in text
    assert "ValueError: bad seal" in text
    assert " … " in text
    assert len(text) < 1_200
    assert shown.snippet.text == LOG


def test_what_ranks_first_is_shown_at_greater_length() -> None:
    shown = [each.snippet.resolved for each in shorten_outputs([hit(n, LOG) for n in range(20)], "the part 3 or 4?")]
    assert len(shown[0]) == len(shown[4]) > len(shown[5]) > len(shown[15])
    assert len(shown[15]) <= SHOWN_CHARS[-1][1] + 40


def test_short_steps_and_talk_stay_whole() -> None:
    talk = [hit(n, LOG, tool=False, trajectory="talk") for n in range(5)]
    hits = [hit(1, "quiet"), *talk]
    assert list(shorten_outputs(hits, "Which valve?")) == hits


def test_a_record_in_one_line_is_taken_apart_between_its_fields() -> None:
    record = "[" + ", ".join(
        f'{{"part": {n}, "color": "gray", "place": "shelf {n} of the long hall"}}' for n in range(99)
    )
    text = what_matters(record.replace('7, "color": "gray"', '7, "color": "violet"'), ("violet",), chars=300)
    assert "violet" in text
    assert len(text) < 700


@given(st.text(alphabet="ab \n.,;{}[]\"'1", max_size=3_000), st.integers(10, 400))
def test_all_that_is_shown_stands_in_the_text_in_its_order(text: str, chars: int) -> None:
    left = text
    for part in what_matters(text, ("ab", "b1"), chars=chars).split(" … "):
        assert part.strip() in left
        left = left[left.index(part.strip()) + len(part.strip()) :]
