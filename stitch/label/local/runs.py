"""Goals of an agent's run (§2.2.1): what opens one, and which of several a step goes on with.

In a run the structure says more than the words. A system prompt, a new session, a statement that begins as an earlier
one began, or a request after the work on the last one is done opens a goal. Goals that are worked on in turn are told
apart by the identifiers that travel through calls and results, by who is to speak next in each, and by the words they
share with a step. Results go with their calls. What stands here decides as soon as a trajectory shows that it is a run;
dialogues without tools never come here.

More than 400 lines because opening, choosing and remembering goals share one memory of the run.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Mapping
from dataclasses import asdict, dataclass, field
from math import log
from typing import Any, NamedTuple

from stitch.core.intent import SETUP_SCOPE, clean_label, goal_of
from stitch.core.steps import Step
from stitch.label.local import chains
from stitch.label.local.naming import distinct_name
from stitch.label.local.outcomes import BAD_OUTCOMES, outcome_of_step
from stitch.label.local.reading import AGENTS
from stitch.label.local.scope_counts import uncount
from stitch.label.local.titles import goal_title
from stitch.label.local.turns import (
    ACKNOWLEDGES,
    ASKS,
    CALLS,
    MIN_OPENING_CHARS,
    NUDGES,
    RESULT,
    SAYS,
    SETUP,
    SoFar,
    Turn,
    hear,
    opening_of,
    opens_like,
    read_part,
)
from stitch.text.identifiers import identifiers
from stitch.text.words import whole_words

MAX_TERMS = 500
"""How many handles and stems a goal is known by."""
MAX_GOALS_COMPARED = 24
MAX_GOAL_CHARS = 96


_TURNING_CHARS = 400
_TELLING = re.compile(r"[\d/@]")
"""In what tells one thing from another; words joined by underscores may be those of a kind."""
_MOST_GIVEN = 64
_NO_TITLE = "task"
_SAID_CHARS = 200
_SHORT_CHARS = 400
_TRIES_AGAIN = 3.0
"""What it says for the current goal that its last call failed: 2 gains nothing, with 4 goals run together."""
_PLAIN = 0.7
"""Such a share of its identifiers says plainly what a step is about, if the goal of the last step lacks them."""
_LONG_STATEMENT_CHARS = 200
_REST_OF_HANDLES, _REST_OF_STEMS = 0.15, 1.0
"""Added to what is known of a step, so that a single word of everyday says little and a single key much."""
_KEY = re.compile(r"(?:[a-z]{2,}-|#)\d{2,}")
"""What trackers of issues, tickets and orders number things with."""
_TURNS = whole_words(
    r"""another (?:thing|question|task|issue|request|problem|ticket)|something else|one more (?:thing|question|task)
    |next (?:task|issue|bug|ticket|question|one)|new (?:task|issue|ticket|request|problem)
    |different (?:task|issue|question)
    |now (?:please )?(?:let's|let us|i(?:'d| would) like|i want|i need|can you|could you)|separately|unrelated
    |also,? i"""
)
_ASKS = re.compile(r"\?|\b(?:please|could you|can you|i(?:'d| would) like|i need|i want|i'm looking|help me)\b", re.I)


@dataclass
class Goal:
    """What is remembered of one goal."""

    number: int
    label: str
    """Its name, as steps carry it."""
    terms: dict[str, int] = field(default_factory=dict)
    """Handles of identifiers and stems of words, with how often they were said."""
    last: str = ""
    """What its last step was."""
    waiting: list[str] = field(default_factory=list)
    """Calls without a result: their ids or tools."""
    last_act: str = ""
    said: str = ""
    """What was said beside its last call: what a short result answers."""
    closed: bool = False
    opening: str = ""
    session: str = ""
    at: int = 0
    """The position of its last step."""
    roles: list[str] = field(default_factory=list)
    steps: int = 0
    asks: bool = False
    """Whether its last words ask for an answer."""
    failed: bool = False
    """Whether its last result went wrong: then its next call is the next attempt."""


class Place(NamedTuple):
    """Where a step of a run belongs."""

    goal: int | None
    """The number of a goal; None for a new one."""
    setup: bool = False


class RunTracker:
    """Tells the goals of one trajectory apart, once it turns out to be a run. Deterministic; knows only the past."""

    def __init__(self) -> None:
        self.active = False
        self.goals: list[Goal] = []
        self.current: int | None = None
        self._df: dict[str, int] = {}
        self._parents: dict[str, int] = {}
        self._openings: dict[str, int] = {}
        """How goals and setups begin, with how often."""
        self._setups: dict[str, int] = {}
        """How instructions begin."""
        self._given: list[str] = []
        """What the last instructions name: a customer, a folder."""
        self._after_setup = False
        self._texts_act = False
        """Whether actions stand in the words of the agent, and results are told by others."""
        self._session = ""
        self._first_opening = self._first_title = ""
        self._position = 0
        self._returns = 0
        self._callers: list[str] = []
        """Who calls tools."""

    @property
    def goal(self) -> Goal | None:
        """The goal of the last step."""
        return None if self.current is None else self.goals[self.current]

    def hear(self, step: Step) -> Turn | None:
        """Take a step apart if it belongs to a run; None if nothing has shown a run yet. Changes nothing."""
        goal = self.goal
        so_far = SoFar(
            active=self.active,
            begins=not self._position,
            after_setup=self._after_setup,
            openings=self._openings,
            setups=self._setups,
            waits=goal is not None and bool(goal.waiting),
            waits_in_words=goal is not None and "" in goal.waiting and goal.last_act != "submit",
            caller=goal.roles[-1] if goal is not None and goal.roles else "",
            acts_in_fences=self._texts_act or not any(one.waiting or one.last == RESULT for one in self.goals),
        )
        return hear(step, so_far)

    def place(self, step: Step, turn: Turn, *, named: int | None = None, subject: str = "") -> Place:
        """Where a step belongs. Changes nothing.

        The number of a goal to which it turns by name decides where given; a subject without a goal of that name opens
        one.
        """
        place = self._place(step, turn)
        if not place.setup and turn.kind != RESULT:
            return Place(named) if named is not None else Place(None) if subject else place
        return place

    def label_of(self, place: Place, turn: Turn, *, taken: Container[str], subject: str = "") -> str:
        """The scope label of a step that is placed: its goal's name."""
        if place.setup:
            return SETUP_SCOPE
        if place.goal is not None:
            return self.goals[place.goal].label
        title = subject or goal_title(turn.text) or next((act.object for act in turn.acts if act.object), turn.tool)
        telling = [one.value for one in identifiers(turn.text[:1_500])[:6]]
        return distinct_name(clean_label(title or _NO_TITLE)[:MAX_GOAL_CHARS].strip(), taken=taken, values=telling)

    def place_named(self, label: str) -> Place:
        """Where a step belongs whose scope label somebody else gave."""
        if label == SETUP_SCOPE:
            return Place(None, setup=True)
        name = goal_of(label)
        return Place(next((goal.number for goal in self.goals if goal.label == name), None))

    def _place(self, step: Step, turn: Turn) -> Place:
        if turn.kind == SETUP:
            return Place(None, setup=True)
        if (followed := chains.followed_by(self._parents, step)) is not None:
            return Place(followed)
        goal = self.goal
        if self._after_setup and turn.kind == SAYS and len(turn.text) < 120 and ACKNOWLEDGES.match(turn.text.lower()):
            return Place(None, setup=True)
        if goal is None or self._after_setup:
            return Place(None)
        if step.session and step.session != self._session:
            return Place(self._in_session(step.session, goal.number if turn.kind == RESULT else None))
        if turn.kind == RESULT:
            return Place(self._answered(turn))
        return Place(None if self._opens_goal(turn, goal) else self._goes_on_with(step, turn, goal))

    def _in_session(self, session: str, otherwise: int | None) -> int | None:
        """The last goal of a session that is not that of the last step."""
        return next((goal.number for goal in reversed(self.goals) if goal.session == session), otherwise)

    def _answered(self, turn: Turn) -> int | None:
        for answer in turn.answers:
            waiting = [goal for goal in self.goals if answer in goal.waiting]
            if waiting:
                best = max(waiting, key=lambda goal: (goal.number == self.current, goal.at))
                return best.number
        return self.current

    def _opens_goal(self, turn: Turn, goal: Goal) -> bool:
        if turn.kind == CALLS:
            return False
        if opens_like(turn.text, self._openings):
            return True
        if goal.waiting and goal.last_act != "submit":
            return False
        return self._brings_a_ticket(turn, goal) or self._asks_for_another(turn, goal)

    def _asks_for_another(self, turn: Turn, goal: Goal) -> bool:
        """Whether a user asks for what no goal knows, where the last one stands so that another may come."""
        turned = _TURNS.search(turn.text[:_TURNING_CHARS].lower()) is not None
        if turn.kind != ASKS or not (turn.wants or turned) or NUDGES.match(turn.text.lower()) or turn.closes:
            return False
        known, alike = map(max, zip(*self._shares(turn).values(), strict=True))
        if goal.last == RESULT and goal.steps > 2:
            return known < 0.5 or goal.closed
        if goal.closed:
            return (turned or bool(_ASKS.search(turn.text))) and known < 0.3 and alike < 0.5
        return turned and known < 0.3 and alike < 0.35

    def _brings_a_ticket(self, turn: Turn, goal: Goal) -> bool:
        """Whether a user who was not asked names tickets, orders, issues, of which none was named before."""
        keys = [handle for handle in turn.handles if _KEY.fullmatch(handle)]
        asked = goal.last != RESULT and goal.asks
        return turn.kind == ASKS and bool(keys) and not asked and not any(map(self._df.get, keys))

    def _shares(self, turn: Turn) -> dict[int, tuple[float, float]]:
        """For each goal, which share of the known identifiers and of the words of a turn it knows."""
        compared = sorted(self.goals, key=lambda goal: -goal.at)[:MAX_GOALS_COMPARED]
        return {
            goal.number: (
                self._share(goal, turn.handles, rest=_REST_OF_HANDLES),
                self._share(goal, turn.stems, rest=_REST_OF_STEMS),
            )
            for goal in compared
        }

    def _share(self, goal: Goal, terms: Iterable[str], *, rest: float) -> float:
        count = len(self.goals)
        total = found = 0.0
        for term in terms:
            held = self._df.get(term, 0)
            if not held:
                continue
            weight = log(1 + count / held) - log(2) + 0.05
            total += weight
            if term in goal.terms:
                found += weight
        return found / (total + rest) if total else 0.0

    def _goes_on_with(self, step: Step, turn: Turn, current: Goal) -> int:
        """The goal that fits best: what the step names, who is to speak next, what was last."""
        if len(self.goals) == 1:
            return current.number
        role = step.role.lower()
        if turn.kind == SAYS and role not in self._callers and role not in AGENTS:
            return current.number  # a voice of the surroundings tells of what is going on
        shares = self._shares(turn)
        lacks = shares[current.number][0] < 1 - _PLAIN
        worth = 4.0 if any(map(_TELLING.search, turn.handles)) else 3.0
        scores = dict[int, float]()
        for number, (ids, of_words) in shares.items():
            goal = self.goals[number]
            score = worth * ids + 2.0 * of_words + self._fit(goal, turn, role)
            scores[number] = score + (
                _of_staying(goal, turn) if goal is current else self._of_returning(goal, plainly=lacks and ids > _PLAIN)
            )
        return max(scores, key=scores.__getitem__)

    def _of_returning(self, goal: Goal, *, plainly: bool) -> float:
        """What speaks for a goal that is not the current one, and against it."""
        closed = 0.0 if not goal.closed else 3.0 if goal.last_act == "submit" else 1.5
        return float(plainly) - closed - (0.0 if self._returns else 0.5)

    def _fit(self, goal: Goal, turn: Turn, role: str) -> float:
        """How well a step follows the last one of a goal, whatever they say."""
        if goal.waiting:
            return -1.0 if turn.kind == CALLS else -2.5
        if turn.kind == ASKS:
            return 0.0 if goal.last == SAYS else -1.5
        if goal.last == SAYS:
            return -1.2 if role in goal.roles[-1:] else -0.3
        return 0.0

    def take(self, step: Step, turn: Turn, place: Place, *, label: str) -> Goal | None:
        """Take in that a step belongs where it was placed; return its goal, None for setup."""
        self.active = True
        self._position += 1
        if step.session:
            self._session = step.session
        if place.setup:
            self._after_setup = True
            self._given = list(turn.handles[:_MOST_GIVEN])
            if turn.kind == SETUP and (opening := opening_of(turn.text)):
                self._setups[opening] = self._setups.get(opening, 0) + 1
            return None
        if place.goal is None:
            goal = Goal(len(self.goals), goal_of(label), session=step.session or "")
            opening = opening_of(turn.text)
            if opening and len(turn.text) >= MIN_OPENING_CHARS and turn.kind in (ASKS, SAYS):
                goal.opening = opening
                self._openings[opening] = self._openings.get(opening, 0) + 1
            for handle in self._given if self._after_setup else ():
                goal.terms[handle] = 1
                self._df[handle] = self._df.get(handle, 0) + 1
            self.goals.append(goal)
        else:
            goal = self.goals[place.goal]
            self._returns += goal.number != self.current
        self._after_setup = False
        self.current = goal.number
        if turn.kind == CALLS and not step.tool_calls:
            self._texts_act = True
        self._note(goal, step, turn)
        return goal

    def _note(self, goal: Goal, step: Step, turn: Turn) -> None:
        goal.steps += 1
        goal.at = self._position
        goal.roles = [*goal.roles, step.role.lower()][-2:]
        goal.last = turn.kind
        if turn.kind == CALLS:
            self._note_call(goal, step, turn)
        elif turn.kind == RESULT:
            answered = next((answer for answer in turn.answers if answer in goal.waiting), None)
            if answered is not None:
                goal.waiting.remove(answered)
            else:
                del goal.waiting[:1]
            goal.failed = len(self.goals) > 1 and outcome_of_step(step, act=goal.last_act) in BAD_OUTCOMES
        else:
            goal.waiting = []
            goal.asks = _ASKS.search(turn.text) is not None
            goal.closed = turn.closes or (goal.closed and turn.kind != ASKS)
        chains.note(self._parents, step, goal.number)
        self._note_terms(goal, (*turn.handles, *turn.stems))

    def _note_call(self, goal: Goal, step: Step, turn: Turn) -> None:
        goal.waiting = list(turn.calls)
        if (role := step.role.lower()) not in self._callers:
            self._callers = [*self._callers, role][-64:]
        goal.said = " ".join((step.content or turn.text)[:_SAID_CHARS].split())
        goal.last_act = turn.acts[-1].act if turn.acts else ""
        goal.closed = goal.last_act == "submit"

    def _note_terms(self, goal: Goal, terms: Iterable[str]) -> None:
        for term in terms:
            if term not in goal.terms:
                self._df[term] = self._df.get(term, 0) + 1
            goal.terms[term] = goal.terms.get(term, 0) + 1
        if len(goal.terms) > 2 * MAX_TERMS:
            kept = sorted(goal.terms.items(), key=lambda item: -item[1])[:MAX_TERMS]
            for term in goal.terms.keys() - dict(kept).keys():
                uncount(self._df, term)
            goal.terms = dict(kept)

    def leans_on(self, turn: Turn, step: Step) -> str:
        """What a step of the current goal answers, where it is too short to say so: the words of the call."""
        goal = self.goal
        return goal.said if goal is not None and turn.kind == RESULT and len(step.content) < _SHORT_CHARS else ""

    @property
    def first_title(self) -> str:
        """What the first step states as a task; empty if nothing."""
        return self._first_title

    def adopt(self, label: str) -> None:
        """Take in that the trajectory was about `label` before it turned out to be a run."""
        goal = Goal(0, label, last=ASKS, at=self._position, opening=self._first_opening, steps=self._position)
        goal.session = self._session
        if goal.opening:
            self._openings[goal.opening] = 1
        self.goals.append(goal)
        self.current = 0

    def heard(self, step: Step) -> None:
        """Take in a step that came before anything showed a run."""
        if not self._position:
            text = read_part(step.content)
            self._first_opening = opening_of(text) if len(text) >= MIN_OPENING_CHARS else ""
            self._first_title = goal_title(text) if len(text) > _LONG_STATEMENT_CHARS else ""
        self._position += 1
        self._session = step.session or self._session

    def save(self) -> dict[str, Any]:
        """Everything remembered, as JSON values."""
        return {
            "active": self.active,
            "goals": [asdict(goal) for goal in self.goals],
            "current": self.current,
            "df": self._df,
            "parents": self._parents,
            "openings": self._openings,
            "setups": self._setups,
            "given": self._given,
            "after_setup": self._after_setup,
            "texts_act": self._texts_act,
            "callers": self._callers,
            "session": self._session,
            "first": [self._first_opening, self._first_title],
            "position": self._position,
            "returns": self._returns,
        }

    @classmethod
    def load(cls, data: Mapping[str, Any]) -> RunTracker:
        """Continue from what `save` returned."""
        tracker = cls()
        tracker.active = data["active"]
        tracker.goals = [Goal(**goal) for goal in data["goals"]]
        tracker.current = data["current"]
        tracker._df = dict(data["df"])
        tracker._parents = dict(data["parents"])
        tracker._openings = dict(data["openings"])
        tracker._setups = dict(data["setups"])
        tracker._given = list(data["given"])
        tracker._after_setup = data["after_setup"]
        tracker._texts_act = data["texts_act"]
        tracker._callers = list(data["callers"])
        tracker._session = data["session"]
        tracker._first_opening, tracker._first_title = data["first"]
        tracker._position = data["position"]
        tracker._returns = data["returns"]
        return tracker


def _of_staying(goal: Goal, turn: Turn) -> float:
    """What speaks for the current goal, whatever is said."""
    tries_again = _TRIES_AGAIN if goal.failed and goal.last == RESULT and turn.kind == CALLS else 0.0
    is_answered = 0.8 if goal.last == ASKS and turn.kind != ASKS else 0.0
    return 1.6 + tries_again + is_answered + (1.5 if goal.steps <= 2 else 0.0)
