"""Phase 2 of CAME-Bench (Appendix A.1, A.2): what happens, as symbols, before a word of it is written.

An operation says who does what, about which things, in which scope. The pragmatic constraints hold by construction.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from random import Random
from typing import NamedTuple

from stitch.bench.generate.environment import DebateWorld, TravelWorld

KIND_OF_SLOT = {
    "accommodation": "hotel",
    "breakfast": "restaurant",
    "lunch": "restaurant",
    "dinner": "restaurant",
    "attraction": "attraction",
}
"""The slots of a day, in the order of a plan, with the kind of place that fills each."""

ATTRIBUTES = ("price", "rating")

OPERATIONS_PER_VISIT = 9
"""After about so many operations another day is turned to, as in the authors' example (53 operations, 6 visits)."""

_SHARES = {"PROPOSE": 0.34, "DECIDE": 0.21, "COMPARE": 0.06}
"""Of the operations of a slot; the rest are INQUIRE, and COMPARE once everything was asked."""

_MOVES = {"attack": 0.42, "defend": 0.31, "background_supply": 0.19, "concede": 0.08}
_MOST_CONCESSIONS = 2


class Operation(NamedTuple):
    """One operation op_t: a role, a latent goal (action, scope, slot) and a payload (objects and what is asked)."""

    moment: int
    """Operations of one moment are one exchange: they share their time."""
    role: str
    action: str
    objects: tuple[str, ...] = ()
    """Names of places; in a debate ids of contentions or of one piece of evidence."""
    day: int = 0
    """From 1; 0 in a debate."""
    slot: str = ""
    asked: tuple[str, ...] = ()
    """The attributes that are asked for, or told."""
    target: str = ""
    """The contention an argument is about, which its evidence only serves."""

    @property
    def cited(self) -> tuple[str, ...]:
        """The evidence that is used: to attack or to defend. Background rests on evidence too, but does not cite it."""
        uses = self.action in ("attack", "defend") and self.objects != (self.target,)
        return self.objects if uses else ()


class Storyboard(NamedTuple):
    """The symbolic trajectory T_sym."""

    operations: tuple[Operation, ...]

    def proposed(self, day: int, slot: str) -> tuple[str, ...]:
        """What was proposed for a slot, in order: what the ordinals count."""
        return tuple(op.objects[0] for op in self.by_user("PROPOSE") if (op.day, op.slot) == (day, slot))

    def decided(self, day: int, slot: str) -> tuple[str, ...]:
        """What was decided for a slot, in order, later revised or not; the last holds."""
        return tuple(op.objects[0] for op in self.by_user("DECIDE") if (op.day, op.slot) == (day, slot))

    def by_user(self, action: str) -> Iterator[Operation]:
        """The user's operations of one action, in order."""
        return (op for op in self.operations if op.role == "user" and op.action == action)

    def days(self) -> int:
        """How many days are planned."""
        return max((op.day for op in self.operations), default=0)


def _move(action: str, *objects: str, asked: tuple[str, ...] = ()) -> Operation:
    """A planned exchange of a slot, of no moment yet."""
    return Operation(0, "user", action, objects, asked=asked)


def plan_trip(world: TravelWorld, rng: Random, *, days: int, exchanges: int) -> Storyboard:
    """Plan a trip: every slot of every day is filled in the end, days are left and resumed.

    A place comes back for other days and meals. Each attribute of a place is asked at most once on the whole trip, so
    that an answer has one place to be found. `exchanges` are operations of the user, changes of day included; at least
    two a slot.
    """
    visits = max(2 * days, round(exchanges / OPERATIONS_PER_VISIT))
    size = max(2.0, (exchanges - visits) / (days * len(KIND_OF_SLOT)))
    pools = _pools(world, rng, proposals=round(size * _SHARES["PROPOSE"]) + 1, days=days)
    asked: set[tuple[str, str]] = set()
    waiting = {
        day: _interleave(rng, {slot: _plan_slot(rng, pools[slot], size=size, asked=asked) for slot in KIND_OF_SLOT})
        for day in range(1, days + 1)
    }
    operations: list[Operation] = []
    for day, moves in _take_turns(rng, waiting, visits=visits):
        for slot, move in [("", _move("SET_DAY")), *moves]:
            said = move._replace(moment=len(operations) // 2, day=day, slot=slot)
            operations += [said, said._replace(role="travel_agent")]
    return Storyboard(tuple(operations))


def _pools(world: TravelWorld, rng: Random, *, proposals: int, days: int) -> dict[str, tuple[str, ...]]:
    """Per slot the places to propose: few enough that each returns under several days and meals."""
    pools = {}
    for kind, places in world.places.items():
        slots = [slot for slot, wanted in KIND_OF_SLOT.items() if wanted == kind]
        wished = max(proposals + 1, round(proposals * len(slots) * days / 2.5))
        chosen = tuple(place.name for place in rng.sample(places, min(wished, len(places))))
        pools.update(dict.fromkeys(slots, chosen))
    return pools


def _plan_slot(rng: Random, pool: tuple[str, ...], *, size: float, asked: set[tuple[str, str]]) -> list[Operation]:
    total = max(2, int(size) + (rng.random() < size % 1))
    proposals = min(len(pool), max(1, round(total * _SHARES["PROPOSE"] + rng.uniform(-0.5, 0.5))))
    names = rng.sample(pool, proposals)
    decisions = max(1, min(proposals, round(total * _SHARES["DECIDE"] + rng.uniform(-0.4, 0.4))))
    compares = round(total * _SHARES["COMPARE"] + rng.uniform(-0.3, 0.5)) if proposals > 1 else 0
    moves = [_move("PROPOSE", names[0])]
    rest = ["PROPOSE"] * (proposals - 1) + ["DECIDE"] * (decisions - 1) + ["COMPARE"] * compares
    rest += ["INQUIRE"] * max(0, total - 1 - len(rest) - 1)
    rng.shuffle(rest)
    known, chosen = 1, ""
    while rest:
        action = next((wish for wish in rest if wish != "COMPARE" or known > 1), "PROPOSE")
        rest.remove(action)
        if action == "PROPOSE":
            known += 1
            moves.append(_move(action, names[known - 1]))
        elif action == "COMPARE":
            moves.append(_move(action, *rng.sample(names[:known], 2)))
        elif action == "INQUIRE":
            moves += _inquire(rng, names[:known], asked)
        elif options := [name for name in names[:known] if name != chosen]:
            chosen = rng.choice(options)
            moves.append(_move(action, chosen))
    final = rng.choice([name for name in names if name != chosen] or names)
    return [*moves, _move("DECIDE", final)]


def _inquire(rng: Random, names: list[str], asked: set[tuple[str, str]]) -> Iterator[Operation]:
    """Ask for something that was not asked yet, about any of the names; if all is known, compare two of them."""
    open_questions = {name: tuple(wish for wish in ATTRIBUTES if (name, wish) not in asked) for name in names}
    if candidates := [name for name in names if open_questions[name]]:
        name = rng.choice(candidates)
        wishes = open_questions[name]
        if len(wishes) > 1 and rng.random() < 0.7:
            wishes = (rng.choice(wishes),)
        asked.update((name, wish) for wish in wishes)
        yield _move("INQUIRE", name, asked=wishes)
    elif len(names) > 1:
        yield _move("COMPARE", *rng.sample(names, 2))


def _interleave(rng: Random, scripts: dict[str, list[Operation]]) -> list[tuple[str, Operation]]:
    """Merge the scripts of the slots at random; each keeps its order."""
    left = {slot: iter(moves) for slot, moves in scripts.items()}
    deck = [slot for slot, moves in scripts.items() for _ in moves]
    rng.shuffle(deck)
    return [(slot, next(left[slot])) for slot in deck]


def _take_turns(
    rng: Random, waiting: dict[int, list[tuple[str, Operation]]], *, visits: int
) -> Iterator[tuple[int, list[tuple[str, Operation]]]]:
    """Cut the work on each day into visits of unequal length, and go round the days; no day follows itself.

    A single day is planned in one visit.
    """
    rounds = max(2, round(visits / len(waiting))) if len(waiting) > 1 else 1
    pieces = {}
    for day, moves in waiting.items():
        cuts = [0, *sorted(rng.sample(range(1, len(moves)), rounds - 1)), len(moves)]
        pieces[day] = [moves[start:end] for start, end in itertools.pairwise(cuts)]
    last = 0
    for number in range(rounds):
        order = rng.sample(sorted(pieces), len(pieces)) if number else sorted(pieces)
        if order[0] == last:
            order.append(order.pop(0))
        for day in order:
            yield day, pieces[day][number]
            last = day


def plan_debate(world: DebateWorld, rng: Random, *, turns: int, citations: int) -> Storyboard:
    """Plan a debate: both sides propose, then argue by turns, and sum up at the very end.

    Each side cites about `citations` pieces of evidence to attack and as many to defend, every one once for either
    purpose; the same piece may serve the other purpose and the other side. A contention is conceded only after it was
    attacked and defended, and is left alone from then on.
    """
    planner = _DebatePlanner(world, rng, citations=citations)
    operations = [
        Operation(moment, _role(contention.side), "propose", (name,), target=name)
        for moment, (name, contention) in enumerate(world.contentions.items())
    ]
    middle = max(0, turns - len(operations) - 2)
    for number in range(middle):
        operations.append(planner.move(len(operations), left=middle - number))
    for side in ("pro", "con"):
        summed_up = tuple(contention.id for contention in world.of_side(side))
        operations.append(Operation(len(operations), _role(side), "summarize", summed_up))
    return Storyboard(tuple(operations))


def _role(side: str) -> str:
    return f"{side}-side-debater"


class _DebatePlanner:
    """Samples moves under the rules of A.2.2 and spreads the citations evenly over them."""

    def __init__(self, world: DebateWorld, rng: Random, *, citations: int) -> None:
        self._world, self._rng = world, rng
        self._done: set[tuple[str, str]] = set()
        """Pairs of an action and a contention."""
        self._side = "con"
        # From a common pool, so that the same piece is used by both sides and for both purposes.
        pool = rng.sample(sorted(world.evidence), min(3 * citations, len(world.evidence)))
        self._evidence = {
            (side, action): rng.sample(pool, min(citations, len(pool)))
            for side in ("pro", "con")
            for action in ("attack", "defend")
        }

    def move(self, moment: int, *, left: int) -> Operation:
        """The next operation, with `left` to come, this one included."""
        rng = self._rng
        self._side = rng.choices(("pro", "con"), (0.25, 0.75) if self._side == "pro" else (0.75, 0.25))[0]
        action = rng.choices(list(_MOVES), list(_MOVES.values()))[0]
        targets = self._targets(action)
        if not targets:
            action, targets = "background_supply", self._targets("background_supply")
        target = rng.choice(targets)
        self._done.add((action, target))
        objects: tuple[str, ...] = (target,)
        if action == "background_supply":
            objects = (rng.choice(sorted(self._world.evidence)),)
        elif self._cites(action, left=left):
            objects = (self._take(action, target),)
        return Operation(moment, _role(self._side), action, objects, target=target)

    def _cites(self, action: str, *, left: int) -> bool:
        """Whether to use a piece of evidence now: as likely as it must be for all to be used up at the end."""
        stack = self._evidence.get((self._side, action), [])
        return self._rng.random() < len(stack) / max(1.0, left * _MOVES[action] / 2)

    def _take(self, action: str, target: str) -> str:
        """A piece of evidence to cite, of the contention's own theme if there is one; it is not used so again."""
        stack, theme = self._evidence[self._side, action], self._world.contentions[target].theme
        fitting = [name for name in stack if self._world.evidence[name].theme == theme]
        name = fitting[-1] if fitting else stack[-1]
        stack.remove(name)
        return name

    def _targets(self, action: str) -> list[str]:
        """The contentions that the side may attack, defend, concede or give background to now."""
        own = [contention.id for contention in self._world.of_side(self._side)]
        others = [name for name in self._world.contentions if name not in own]
        candidates = others if action == "attack" else own
        conceded = [name for name in own if ("concede", name) in self._done]
        if action == "concede":
            if len(conceded) >= _MOST_CONCESSIONS:
                return []
            candidates = [name for name in own if {("attack", name), ("defend", name)} <= self._done]
        return [name for name in candidates if ("concede", name) not in self._done]
