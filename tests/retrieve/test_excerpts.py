"""Of long steps what matters is shown: sentences that bear what is asked for, and lines that a question points at."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doubles.scoring import hit_of
from stitch.core import Origin, ScoredSnippet
from stitch.retrieve import fit_context, shorten_long
from stitch.retrieve.context.excerpts import excerpt_hits
from stitch.retrieve.context.outputs import SHOWN_CHARS, most_chars, what_matters
from stitch.retrieve.question import read_question
from stitch.text.sentences import sentences
from stitch.text.values import find_mentions

SPEECH = "This is a long opening. Read Miller (2009) and you will see. The winter was cold. Later came Lindley (2002)."


def shown(query: str, text: str) -> str:
    hits = [hit_of(text, role="pro")._replace(parts={"density": 1.0}, score=0.5)]
    (hit,) = excerpt_hits(hits, read_question(query))
    return hit.snippet.resolved


def test_of_a_speech_a_list_of_evidence_needs_the_sentences_that_cite() -> None:
    cited = "This is a long opening. Read Miller (2009) and you will see. … Later came Lindley (2002)."
    assert shown("List the evidence of the pro side.", SPEECH) == cited
    assert shown("Which evidence was used? Separate names by semicolons.", SPEECH) == cited


def test_who_asks_for_names_gets_the_sentences_that_name() -> None:
    text = "It rained all day. We had lunch at the Blue Door Inn. It was fine."
    named = "It rained all day. We had lunch at the Blue Door Inn."
    assert shown("Name all places that came up. List every name.", text) == named
    assert shown("What is the plan? Stay at [hotel]; Lunch at [lunch]", text) == named


WORDS = st.sampled_from(
    ["I", "We", "the", "met", "Anna's", "Blue Inn", "(2009)", "Lee", "$5", "4 stars", "Émile", "it", "٣", "of"]
)


@given(st.lists(st.lists(WORDS, min_size=1, max_size=6).map(" ".join), min_size=1, max_size=4).map(". ".join))
def test_no_sentence_that_bears_what_is_asked_for_is_left_out(text: str) -> None:
    for query, classes in (
        ("Name all places that came up. List every name.", {"name", "organization", "person", "place"}),
        ("List the evidence of the pro side.", {"citation"}),
    ):
        bearing = [each for each in sentences(text) if any(own.entity_type in classes for own in find_mentions(each))]
        told = shown(query, text)
        assert all(sentence in told for sentence in bearing)
        assert bearing or told == text
        assert told.startswith(sentences(text)[0])


@pytest.mark.parametrize(
    "query", ["What evidence was there?", "List the foods I like.", "What did we do at the Blue Door Inn?"]
)
def test_other_questions_get_whole_steps(query: str) -> None:
    assert shown(query, SPEECH) == SPEECH


def test_of_a_list_whole_items_are_shown_each_on_its_line() -> None:
    text = (
        "Three came up:\n\n1. Hotel Adler, plain. 90 a night.\n2. a plain room. 50 a night.\n"
        "3. Villa Rosa, by the lake. Lift.\n\nThe rest is full."
    )
    told = shown("List all hotels by name.", text)
    assert told.split("\n") == [
        "Three came up:",
        "1. Hotel Adler, plain. 90 a night. …",
        "3. Villa Rosa, by the lake. Lift.",
    ]


LOG = "\n".join(
    ["python check.py", *(f"loading part {n} of the plan, all is quiet" for n in range(200)), "the red valve is open",
     *(f"writing part {n} of the plan, all is quiet" for n in range(200)), "ValueError: bad seal", "done in 4 s"]
)  # fmt: skip


def hit(position: int, text: str, *, tool: bool = True, trajectory: str = "t") -> ScoredSnippet:
    role, origin = ("tool", Origin.TOOL) if tool else ("ann", Origin.AGENT)
    return hit_of(text, position=position, trajectory=trajectory, role=role, origin=origin)


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


def test_of_a_long_text_a_small_budget_holds_the_passage_that_answers() -> None:
    guide = "# Guide\n\n" + "\n\n".join(f"The switch sw{n} sets how often it turns. It is {n * 7}." for n in range(60))
    asked = "What is switch sw17 set to?"
    context = fit_context(
        shorten([hit(0, guide, tool=False, trajectory="t")], asked, budget_tokens=100), budget_tokens=100
    )
    assert "sw17 sets how often it turns. It is 119." in context.text


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
            budget_tokens=budget,
        )  # fmt: skip
        assert len(context.ids) == 3


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
    for part in what_matters(text, ("ab", "b1"), chars=chars, tail=2).split(" … "):
        assert part.strip() in left
        left = left[left.index(part.strip()) + len(part.strip()) :]


@given(st.lists(st.integers(0, 500), min_size=1, max_size=6), st.booleans(), st.integers(64, 4096))
def test_where_all_are_short_they_stay_as_they_are(lengths: list[int], tool: bool, budget_tokens: int) -> None:
    hits = [hit(n, ("word " * 100)[:length], tool=tool) for n, length in enumerate(lengths)]
    least = min(most_chars(budget_tokens), SHOWN_CHARS[-1][1])
    shown = shorten([one for one in hits if len(one.snippet.text) <= least], "word?", budget_tokens=budget_tokens)
    assert shown == [one for one in hits if len(one.snippet.text) <= least]
