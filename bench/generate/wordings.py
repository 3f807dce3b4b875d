"""Voices of the generator, and the parts of which its worlds are made: data in `phrases/*.json`.

Two voices share no sentence: `plain`, careful sentences of well-read people, and `chat`, fragments in lower case.
Further ones are a model's work (`stitch generate came --model`). A voice is pools of sentences by what they do, with
fields for what they tell: `name` (`first` and `second` in comparisons), `slot`, `wrong` (another slot), `day`, `nth`
("second"), `price`, `rating` and the traits of places; in debates `claim`, `statement`, `evidence`, `finding`, `theme`,
`people`, `place`. Expressions that stand for things have `ordinal` ("second"), `cardinal` ("two") and `number` ("2").

`travel.references` stand for the name of a place, by how they find it: `ordinal` and `latest` count the proposals for
the slot of that day, `near` counts them right after they were spoken of, `other` is the one of two that was not spoken
of last, `only` where there is one, `chosen` what was decided last, `described` by what the agent told of it, `again`
what was spoken of just before. `travel.both` has the agent's words for the two places of a comparison, the first of
each at the beginning of a sentence; `travel.opening_it` is how often its sentence opens with "it". `debate.own` and
`other` count a contention or say what it is about (`alias`, of `debate.aliases`).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib.resources import files
from typing import Any, NamedTuple


class Wording(NamedTuple):
    """The sentences of one kind of people."""

    name: str
    travel: Mapping[str, Any]
    debate: Mapping[str, Any]
    questions: Mapping[str, Any]
    capitals: bool
    """Whether sentences begin with a capital."""
    between: str
    """What stands between sentences."""


def read_phrases(name: str) -> Any:
    """A file of phrases, with tuples for lists."""

    def frozen(value: Any) -> Any:
        if isinstance(value, dict):
            return {name: frozen(each) for name, each in value.items()}
        return tuple(map(frozen, value)) if isinstance(value, list) else value

    return frozen(json.loads((files(__package__) / "phrases" / f"{name}.json").read_text(encoding="utf-8")))


WORDINGS = {name: Wording(**read_phrases(name)) for name in ("plain", "chat")}
PLAIN = WORDINGS["plain"]
PARTS: Mapping[str, Any] = read_phrases("worlds")
"""Parts of invented names, traits of places, motions, themes and findings."""
PLAN: Mapping[str, Any] = read_phrases("plan")
"""Words that belong to no voice: goals, cues, numbers, the order of an agent's sentences."""
ORDINALS: tuple[str, ...] = PLAN["ordinals"]
CARDINALS: tuple[str, ...] = PLAN["cardinals"]
