"""Phase 2 of CAME-Bench (Appendix A.1, A.2): what happens, as symbols, before a word of it is written.

An operation says who does what, about which things, in which scope. The pragmatic constraints hold by construction.
"""

from __future__ import annotations

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

OPERATIONS_PER_VISIT = 9
"""After about so many operations another day is turned to, as in the authors' example (53 operations, 6 visits)."""

_SHARES = {"PROPOSE": 0.34, "DECIDE": 0.21, "COMPARE": 0.06}
"""Of the operations of a slot; the rest are INQUIRE, and COMPARE once everything was asked."""
_MOVES = {"attack": 0.42, "defend": 0.31, "background_supply": 0.19, "concede": 0.08}
_MOST_CONCESSIONS = 2
_SAME_SIDE = 0.25
"""How often a side speaks twice."""


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

    def objects(self, action: str, *, day: int, slot: str) -> tuple[str, ...]:
        """Proposals or decisions for a slot, in order, later revised or not; the last decision holds."""
        return tuple(op.objects[0] for op in self.by_user(action) if (op.day, op.slot) == (day, slot))

    def by_user(self, action: str) -> Iterator[Operation]:
        """The user's operations of one action, in order."""
        return (op for op in self.operations if op.role == "user" and op.action == action)

    def days(self) -> int:
        """Number of days that are planned."""
        return max((op.day for op in self.operations), default=0)


def plan_trip(world: TravelWorld, rng: Random, *, days: int, exchanges: int) -> Storyboard:
    """Plan a trip: every slot of every day is filled in the end, days are left and resumed.

    A place comes back for other days and meals. Each attribute of a place is asked at most once on the whole trip, so
    that an answer has one place to be found. `exchanges` are operations of the user, changes of day included; at least
    two a slot.
    """
    rounds = max(2, round(exchanges / OPERATIONS_PER_VISIT / days)) if days > 1 else 1
    size = max(2.0, (exchanges - rounds * days) / (days * len(KIND_OF_SLOT)))
    pools = _pools(world, rng, proposals=round(size * _SHARES["PROPOSE"]) + 1, days=days)
    unasked = {(name, wish) for pool in pools.values() for name in pool for wish in ("price", "rating")}
    waiting = {
        day: _interleaved([_plan_slot(rng, slot, pools[slot], size=size, unasked=unasked) for slot in pools], rng)
        for day in range(1, days + 1)
    }
    operations: list[Operation] = []
    for number in range(rounds):
        for day, moves in waiting.items():
            taken = moves if number == rounds - 1 else moves[: len(moves) // (rounds - number)]
            waiting[day] = moves[len(taken) :]
            for move in [_move("SET_DAY"), *taken]:
                said = move._replace(moment=len(operations) // 2, day=day)
                operations += [said, said._replace(role="travel_agent")]
    return Storyboard(tuple(operations))


def _move(action: str, *objects: str, slot: str = "", asked: tuple[str, ...] = ()) -> Operation:
    """A planned exchange, of no moment or day yet."""
    return Operation(0, "user", action, objects, slot=slot, asked=asked)


def _pools(world: TravelWorld, rng: Random, *, proposals: int, days: int) -> dict[str, tuple[str, ...]]:
    """Per slot the places to propose: few enough that each returns under several days and meals."""
    pools = {}
    for kind, places in world.places.items():
        slots = [slot for slot, wanted in KIND_OF_SLOT.items() if wanted == kind]
        wished = max(proposals + 1, round(proposals * len(slots) * days / 2.5))
        chosen = tuple(place.name for place in rng.sample(places, min(wished, len(places))))
        pools.update(dict.fromkeys(slots, chosen))
    return pools


def _plan_slot(
    rng: Random, slot: str, pool: tuple[str, ...], *, size: float, unasked: set[tuple[str, str]]
) -> list[Operation]:
    """The exchanges about a slot: proposals, questions and comparisons in any order, a decision at the end."""
    total = max(2, int(size) + (rng.random() < size % 1))
    names = rng.sample(pool, min(len(pool), max(1, round(total * _SHARES["PROPOSE"]))))
    decisions, compares = round(total * _SHARES["DECIDE"]), round(total * _SHARES["COMPARE"])
    rest = ["PROPOSE"] * (len(names) - 1) + ["DECIDE"] * min(decisions, len(names) - 1) + ["COMPARE"] * compares
    rest += ["INQUIRE"] * max(0, total - 2 - len(rest))
    rng.shuffle(rest)
    moves, known, chosen = [_move("PROPOSE", names[0], slot=slot)], names[:1], ""
    for action in rest:
        if action == "PROPOSE":
            known.append(names[len(known)])
            moves.append(_move(action, known[-1], slot=slot))
        elif action == "DECIDE":
            chosen = rng.choice([name for name in known if name != chosen] or known)
            moves.append(_move(action, chosen, slot=slot))
        elif action == "INQUIRE" and (wishes := _wishes(rng, known, unasked)):
            moves.append(_move(action, wishes[0][0], slot=slot, asked=tuple(wish for _, wish in wishes)))
        elif len(known) > 1:
            moves.append(_move("COMPARE", *rng.sample(known, 2), slot=slot))
    return [*moves, _move("DECIDE", rng.choice([name for name in known if name != chosen] or known), slot=slot)]


def _wishes(rng: Random, known: list[str], unasked: set[tuple[str, str]]) -> list[tuple[str, str]]:
    """One or both of the attributes of a place that were not asked yet; none if all are known."""
    found = sorted(each for each in unasked if each[0] in known)
    if found:
        chosen = rng.choice(found)
        found = [each for each in found if each == chosen or (each[0] == chosen[0] and rng.random() < 0.3)]
        unasked.difference_update(found)
    return found


def _interleaved(scripts: list[list[Operation]], rng: Random) -> list[Operation]:
    """The exchanges of several scripts, mixed at random; each keeps its order."""
    left = [iter(moves) for moves in scripts]
    deck = [number for number, moves in enumerate(scripts) for _ in moves]
    rng.shuffle(deck)
    return [next(left[number]) for number in deck]


def plan_debate(world: DebateWorld, rng: Random, *, turns: int, citations: int) -> Storyboard:
    """Plan a debate: both sides propose, then argue by turns, and sum up at the very end.

    Each side cites about `citations` pieces of evidence to attack and as many to defend, every one once for either
    purpose; the same piece may serve the other purpose and the other side. A contention is conceded only after it was
    attacked and defended, and is left alone from then on.
    """
    pool = rng.sample(sorted(world.evidence), min(3 * citations, len(world.evidence)))
    uses = [(side, action) for side in ("pro", "con") for action in ("attack", "defend")]
    stacks = {use: rng.sample(pool, min(citations, len(pool))) for use in uses}
    operations = [
        Operation(moment, _role(contention.side), "propose", (name,), target=name)
        for moment, (name, contention) in enumerate(world.contentions.items())
    ]
    done: set[tuple[str, str]] = set()
    """Pairs of an action and a contention."""
    side, middle = "con", max(0, turns - len(operations) - 2)
    for left in range(middle, 0, -1):
        side = side if rng.random() < _SAME_SIDE else {"pro": "con", "con": "pro"}[side]
        action = rng.choices(list(_MOVES), list(_MOVES.values()))[0]
        if not _targets(world, action, side=side, done=done):
            action = "background_supply"
        target = rng.choice(_targets(world, action, side=side, done=done))
        done.add((action, target))
        objects: tuple[str, ...] = (target,)
        stack = stacks.get((side, action), [])
        if action == "background_supply":
            objects = (rng.choice(sorted(world.evidence)),)
        elif rng.random() < len(stack) / max(1.0, left * _MOVES[action] / 2):  # so that all are used up at the end
            theme = world.contentions[target].theme
            cited = next((name for name in stack if world.evidence[name].theme == theme), stack[-1])
            stack.remove(cited)
            objects = (cited,)
        operations.append(Operation(len(operations), _role(side), action, objects, target=target))
    for side in ("pro", "con"):
        summed_up = tuple(contention.id for contention in world.of_side(side))
        operations.append(Operation(len(operations), _role(side), "summarize", summed_up))
    return Storyboard(tuple(operations))


def _role(side: str) -> str:
    return f"{side}-side-debater"


def _targets(world: DebateWorld, action: str, *, side: str, done: set[tuple[str, str]]) -> list[str]:
    """The contentions that a side may attack, defend, concede or give background to now."""
    own = [contention.id for contention in world.of_side(side)]
    found = [name for name in world.contentions if name not in own] if action == "attack" else own
    if action == "concede":
        given_up = sum(("concede", name) in done for name in own) >= _MOST_CONCESSIONS
        found = [] if given_up else [name for name in own if {("attack", name), ("defend", name)} <= done]
    return [name for name in found if ("concede", name) not in done]
