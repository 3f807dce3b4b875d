"""A step is found by its canonical summary and by what it answers in other words; nothing of that is shown."""

from __future__ import annotations

import pytest

from stitch.core import ContextualIntent, MemorySnippet
from stitch.core.snippets import MAX_ASK_CHARS, MAX_ASKS, StepLabels
from stitch.embed import LexicalEncoder, StaticEmbedder
from stitch.ingest.records import make_records

SUMMARY = "Tomek asks for a quieter room on the courtyard side of the Hotel Bristol."
LOCAL_SUMMARY = "user: ask and state (day 1): Could we have the other one?"


def snippet(**fields: object) -> MemorySnippet:
    given = {"text": "Could we have the other one?", "resolved": "Could we have the other one?", "role": "user"}
    return MemorySnippet(tenant="t", trajectory="trip", step="1", position=0, recorded=1.0, **{**given, **fields})


def likeness(question: str, made: MemorySnippet) -> tuple[float, float]:
    """How alike a question and a snippet are: by vectors, and by the words they share."""
    embedder, lexical = StaticEmbedder(), LexicalEncoder()
    (record,) = make_records([made], embedder=embedder, lexical=lexical)
    words = lexical.query(question)
    shared = sum(weight * record.words.get(index, 0.0) for index, weight in words.items())
    return float(record.vector @ embedder.embed([question])[0]), shared


@pytest.mark.parametrize(
    ("question", "more"),
    [
        ("Which hotel was to give Tomek a quieter room?", {"summary": SUMMARY}),
        ("What accommodation did the family complain about?", {"asks": ("accommodation complaint",)}),
        (
            "What accommodation did the family complain about?",
            {"summary": SUMMARY, "asks": ("accommodation complaint",)},
        ),
    ],
)
def test_words_and_vector_know_summary_and_asks(question: str, more: dict[str, object]) -> None:
    (plain_vector, plain_words), (vector, words) = likeness(question, snippet()), likeness(question, snippet(**more))
    assert vector > plain_vector + 0.05
    assert words > plain_words


def test_a_local_summary_adds_nothing() -> None:
    own = snippet(summary=LOCAL_SUMMARY, intent=ContextualIntent(scope="day 1", event_types=("ask", "state")))
    renamed = own.model_copy(update={"intent": ContextualIntent(scope="Warsaw")})  # a person corrected the scope
    for question in ("day 1", "Could we have the other one?"):
        assert likeness(question, own) == likeness(question, renamed) == likeness(question, snippet())


def test_a_summary_stands_in_for_what_a_step_leans_on() -> None:
    context = "Would you rather have the attic?"
    leaning, summed = snippet(context=context), snippet(context=context, summary=SUMMARY)
    assert likeness("attic", leaning) > likeness("attic", snippet())
    assert likeness("attic", summed) == likeness("attic", snippet(summary=SUMMARY))


def test_asks_are_few_and_short() -> None:
    given = ("  who   pays? ", "", "who pays?", "x" * (MAX_ASK_CHARS + 1), *(f"word {n}" for n in range(20)))
    asks = StepLabels(intent=ContextualIntent(), made_by="m", asks=given).asks
    assert asks[:2] == ("who pays?", "word 0")
    assert len(asks) == MAX_ASKS
