"""What a wording is: the sentences of one kind of people, and what they call things.

All fields of sentences are those of `phrases_traveler`, `phrases_travel_agent` and `phrases_debate`, and `nth`, the day
as a word ("second"). Expressions that stand for things have `ordinal` ("second"), `cardinal` ("two"), `number` ("2").
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

FILL: Mapping[str, tuple[int, int]] = MappingProxyType(
    {"PROPOSE more": (8, 16), "INQUIRE more": (6, 12), "COMPARE more": (9, 14)}
)
_NONE: Mapping[str, str] = MappingProxyType({})


class TravelWording(NamedTuple):
    """How a traveler and an agent talk."""

    user: dict[str, tuple[str, ...]]
    """Sentences of the traveler by what they do."""
    slots: dict[str, tuple[str, ...]]
    """What a proposal is for."""
    nouns: dict[str, str]
    """The slot inside of an expression that stands for a place."""
    references: dict[str, tuple[str, ...]]
    """What stands for the name of a place in the traveler's mouth, by how it finds the place: `ordinal` and `latest`
    count the proposals for the slot of that day, `near` counts them right after they were spoken of, `other` is the one
    of two that was not spoken of last, `only` where there is one, `chosen` what was decided last, `described` by what
    the agent told of it, `again` what was spoken of just before."""
    agent: dict[str, tuple[str, ...]]
    """Sentences of the agent by what they do."""
    pronouns: dict[str, tuple[str, ...]]
    """What the agent calls a place of a kind."""
    both: tuple[tuple[str, ...], tuple[str, ...]]
    """What the agent calls the two places of a comparison: at the beginning of a sentence, then elsewhere."""
    fill: Mapping[str, tuple[int, int]] = FILL
    """How many sentences beside the point the agent says, from and to."""
    opening_it: float = 0.0
    """How often the agent's sentence opens with "it" for a place."""


class DebateWording(NamedTuple):
    """How debaters talk."""

    openings: dict[str, tuple[str, ...]]
    citing: dict[str, tuple[str, ...]]
    after_citing: tuple[str, ...]
    arguing: dict[str, tuple[str, ...]]
    general: tuple[str, ...]
    ties: tuple[str, ...]
    closings: dict[str, tuple[str, ...]]
    own: dict[str, tuple[str, ...]]
    """What stands for a contention of one's own: `ordinal` counts them, `content` says what it is about (`alias`)."""
    other: dict[str, tuple[str, ...]]
    aliases: Mapping[str, str] = _NONE
    """By name of a theme, what these people call it."""


class QuestionWording(NamedTuple):
    """How questions about a trajectory are asked."""

    final: tuple[str, ...]
    decided: tuple[str, ...]
    fact: dict[str, tuple[str, ...]]
    discussed: tuple[str, ...]
    whole: str
    used: dict[str, str]
    against: str
    conceded: str
    shared: str
    against_content: str = ""
    """The same as `against`, with the contention named by what it is about; every other question then."""
    slots: Mapping[str, str] = _NONE
    """What a slot is called in questions."""


class Wording(NamedTuple):
    """How one kind of people would say everything."""

    name: str
    travel: TravelWording
    debate: DebateWording
    questions: QuestionWording
    capitals: bool = True
    """Whether sentences begin with a capital."""
    between: str = " "
    """What stands between sentences."""
