"""Questions of the four types (Appendix A.3, A.7), with gold answers and gold steps taken from the plan.

The families are those of the release. Travel: what was chosen (type 1), a price or rating (type 2), what was discussed
for a slot (type 3), the plan of a day (type 4). Debate: the evidence of a side (type 3) as in the release, and beyond
it what was conceded (type 1), the evidence against one contention (type 2), the evidence of both sides (type 4).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from functools import partial
from random import Random

from stitch.bench.generate.environment import DebateWorld, TravelWorld
from stitch.bench.generate.storyboard import KIND_OF_SLOT, Operation
from stitch.bench.generate.trajectory import GeneratedTrajectory, Question

MOST_PER_TYPE = 15
"""At most so many questions of one type on a trajectory, as in the release."""

_PLAN = {
    "accommodation": "Stay at",
    "breakfast": "Breakfast at",
    "lunch": "Lunch at",
    "dinner": "Dinner at",
    "attraction": "Visit",
}
"""How a plan names what fills a slot: the protocol's own format, which judges take apart."""

_USED = {
    "use in the debate": ("attack", "defend"),
    "use against its opponent": ("attack",),
    "use to back its own position": ("defend",),
}
_ORDINALS = ("first", "second", "third", "fourth", "fifth")
_CARDINALS = ("one", "two", "three", "four", "five")


def ask(trajectory: GeneratedTrajectory, rng: Random) -> tuple[Question, ...]:
    """All questions about a trajectory: of every type at most `MOST_PER_TYPE`, in a fixed order."""
    everything = list(_ask_travel(trajectory) if trajectory.domain == "travel" else _ask_debate(trajectory))
    kept: list[Question] = []
    for kind in ("type_1", "type_2", "type_3", "type_4"):
        places = [place for place, question in enumerate(everything) if question.type == kind]
        kept += [everything[place] for place in sorted(rng.sample(places, min(len(places), MOST_PER_TYPE)))]
    return tuple(kept)


def _ask_travel(trajectory: GeneratedTrajectory) -> Iterator[Question]:
    board, asked = trajectory.storyboard, trajectory.wording.questions
    finder = _Finder(trajectory)
    slots = [(day, slot) for day in range(1, board.days() + 1) for slot in KIND_OF_SLOT]
    for number, (day, slot) in enumerate(slots):
        words = {"day": day, "slot": asked.slots.get(slot, slot), "kind": KIND_OF_SLOT[slot]}
        decided = board.decided(day, slot)
        chosen = tuple(dict.fromkeys(decided))
        text = asked.final[number % len(asked.final)].format(**words)
        yield _travel_question(
            f"Q2-{slot.upper()}-Day{day}", "type_1", text, decided[-1:], finder.choices(day, slot, decided[-1:])
        )
        text = asked.decided[number % len(asked.decided)].format(**words)
        yield _travel_question(
            f"Q2-ALL-{slot.upper()}-Day{day}", "type_1", text, chosen, finder.choices(day, slot, chosen)
        )
        proposed = board.proposed(day, slot)
        text = asked.discussed[number % len(asked.discussed)].format(**words)
        yield _travel_question(f"Q4-Day{day}-{slot}", "type_3", text, proposed, finder.proposals(day, slot, proposed))
    world = trajectory.world
    assert isinstance(world, TravelWorld)
    for number, op in enumerate(board.by_user("INQUIRE")):
        place = world.place(op.objects[0])
        for attribute in op.asked:
            forms = asked.fact[attribute]
            text = forms[number % len(forms)].format(name=place.name)
            value = place.value(attribute)
            turns = finder.answers(op, value)
            yield _travel_question(f"Q3-{attribute[0].upper()}-{place.name}", "type_2", text, (value,), turns)
    for day in range(1, board.days() + 1):
        finals = {slot: board.decided(day, slot)[-1] for slot in KIND_OF_SLOT}
        turns = tuple(turn for slot, name in finals.items() for turn in finder.choices(day, slot, (name,)))
        items = tuple(f"{_PLAN[slot]} {name}" for slot, name in finals.items())
        yield Question(
            f"Q5-Day{day}", "type_4", asked.whole.format(day=day), items, "; ".join(items), finder.in_order(turns)
        )


def _travel_question(name: str, kind: str, text: str, items: tuple[str, ...], turns: tuple[str, ...]) -> Question:
    return Question(name, kind, text, items, ", ".join(items), turns)


def _cited(
    trajectory: GeneratedTrajectory,
    *,
    side: str = "",
    actions: tuple[str, ...] = ("attack", "defend"),
    target: str = "",
) -> list[Operation]:
    return [
        op
        for op in trajectory.storyboard.operations
        if op.action in actions and op.cited and op.role.startswith(side) and target in ("", op.target)
    ]


def _shared(trajectory: GeneratedTrajectory) -> list[Operation]:
    """The operations that cite what both sides cite."""
    pro, con = ({name for op in _cited(trajectory, side=side) for name in op.cited} for side in ("pro", "con"))
    return [op for op in _cited(trajectory) if not pro.isdisjoint(con.intersection(op.cited))]


def _ask_debate(trajectory: GeneratedTrajectory) -> Iterator[Question]:
    world, finder = trajectory.world, _Finder(trajectory)
    asked, aliases = trajectory.wording.questions, trajectory.wording.debate.aliases
    assert isinstance(world, DebateWorld)
    ops, cited = trajectory.storyboard.operations, partial(_cited, trajectory)
    for side in ("pro", "con"):
        for number, (purpose, actions) in enumerate(_USED.items(), start=1):
            uses = cited(side=side, actions=actions)
            text = asked.used[purpose].format(side=side)
            yield from _debate_question(f"D3-{side}-{number}", "type_3", text, world, uses, finder)
        for contention in world.of_side(side):
            by_content = asked.against_content and contention.number % 2 == 0
            text = (asked.against_content if by_content else asked.against).format(
                side=side,
                ordinal=_ORDINALS[contention.number - 1],
                cardinal=_CARDINALS[contention.number - 1],
                number=contention.number,
                alias=aliases.get(contention.theme.name, ""),
            )
            uses = cited(actions=("attack",), target=contention.id)
            yield from _debate_question(f"D2-{contention.id}", "type_2", text, world, uses, finder)
        if given_up := [op for op in ops if op.action == "concede" and op.role.startswith(side)]:
            items = tuple(sorted(f"contention {world.contentions[op.target].number}" for op in given_up))
            yield Question(
                f"D1-{side}",
                "type_1",
                asked.conceded.format(side=side),
                items,
                _as_list(items),
                finder.first_turns(given_up),
            )
    yield from _debate_question("D4-both", "type_4", asked.shared, world, _shared(trajectory), finder)


def _debate_question(
    name: str, kind: str, text: str, world: DebateWorld, uses: list[Operation], finder: _Finder
) -> Iterator[Question]:
    if uses:
        items = tuple(sorted({world.evidence[found].citation for op in uses for found in op.cited}))
        yield Question(name, kind, text, items, _as_list(items), finder.first_turns(uses))


def _as_list(items: tuple[str, ...]) -> str:
    """The release's form for debates: a JSON list in a string, with one string in it."""
    return json.dumps(["; ".join(items)])


class _Finder:
    """Finds the turns that bear an answer."""

    def __init__(self, trajectory: GeneratedTrajectory) -> None:
        self._operations = trajectory.storyboard.operations
        self._turns = trajectory.by_operation()
        self._order = {turn.id: place for place, turn in enumerate(trajectory.turns)}
        self._index = {(op.moment, op.role): place for place, op in enumerate(self._operations)}

    def in_order(self, turns: Iterable[str]) -> tuple[str, ...]:
        """The turns once each, in the order in which they were said."""
        return tuple(sorted(set(turns), key=self._order.__getitem__))

    def first_turns(self, operations: Iterable[Operation]) -> tuple[str, ...]:
        """The turn with which each operation begins."""
        return self.in_order(self._turns[self._index[op.moment, op.role]][0].id for op in operations)

    def proposals(self, day: int, slot: str, names: tuple[str, ...]) -> tuple[str, ...]:
        """For each name the user's proposal for this slot."""
        return self.first_turns(self._last_each("PROPOSE", day, slot, names))

    def choices(self, day: int, slot: str, names: tuple[str, ...]) -> tuple[str, ...]:
        """For each name the user's proposal, which names it, and the user's last decision, which chooses it."""
        decisions = self.first_turns(self._last_each("DECIDE", day, slot, names))
        return self.in_order((*self.proposals(day, slot, names), *decisions))

    def _last_each(self, action: str, day: int, slot: str, names: tuple[str, ...]) -> list[Operation]:
        found = {
            op.objects[0]: op
            for op in self._operations
            if (op.role, op.action, op.day, op.slot) == ("user", action, day, slot)
        }
        return [found[name] for name in names]

    def answers(self, question: Operation, value: str) -> tuple[str, ...]:
        """The user's question, and the turn of the answer that states the value."""
        asked = self._index[question.moment, question.role]
        told = (turn.id for turn in self._turns[asked + 1] if value in turn.text)
        return self.in_order((self._turns[asked][0].id, *told))
