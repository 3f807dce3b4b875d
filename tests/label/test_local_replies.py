"""How well a step follows another: the shipped matrices, and learning them."""

import pytest

from stitch.bench.fit.replies import Talk, fit_replies
from stitch.label.local.replies import (
    fit,
    shipped_replies,
    vector,
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


def test_replies_are_learned_from_talk_that_goes_on():
    talks = [
        Talk(["Who?", f"{name}.", "When?", f"At {hour}.", "Bye."]) for name in ("Ann", "Bob") for hour in range(30)
    ]
    replies = fit_replies({"talk": talks})
    assert fit(replies.hear(vector("When?")).prompt, replies.hear(vector("At 4.")).answer) > fit(
        replies.hear(vector("When?")).prompt, replies.hear(vector("Ann.")).answer
    )
    assert fit_replies({"talk": talks}).start == replies.start
