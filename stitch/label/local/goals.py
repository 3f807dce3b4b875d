"""What is remembered of one goal of a run, and what speaks for it when the next step comes.

Each goal that a step may go on with, and a new one where somebody asks for something, is a candidate; what speaks for a
candidate are named numbers, weighed by a linear model (`goal_weights.json`, made by
`python -m stitch.pipelines.fit_goals`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from importlib.resources import files
from math import log1p
from typing import NamedTuple

import orjson

from stitch.label.local.turns import ACKNOWLEDGES, ASKS, CALLS, NUDGES, RESULT, SAYS, Turn
from stitch.text.words import whole_words

RECENT_TERMS = 80
"""So many of the terms said last are known as what a goal is at."""
_TURNING_CHARS = 400
_LONG_WORDS = 24.0
_KNOWN = 0.5
_TELLING = re.compile(r"\d")
_DIGITS, _LETTERS = re.compile(r"\d+"), re.compile(r"[a-z]+")

_TURNS = whole_words(
    r"""another (?:thing|question|task|issue|request|problem|ticket)|something else|one more (?:thing|question|task)
    |next (?:task|issue|bug|ticket|question|one)|new (?:task|issue|ticket|request|problem)
    |different (?:task|issue|question)
    |now (?:please )?(?:let's|let us|i(?:'d| would) like|i want|i need|can you|could you)|separately|unrelated
    |also,? i"""
)
_INTRODUCES = re.compile(
    r"\W*(?:hi|hello|hey|good (?:morning|afternoon|evening|day)|dear|greetings)\b"
    r"|\W*(?:this is|i am|i'm|my name is|it's) (?-i:[A-Z])\w+",
    re.IGNORECASE,
)
"""How somebody begins who has not spoken yet."""
_REPLIES = whole_words(
    r"""yes|yeah|yep|no|nope|ok|okay|sure|right|alright|great|perfect|thanks?|thank you|actually|instead|i see
    |understood|that|those|it|correct|exactly|sounds|please go|go ahead|hmm|well|then|and|but|or|so"""
)
_ASKS_BACK = re.compile(
    r"\?|\b(?:please (?:provide|confirm|tell|let|share|specify|send|enter|choose|select|clarify)|let me know|could you"
    r"|can you|would you|i(?:'ll| will) need (?:your|the)|awaiting|waiting for)\b",
    re.IGNORECASE,
)

OF_GOAL = (
    "current", "current just asked", "current just begun", "never left", "ids", "ids recent", "words", "words recent",
    "waits for result, calls", "waits for result, speaks", "user answers", "user speaks again", "asked back, user",
    "agent speaks again", "agent answers user", "agent goes on after result", "closed", "submitted", "age",
    "tool known", "same speaker", "current spoke, user",
    "key of its own", "key of its own, current has none",
)  # fmt: skip
OF_NEW = (
    "new", "wants", "turns", "introduces", "replies", "fresh key of that shape", "best ids", "best words",
    "current asked back", "current closed", "current submitted", "length", "after result",
    "current begun lately", "acted", "best recent words", "at rest", "no key",
    "key known", "fresh key, current has none", "announced", "words of openings", "key and words of openings",
)  # fmt: skip
FEATURES = (*OF_GOAL, *OF_NEW)
"""The names of the numbers of a candidate."""


@dataclass
class Goal:
    """What is remembered of one goal."""

    number: int
    label: str
    """Its name, as steps carry it."""
    terms: dict[str, int] = field(default_factory=dict)
    """Handles of identifiers and stems of words, with how often they were said."""
    recent: list[str] = field(default_factory=list)
    """Those of its last steps."""
    tools: list[str] = field(default_factory=list)
    """Which tools it called."""
    last: str = ""
    """What its last step was."""
    waiting: list[str] = field(default_factory=list)
    """Calls without a result: their ids or tools."""
    last_act: str = ""
    said: str = ""
    """What was said beside its last call: what a short result answers."""
    phase: str = ""
    repairs: bool = False
    """Whether it is work on code: such a goal has phases."""
    changed: bool = False
    made: list[str] = field(default_factory=list)
    open_file: str = ""
    """See `phases.Phase`."""
    closed: bool = False
    asks_back: bool = False
    """Whether the words of the agent that came last ask somebody something."""
    opening: str = ""
    session: str = ""
    at: int = 0
    """The position of its last step."""
    begun: int = 0
    roles: list[str] = field(default_factory=list)
    steps: int = 0


class Shares(NamedTuple):
    """Which share of the known identifiers and words of a step a goal knows, ever and of late."""

    ids: float
    ids_recent: float
    words: float
    words_recent: float
    own_key: bool
    """Whether the step names an identifier that this goal alone knows."""


def shape_of(key: str) -> str:
    """The shape of an identifier: letters and digits by their kind; empty if it has no digit or several words."""
    return _LETTERS.sub("a", _DIGITS.sub("9", key)) if _TELLING.search(key) and " " not in key else ""


def asks_back(text: str) -> bool:
    """Whether words of an agent ask somebody something."""
    return _ASKS_BACK.search(text[-600:]) is not None


def may_open(turn: Turn) -> bool:
    """Whether a step may open a goal: somebody asks for something, and does not just say thanks or go on."""
    return turn.kind == ASKS and not turn.closes and NUDGES.match(turn.text[:_TURNING_CHARS].lower().lstrip()) is None


def goal_numbers(
    goal: Goal, turn: Turn, shares: Shares, *, role: str, current: bool, known_here: bool, now: int, left: bool
) -> list[float]:
    """What speaks for a goal that a step may go on with; in the order of `FEATURES`.

    Args:
        goal: The goal.
        turn: The step.
        shares: What it knows of the step.
        role: Who speaks, folded.
        current: Whether it is the goal of the last step.
        known_here: Whether that goal knows an identifier of the step.
        now: The position of the step.
        left: Whether a goal was ever left and taken up again.
    """
    # Complexity over 15 because each number is a condition of its own, side by side with its name.
    by_user, calls = turn.kind == ASKS, turn.kind == CALLS
    waits = bool(goal.waiting)
    numbers = (
        current,
        current and goal.last == ASKS and not by_user,
        current and goal.steps <= 2,
        not left and not current,
        shares.ids,
        shares.ids_recent,
        shares.words,
        shares.words_recent,
        waits and calls,
        waits and not calls,
        by_user and goal.last == SAYS,
        by_user and goal.last == ASKS,
        by_user and goal.asks_back,
        not by_user and goal.last == SAYS and role in goal.roles[-1:],
        not by_user and goal.last == ASKS,
        not by_user and goal.last == RESULT,
        goal.closed and goal.last_act != "submit",
        goal.last_act == "submit",
        log1p(max(0, now - goal.at - 1)),
        calls and turn.tool in goal.tools,
        role in goal.roles[-1:],
        current and by_user and goal.last == SAYS,
        shares.own_key,
        shares.own_key and not current and not known_here,
    )
    return [*map(float, numbers), *(0.0 for _ in OF_NEW)]


def new_numbers(current: Goal, turn: Turn, best: Shares, *, fresh: bool, announced: float, alike: float) -> list[float]:
    """What speaks for a new goal where somebody asks for something; in the order of `FEATURES`.

    Args:
        current: The goal of the last step.
        turn: The step.
        best: What the goal knows of it that knows most.
        fresh: Whether it names an identifier that is new and of the shape of those that goals began with.
        announced: Which share of the goals so far followed instructions.
        alike: Which share of its words stands in what opened goals.
    """
    lowered = turn.text[:_TURNING_CHARS].lower().lstrip()
    acted = bool(current.last_act)
    numbers = (
        1.0,
        turn.wants,
        _TURNS.search(lowered) is not None,
        _INTRODUCES.match(turn.text) is not None,
        _REPLIES.match(lowered) is not None or ACKNOWLEDGES.match(lowered) is not None,
        fresh,
        best.ids,
        best.words,
        current.asks_back and current.last == SAYS,
        current.closed and current.last_act != "submit",
        current.last_act == "submit",
        min(len(turn.text.split()), _LONG_WORDS) / _LONG_WORDS,
        current.last == RESULT and current.steps > 2,
        current.steps <= 2,
        acted,
        best.words_recent,
        acted and current.last == SAYS and not current.asks_back,
        not any(map(shape_of, turn.handles)),
        best.ids > _KNOWN,
        fresh and not any(map(shape_of, current.terms)),
        announced,
        alike,
        alike * fresh,
    )
    return [*(0.0 for _ in OF_GOAL), *map(float, numbers)]


@lru_cache(maxsize=1)
def goal_weights() -> tuple[float, ...]:
    """The weights that come with the package, in the order of `FEATURES`."""
    known: Mapping[str, float] = orjson.loads(files("stitch.label.local").joinpath("goal_weights.json").read_bytes())
    return tuple(known.get(name, 0.0) for name in FEATURES)
