"""Voices of the generator, and the parts of which its worlds are made: data in `phrases/*.json`.

Two voices share no sentence: `plain`, careful sentences of well-read people, and `chat`, fragments in lower case.
Further ones are a model's work (`stitch generate came --model`). Sentences have fields for what they tell: `name`
(`first` and `second` in comparisons), `slot`, `wrong` (another slot), `day`, `nth` ("second"), `price`, `rating` and
the traits of places; in debates `claim`, `statement`, `evidence`, `finding`, `theme`, `people`, `place`. Expressions
that stand for things have `ordinal` ("second"), `cardinal` ("two") and `number` ("2").
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib.resources import files
from typing import Any, NamedTuple

ORDINALS = (
    "first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth",
    "eleventh", "twelfth",
)  # fmt: skip

_Pools = Mapping[str, tuple[str, ...]]


class TravelWording(NamedTuple):
    """Sentences of a traveler and an agent."""

    user: _Pools
    """Sentences of the traveler by what they do."""
    slots: _Pools
    """What a proposal is for."""
    nouns: Mapping[str, str]
    """The slot inside of an expression that stands for a place."""
    references: _Pools
    """Expressions for the name of a place, by how they find it: `ordinal` and `latest` count the proposals for the slot
    of that day, `near` counts them right after they were spoken of, `other` is the one of two that was not spoken of
    last, `only` where there is one, `chosen` what was decided last, `described` by what the agent told of it, `again`
    what was spoken of just before."""
    agent: _Pools
    """Sentences of the agent by what they do."""
    pronouns: _Pools
    """The agent's words for a place of a kind."""
    both: tuple[tuple[str, ...], tuple[str, ...]]
    """The agent's words for the two places of a comparison: at the beginning of a sentence, then elsewhere."""
    fill: Mapping[str, tuple[int, int]]
    """Number of sentences beside the point that the agent says, from and to."""
    opening_it: float
    """How often the agent's sentence opens with "it" for a place."""


class DebateWording(NamedTuple):
    """Sentences of debaters."""

    openings: _Pools
    citing: _Pools
    after_citing: tuple[str, ...]
    arguing: _Pools
    general: tuple[str, ...]
    ties: tuple[str, ...]
    closings: _Pools
    own: _Pools
    """Expressions for a contention of one's own: `ordinal` counts them, `content` says what it is about (`alias`)."""
    other: _Pools
    aliases: Mapping[str, str]
    """Names of themes in this voice."""


class QuestionWording(NamedTuple):
    """Questions about a trajectory."""

    final: tuple[str, ...]
    decided: tuple[str, ...]
    fact: _Pools
    discussed: tuple[str, ...]
    whole: str
    used: Mapping[str, str]
    against: str
    conceded: str
    shared: str
    against_content: str
    """The same as `against`, with the contention named by what it is about; every other question then."""
    slots: Mapping[str, str]
    """Names of slots in questions."""


class Wording(NamedTuple):
    """The sentences of one kind of people."""

    name: str
    travel: TravelWording
    debate: DebateWording
    questions: QuestionWording
    capitals: bool
    """Whether sentences begin with a capital."""
    between: str
    """What stands between sentences."""


def _read(name: str) -> Any:
    """A file of phrases, with tuples for lists."""
    file = files(__package__) / "phrases" / f"{name}.json"
    return _frozen(json.loads(file.read_text(encoding="utf-8")))


def _frozen(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _frozen(each) for name, each in value.items()}
    return tuple(map(_frozen, value)) if isinstance(value, list) else value


def _wording(name: str) -> Wording:
    told = _read(name)
    travel, debate, questions = (told.pop(part) for part in ("travel", "debate", "questions"))
    return Wording(
        travel=TravelWording(**travel), debate=DebateWording(**debate), questions=QuestionWording(**questions), **told
    )


WORDINGS = {name: _wording(name) for name in ("plain", "chat")}
PLAIN = WORDINGS["plain"]
PARTS: Mapping[str, Any] = _read("worlds")
"""Parts of invented names, traits of places, motions, themes and findings."""
