"""How well a step follows another: the shipped matrices, and learning them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stitch.bench.fit.replies import Talk, fit_replies
from stitch.embed import StaticEmbedder
from stitch.label.local.replies import (
    MAX_CHARS,
    TABLE,
    as_data,
    blend,
    fit,
    replies_from,
    shipped_replies,
    vector,
    vectors,
)

ANSWERED = [
    ("When do you want to leave?", "Next Tuesday in the morning.", "The one with the pool."),
    ("What kind of food would you like?", "Something Italian.", "At half past nine."),
    ("How many tickets do you need?", "Just two.", "In the city center."),
    ("Is there anything else I can help you with?", "No, that is all, thanks.", "From Berlin."),
]


@pytest.mark.parametrize(("said", "fits", "does_not"), ANSWERED)
def test_an_answer_follows_its_question_better_than_another_answer(said, fits, does_not):
    replies = shipped_replies()
    prompt = replies.hear(vector(said)).prompt
    assert fit(prompt, replies.hear(vector(fits)).answer) > fit(prompt, replies.hear(vector(does_not)).answer)


def test_what_opens_a_scope_follows_nothing_better_than_an_answer_does():
    replies = shipped_replies()
    opening, answer = (
        replies.hear(vector("I am looking for a flight to Paris.")).answer,
        replies.hear(vector("Yes, that's right.")).answer,
    )
    assert fit(replies.start, opening) > fit(replies.start, answer)


def test_the_matrices_fit_the_shipped_table():
    replies = shipped_replies()
    dimension = StaticEmbedder(TABLE, vocabulary_of=StaticEmbedder()).dimension
    numbers = len(replies.start)
    assert replies.last.shape == replies.answers.shape == (dimension + 1, numbers)
    assert replies.gist.shape == (dimension, numbers)


def test_only_the_beginning_of_a_long_step_is_read():
    replies = shipped_replies()
    text = "word " * MAX_CHARS
    assert replies.hear(vector(text)).answer == replies.hear(vector(text + "and more")).answer


def test_nothing_said_is_followed_by_nothing():
    assert fit([], shipped_replies().hear(vector("Hello.")).answer) == 0


@given(st.lists(st.lists(st.floats(-5, 5), min_size=2, max_size=2), min_size=1, max_size=30))
def test_the_mean_of_recent_steps_stays_among_them(steps):
    mean: list[float] = []
    for count, numbers in enumerate(steps, 1):
        mean = blend(mean, numbers, steps=count)
    for place in range(2):
        column = [numbers[place] for numbers in steps]
        assert min(column) - 0.01 <= mean[place] <= max(column) + 0.01


def test_a_file_of_weights_gives_back_what_was_learned_to_half_a_unit():
    replies = shipped_replies()
    again = replies_from(as_data(replies, unit=0.01))
    assert abs(again.last - replies.last).max() <= 0.005 + 1e-6
    assert as_data(replies_from(as_data(replies))) == as_data(replies)


def test_replies_are_learned_from_talk_that_goes_on():
    talks = [
        Talk(["Who?", f"{name}.", "When?", f"At {hour}.", "Bye."]) for name in ("Ann", "Bob") for hour in range(30)
    ]
    replies = fit_replies({"talk": talks})
    assert fit(replies.hear(vector("When?")).prompt, replies.hear(vector("At 4.")).answer) > fit(
        replies.hear(vector("When?")).prompt, replies.hear(vector("Ann.")).answer
    )
    assert fit_replies({"talk": talks}).start == replies.start


def test_too_little_talk_teaches_nothing():
    replies = fit_replies({"talk": [Talk(["Who?", "Ann."])]})
    assert fit(replies.hear(vector("Who?")).prompt, replies.hear(vector("Ann.")).answer) == 0


def test_vectors_made_at_once_are_those_made_one_by_one():
    texts = [text for answered in ANSWERED for text in answered] + ["", "x" * 2_000]
    assert [row.tolist() for row in vectors(texts)] == [vector(text).tolist() for text in texts]
