"""Tasks that somebody gives, and questions about what was done, whoever asks and however politely."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stitch.retrieve.question.run_question import read_run_question
from stitch.retrieve.question.tasks import asked_of_memory, is_task


@pytest.mark.parametrize(
    "text",
    [
        "Where is my package?",
        "Fix the failing test in parser.py, please.",
        "My payment was taken twice.",
        "Can I change the seat on my flight to Boston?",
        "The dashboard does not load any more since the upgrade.",
        "I was charged for a bag that never flew. Give it back.",
        "We need a nightly backup of the billing database.",
        "Is the hotel refundable?",
        "What came is a toaster. My order was for a kettle.",
        "I ordered the skates in spring. Did I miss the date for sending them back?",
        "Can you tell me what my balance comes to?",
    ],
)
def test_a_wish_a_complaint_or_an_order_is_a_task(text: str) -> None:
    assert is_task(text)


@pytest.mark.parametrize(
    "text",
    [
        "Why did my first edit fail?",
        "What did I try before the tests passed?",
        "I'd like to know which file was changed last.",
        "Could you tell me why the refund was refused?",
        "Which of my commits broke the build?",
        "Did the deployment of our shop go through?",
        "Show me the errors of the second run.",
        "Do you remember what the customer from Oslo wanted?",
        "Remind me, how much was paid for the upgrade?",
        "Tell me about the second ticket.",
        "errors in the login module",
        "List all files that were edited.",
        "What does the basket come to at present?",
        "We tried several fixes; which one worked?",
        "Give me the command that created the archive.",
        "who approved the refund",
        "Stop.",
    ],
)
def test_a_question_about_what_was_done_is_none(text: str) -> None:
    assert not is_task(text)


@pytest.mark.parametrize(
    "frame", ["Please tell me: {}", "I'd like to know, {}", "Do you remember {}", "Hey, could you tell me {}"]
)
def test_a_question_is_read_alike_behind_a_courtesy(frame: str) -> None:
    plain = "which call was refused first, and why?"
    assert read_run_question(frame.format(plain)) == read_run_question(plain)


@given(st.text(max_size=300))
def test_any_text_is_read(text: str) -> None:
    assert text.endswith(asked_of_memory(text))
    assert is_task(text) in (True, False)
