"""Instructions and preferences that stand come up where help or advice is asked for, and nowhere else."""

import pytest

from doubles.scoring import pool_of, snippet
from stitch.core import Origin
from stitch.retrieve.constants import CONSTANTS
from stitch.retrieve.rank.pool import Candidate
from stitch.retrieve.rank.standing import standing

HELP = "How should I lay out the report?"


def gain(text: str, *, asked: str = HELP, role: str = "user", origin: Origin = Origin.USER) -> float:
    said = snippet(text, role=role, origin=origin)
    gains = standing(pool_of(asked, [Candidate(said, frozenset(), 0.0, 0.0)]))
    return 0.0 if gains is None else gains[0]


@pytest.mark.parametrize(
    "text",
    [
        "Always put the totals first when I ask about reports.",
        "Thanks! From now on, answer in two sentences.",
        "And please never use abbreviations.",
        "When I ask for a table, sort it by date.",
        "Make sure you always cite the page.",
    ],
)
def test_an_instruction_that_stands_counts_where_help_is_asked_for(text: str) -> None:
    assert gain(text) == CONSTANTS.standing


@pytest.mark.parametrize("asked", ["When did she arrive?", "What did the hotel cost?", "Who called on Monday?"])
def test_what_was_said_or_done_is_asked_for_without_instructions(asked: str) -> None:
    assert gain("Always keep it short.", asked=asked) == 0.0


def test_who_repeats_an_instruction_or_is_a_document_gave_none() -> None:
    assert gain("Got it: always totals first. I will always do so, and never forget.", role="assistant") == 0.0
    assert gain("Note: always wear gloves.", role="page", origin=Origin.DOCUMENT) == 0.0
