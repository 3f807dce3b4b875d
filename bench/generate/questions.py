"""Questions of the four types (Appendix A.3, A.7), with gold answers and gold steps taken from the plan.

The families are those of the release. Travel: what was chosen (type 1), a price or rating (type 2), what was discussed
for a slot (type 3), the plan of a day (type 4). Debate: the evidence of a side (type 3) as in the release, and beyond
it what was conceded (type 1), the evidence against one contention (type 2), the evidence of both sides (type 4).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from random import Random
from typing import Any

from stitch.bench.generate.environment import DebateWorld, TravelWorld
from stitch.bench.generate.refinement import alias, counted
from stitch.bench.generate.storyboard import KIND_OF_SLOT, Operation
from stitch.bench.generate.trajectory import GeneratedTrajectory, Question
from stitch.bench.generate.wordings import PLAN

MOST_PER_TYPE = 15
"""At most so many questions of one type on a trajectory, as in the release."""


def ask(trajectory: GeneratedTrajectory, rng: Random) -> tuple[Question, ...]:
    """All questions about a trajectory: of every type at most `MOST_PER_TYPE`, in a fixed order."""
    asker = _Asker(trajectory)
    everything = list(asker.of_trip() if trajectory.domain == "travel" else asker.of_debate())
    kept: list[Question] = []
    for kind in ("type_1", "type_2", "type_3", "type_4"):
        places = [place for place, question in enumerate(everything) if question.type == kind]
        kept += [everything[place] for place in sorted(rng.sample(places, min(len(places), MOST_PER_TYPE)))]
    return tuple(kept)


class _Asker:
    """Asks about a trajectory, and finds the turns that bear the answers."""

    def __init__(self, trajectory: GeneratedTrajectory) -> None:
        self._trajectory, self._asked = trajectory, trajectory.wording.questions
        self._operations = trajectory.storyboard.operations
        self._turns = trajectory.by_operation()
        self._order = {turn.id: place for place, turn in enumerate(trajectory.turns)}
        self._index = {(op.moment, op.role): place for place, op in enumerate(self._operations)}

    def of_trip(self) -> Iterator[Question]:
        """The questions about a trip."""
        board, asked, world = self._trajectory.storyboard, self._asked, self._trajectory.world
        assert isinstance(world, TravelWorld)
        days = range(1, board.days() + 1)
        for number, (day, slot) in enumerate((day, slot) for day in days for slot in KIND_OF_SLOT):
            words = {"day": day, "slot": asked["slots"].get(slot, slot), "kind": KIND_OF_SLOT[slot]}
            decided, proposed = board.decided(day, slot), board.proposed(day, slot)
            chosen = tuple(dict.fromkeys(decided))
            for name, kind, form, items, find in (
                (f"Q2-{slot.upper()}-Day{day}", "type_1", "final", decided[-1:], self._choices),
                (f"Q2-ALL-{slot.upper()}-Day{day}", "type_1", "decided", chosen, self._choices),
                (f"Q4-Day{day}-{slot}", "type_3", "discussed", proposed, self._proposals),
            ):
                text = asked[form][number % len(asked[form])].format(**words)
                yield Question(name, kind, text, items, ", ".join(items), find(day, slot, items))
        for number, op in enumerate(board.by_user("INQUIRE")):
            place = world.place(op.objects[0])
            for attribute in op.asked:
                forms, value = asked["fact"][attribute], place.value(attribute)
                text = forms[number % len(forms)].format(name=place.name)
                name = f"Q3-{attribute[0].upper()}-{place.name}"
                yield Question(name, "type_2", text, (value,), value, self._answers(op, value))
        for day in days:
            finals = {slot: board.decided(day, slot)[-1:] for slot in KIND_OF_SLOT}
            turns = (turn for slot, names in finals.items() for turn in self._choices(day, slot, names))
            items = tuple(f"{PLAN['plan_of_day'][slot]} {name}" for slot, [name] in finals.items())
            text = asked["whole"].format(day=day)
            yield Question(f"Q5-Day{day}", "type_4", text, items, "; ".join(items), self._in_order(turns))

    def of_debate(self) -> Iterator[Question]:
        """The questions about a debate."""
        world, asked = self._trajectory.world, self._asked
        assert isinstance(world, DebateWorld)
        for side in ("pro", "con"):
            for number, (purpose, actions) in enumerate(PLAN["uses"].items(), start=1):
                uses = self._citing(side=side, actions=actions)
                yield from self._evidence(f"D3-{side}-{number}", "type_3", asked["used"][purpose], uses, side=side)
            for contention in world.of_side(side):
                by_content = asked["against_content"] and contention.number % 2 == 0
                words = counted(contention.number) | {"alias": alias(self._trajectory.wording, contention.theme.name)}
                text = asked["against_content" if by_content else "against"]
                uses = self._citing(actions=("attack",), target=contention.id)
                yield from self._evidence(f"D2-{contention.id}", "type_2", text, uses, side=side, **words)
            if given_up := [op for op in self._operations if op.action == "concede" and op.role.startswith(side)]:
                items = tuple(sorted(f"contention {world.contentions[op.target].number}" for op in given_up))
                text, turns = asked["conceded"].format(side=side), self._first_turns(given_up)
                yield Question(f"D1-{side}", "type_1", text, items, _as_list(items), turns)
        yield from self._evidence("D4-both", "type_4", asked["shared"], self._citing_what_both_cite())

    def _citing(
        self, *, side: str = "", actions: tuple[str, ...] = ("attack", "defend"), target: str = ""
    ) -> list[Operation]:
        return [
            op
            for op in self._operations
            if op.action in actions and op.cited and op.role.startswith(side) and target in ("", op.target)
        ]

    def _citing_what_both_cite(self) -> list[Operation]:
        pro, con = ({name for op in self._citing(side=side) for name in op.cited} for side in ("pro", "con"))
        return [op for op in self._citing() if not pro.isdisjoint(con.intersection(op.cited))]

    def _evidence(self, name: str, kind: str, text: str, uses: list[Operation], **words: Any) -> Iterator[Question]:
        world = self._trajectory.world
        assert isinstance(world, DebateWorld)
        if uses:
            items = tuple(sorted({world.evidence[found].citation for op in uses for found in op.cited}))
            yield Question(name, kind, text.format(**words), items, _as_list(items), self._first_turns(uses))

    def _in_order(self, turns: Iterable[str]) -> tuple[str, ...]:
        """The turns once each, in the order in which they were said."""
        return tuple(sorted(set(turns), key=self._order.__getitem__))

    def _first_turns(self, operations: Iterable[Operation]) -> tuple[str, ...]:
        """The turn with which each operation begins."""
        return self._in_order(self._turns[self._index[op.moment, op.role]][0].id for op in operations)

    def _proposals(self, day: int, slot: str, names: tuple[str, ...]) -> tuple[str, ...]:
        """For each name the user's proposal for this slot."""
        return self._first_turns(self._last_each("PROPOSE", day, slot, names))

    def _choices(self, day: int, slot: str, names: tuple[str, ...]) -> tuple[str, ...]:
        """For each name the user's proposal, which names it, and the user's last decision, which chooses it."""
        decisions = self._first_turns(self._last_each("DECIDE", day, slot, names))
        return self._in_order((*self._proposals(day, slot, names), *decisions))

    def _last_each(self, action: str, day: int, slot: str, names: tuple[str, ...]) -> list[Operation]:
        own = self._trajectory.storyboard.by_user(action)
        found = {op.objects[0]: op for op in own if (op.day, op.slot) == (day, slot)}
        return [found[name] for name in names]

    def _answers(self, question: Operation, value: str) -> tuple[str, ...]:
        """The user's question, and the turn of the answer that states the value."""
        asked = self._index[question.moment, question.role]
        told = (turn.id for turn in self._turns[asked + 1] if value in turn.text)
        return self._in_order((self._turns[asked][0].id, *told))


def _as_list(items: tuple[str, ...]) -> str:
    """The release's form for debates: a JSON list in a string, with one string in it."""
    return json.dumps(["; ".join(items)])
