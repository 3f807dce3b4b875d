"""What somebody said that they said otherwise later is marked, and nothing is reordered for it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import stitch
from stitch.core import ContextualIntent, MemorySnippet, Origin, ScoredSnippet, Step
from stitch.retrieve.links.linking import with_restated
from stitch.retrieve.links.restated import NEAR, restated
from stitch.text.claims import claims_in, may_say_change


def said(*texts: str, role: str = "user", apart: int = 1, trajectory: str = "t") -> list[MemorySnippet]:
    origin = Origin.USER if role == "user" else Origin.AGENT
    return [
        MemorySnippet(
            tenant="a", trajectory=trajectory, step=f"s{number}", position=number * apart, role=role, text=text,
            resolved=text, origin=origin, recorded=0.0, intent=ContextualIntent(),
        )
        for number, text in enumerate(texts)
    ]  # fmt: skip


def marks(snippets: Sequence[MemorySnippet]) -> list[tuple[str, str, str, str]]:
    """Step, value, what is said last and where, of all that no longer holds."""
    found = restated(snippets)
    return [(step.step, one.value, one.now, one.step) for step in snippets for one in found.get(step.id, ())]


@pytest.mark.parametrize(
    ("before", "after", "value", "now"),
    [
        ("My budget for the bike is 500.", "Make it 700.", "500", "700"),
        ("Our rent is $1,200 a month.", "They raised our rent to $1,350.", "$1,200", "$1,350"),
        ("The meeting with Ana is on Thursday.", "The meeting moved to Friday.", "Thursday", "Friday"),
        ("I have a check-up on Tuesday at 3 pm.", "My check-up got moved to Wednesday.", "Tuesday", "Wednesday"),
        ("The party is on June 3.", "It got moved to June 10.", "June 3", "June 10"),
        ("I have a deadline of May 3 for the draft.", "Sadly, the new deadline of May 1 is close.", "May 3", "May 1"),
        ("I have 3 hens.", "I have 4 hens now.", "3", "4"),
        ("I've had Luna for about 6 months now.", "I've had Luna for 9 months, any tips?", "6 months", "9 months"),
        ("My favorite tea is Assam.", "My favorite tea is Darjeeling now.", "Assam", "Darjeeling"),
        ("I prefer window seats.", "I prefer aisle seats now.", "window seats", "aisle seats"),
    ],
)
def test_what_was_said_first_is_marked_with_what_is_said_last(before: str, after: str, value: str, now: str) -> None:
    assert marks(said(before, after)) == [("s0", value, now, "s1")]


def test_a_change_of_the_same_matter_is_of_all_that_was_said_of_it_and_of_a_wider_one_of_what_stood_last() -> None:
    moved = "The meeting was moved to Friday."
    assert marks(said("The meeting is on Thursday.", "The meeting is on Monday.", moved)) == [
        ("s0", "Thursday", "Friday", "s2"),
        ("s1", "Monday", "Friday", "s2"),
    ]
    of_two = said("The meeting with Ana is on Thursday.", "The meeting with Bob is on Monday.", moved)
    assert marks(of_two) == [("s1", "Monday", "Friday", "s2")]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("The meeting is on Thursday.", "The meeting with Ana is at 3 pm."),
        ("My budget for food is 500.", "My budget for flights is now 900."),
        ("The meeting is on Thursday.", "Should the meeting be moved to Friday?"),
        ("My budget is 500.", "If I could make it 700, I would."),
        ("I have 3 meetings today.", "I have 2 meetings tomorrow."),
        ("The party is on June 3.", "The workshop was moved to June 10."),
        ("I prefer window seats.", "I prefer tea now."),
        ("I've finished three courses on birds.", "I've finished two courses on bees so far."),
        ("I want a bedtime of 10 pm before my new wake-up time of 6 am.", "I keep to my new wake-up time of 6 am."),
    ],
)
def test_what_is_said_of_something_else_marks_nothing(before: str, after: str) -> None:
    assert marks(said(before, after)) == []


def test_all_earlier_values_are_marked_with_the_last_one() -> None:
    steps = said("My budget is 500.", "Make it 700.", "Actually, make it 650.")

    assert marks(steps) == [("s0", "500", "650", "s2"), ("s1", "700", "650", "s2")]


def test_a_value_that_holds_again_is_not_marked() -> None:
    assert marks(said("My budget is 500.", "Make it 700.", "No, make it 500.")) == [("s1", "700", "500", "s2")]


def test_what_points_means_what_was_said_shortly_before_or_nothing() -> None:
    near, far = (
        said("My budget is 500.", "Make it 700.", apart=NEAR),
        said("My budget is 500.", "Make it 700.", apart=99),
    )

    assert marks(near)
    assert marks(far) == []


def test_a_change_that_names_its_matter_in_part_means_the_last_one_of_that_name() -> None:
    steps = said("My call with Bo is on Monday.", "My call with Ana is on Tuesday.", "The call was moved to Friday.")

    assert marks(steps) == [("s1", "Tuesday", "Friday", "s2")]


def test_what_somebody_else_says_or_says_elsewhere_changes_nothing() -> None:
    [mine] = said("My budget is 500.")
    [theirs] = said("My budget is now 700.", role="Melanie")
    [elsewhere] = said("My budget is now 700.", trajectory="u")
    [helper] = said("My budget is now 700.", role="assistant")

    assert restated([mine, theirs.model_copy(update={"position": 3, "step": "x"}), elsewhere, helper]) == {}


def test_hits_keep_their_order_and_what_points_is_found_beside_them() -> None:
    steps = said("My budget is 500.", "Make it 700.", "I'd like a red one.")
    hits = [ScoredSnippet(one, frozenset(), {}, 1.0) for one in (steps[2], steps[0])]

    linked = with_restated(hits, [steps[2], steps[0]], near=lambda _, reach: steps)

    assert [hit.snippet.step for hit in linked] == ["s2", "s0"]
    assert [hit.superseded_by for hit in linked] == [None, "s1"]


def test_whoever_asks_a_memory_sees_what_no_longer_holds(tmp_path: Path) -> None:
    told = ["My budget for the bike is 500.", "A red one, please.", "Make it 700."]
    with stitch.open_memory(tmp_path) as memory:
        memory.add_many([Step(id=f"s{at}", role="user", content=text) for at, text in enumerate(told)], trajectory="t")
        result = memory.search("What is my budget?")
        why = memory.why("What is my budget?", step="s0", trajectory="t")

    [hit] = [hit for hit in result.hits if hit.snippet.step == "s0"]
    assert hit.superseded_by == "s2"
    assert 'superseded "budget for the bike is 700 at step 2"' in result.context()
    assert any("'500'" in sentence and "'700'" in sentence for sentence in why.sentences)


@given(st.lists(st.sampled_from(["my budget is", "make it", "I'm", "not", "5", "Monday", "moved to", "?", ". "])))
def test_any_words_can_be_read_and_mark_nothing_of_themselves(parts: list[str]) -> None:
    text = " ".join(parts)

    assert claims_in(text) == claims_in(text)
    assert marks(said(text)) == []


_SAID = [
    "My budget is 500.", "Make it 700.", "The meeting with Ana is on Monday.", "It got moved to Friday.",
    "The meeting moved to Tuesday.", "I have 4 hens now.", "I have 3 hens.", "I prefer tea now.", "I prefer coffee.",
    "A red one, please.",
]  # fmt: skip


@given(st.lists(st.sampled_from(_SAID), max_size=10), st.sets(st.integers(0, 9)), st.permutations(range(10)))
def test_what_is_asked_about_is_marked_as_where_all_is(texts: list[str], asked: set[int], order: list[int]) -> None:
    steps = [one for place in order for one in said(*texts)[place : place + 1]]
    of = {one.id for one in said(*texts) if one.position in asked}

    assert restated(steps, of=of) == {name: marks for name, marks in restated(steps).items() if name in of}


@pytest.mark.parametrize(
    "less",
    ["if", "unless", "whether", "I would", "it could", "I might", "I wish", "I hope", "I should", "imagine", "suppose",
     "maybe", "perhaps", "what if", "let's say", "for example", "e.g.", "I used to", "when I was", "back then",
     "thinking of", "thinking about", "planning", "I want to", "I'm going to", "considering"],
)  # fmt: skip
def test_what_is_only_supposed_claims_nothing(less: str) -> None:
    assert claims_in("I'm sure I prefer tea.")
    assert claims_in(f"So {less} I prefer tea.") == ()
    assert claims_in(f"SO {less.upper()} I prefer tea.") == ()


@pytest.mark.parametrize(
    "mark",
    ["now", "actually", "instead", "after all", "anymore", "any more", "no longer", "these days", "nowadays",
     "turn out", "turns out", "turned out", "correction", "changed my mind", "new", "already", "so far", "up to",
     "currently", "rather", "in the end", "as it happens", "sorry"],
)  # fmt: skip
def test_words_that_correct_make_a_claim_a_change(mark: str) -> None:
    for text in (f"{mark}, my budget is 500.", f"{mark.upper()} é my budget is 500."):
        assert [claim.changes for claim in claims_in(text)] == [True]
        assert may_say_change(text)


@given(
    st.lists(
        st.sampled_from([
            *_SAID, "I", "i", "my budget", "our rent", "the meeting", "it", "was", "has been", "is", "to", "from",
            "700", "Friday", "I'm", "i’m", "I've", "we've", "had a cat", "for 6 months", "moved", "my current",
            "favorite tea", "changed", "now", "raised", "cut", "set", "pushed back", "brought forward", "make", "that",
            "bump", '"', "“", "”", "new", "revised", "of", "é", ".", ",", "?", "ſ", "ı",
        ]),
        max_size=12,
    )
)  # fmt: skip
def test_a_claim_that_changes_something_is_seen_at_a_glance(parts: list[str]) -> None:
    text = " ".join(parts)

    assert may_say_change(text) or not any(claim.changes for claim in claims_in(text))
