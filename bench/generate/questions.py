"""Questions of the four types (Appendix A.3, A.7), with gold answers and gold steps taken from the plan.

The families are those of the release. Travel: what was chosen (type 1), a price or rating (type 2), what was discussed
for a slot (type 3), the plan of a day (type 4). Debate: the evidence of a side (type 3).
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from stitch.bench.generate.environment import PLAIN, PLAN, DebateWorld, TravelWorld, Wording
from stitch.bench.generate.refinement import Mention
from stitch.bench.generate.storyboard import KIND_OF_SLOT, Operation, Storyboard
from stitch.errors import InputError
from stitch.retrieve.context.budget import PieceCounter

TASKS = {"travel": "travel_planning", "debate": "debate"}
ANSWER_TYPES = {"travel": "ANSWER_TYPE_FREEFORM", "debate": "ANSWER_TYPE_FREEFORM_DEBATE"}


class Turn(NamedTuple):
    """One turn as it is said, with the operation that it belongs to."""

    id: str
    role: str
    text: str
    stamp: str
    operation: int
    """Its index in the storyboard."""
    mentions: tuple[Mention, ...] = ()
    """Those of the whole operation."""

    @property
    def content(self) -> str:
        """The text with its time at the end, as the release has it."""
        return f"{self.text} ----TIMESTAMP: {self.stamp}"


class Question(NamedTuple):
    """A question with its gold."""

    id: str
    type: str
    """`type_1` (what became of it), `type_2` (a fact), `type_3` (several steps), `type_4` (a whole)."""
    text: str
    items: tuple[str, ...]
    """The gold answer, item by item."""
    answer: str
    """The gold answer as the release writes it."""
    turns: tuple[str, ...]
    """Ids of the turns that bear the answer, in order."""


class GeneratedTrajectory(NamedTuple):
    """A trajectory with everything it was made from."""

    id: str
    domain: str
    world: TravelWorld | DebateWorld
    storyboard: Storyboard
    turns: tuple[Turn, ...]
    questions: tuple[Question, ...] = ()
    written: int = 0
    """How many operations are in the words of a writer, not of the templates."""
    wording: Wording = PLAIN

    def by_operation(self) -> dict[int, tuple[Turn, ...]]:
        """All turns, by the operation they say."""
        turns: dict[int, list[Turn]] = {}
        for turn in self.turns:
            turns.setdefault(turn.operation, []).append(turn)
        return {operation: tuple(said) for operation, said in turns.items()}


def require_free(folder: Path) -> None:
    """Make sure that no benchmark would be overwritten.

    Raises:
        InputError: The folder holds one.
    """
    if (folder / "benchmark_meta.json").exists():
        raise InputError(f"{str(folder)!r} already holds a benchmark", hint="name another folder with --out")


def write_release(trajectories: Sequence[GeneratedTrajectory], folder: Path, *, manifest: Mapping[str, Any]) -> None:
    """Write the decoded layout: `benchmark_meta.json`, then `traj-N/turns.jsonl` and `traj-N/questions.jsonl`.

    `generation.json` beside them says how it was made; no reader of the release looks at it.

    Raises:
        InputError: The folder holds a benchmark already, or cannot be written.
    """
    require_free(folder)
    meta = [{"id": f"traj-{number}", "task": TASKS[it.domain]} for number, it in enumerate(trajectories)]
    try:
        for number, made in enumerate(trajectories):
            part = folder / f"traj-{number}"
            part.mkdir(parents=True, exist_ok=True)
            for name, records in _records(made).items():
                lines = "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records)
                (part / f"{name}.jsonl").write_text(lines, encoding="utf-8")
        # The meta file last: it says that all is there.
        for name, told in (("generation", manifest), ("benchmark_meta", meta)):
            (folder / f"{name}.json").write_text(json.dumps(told, indent=2) + "\n", encoding="utf-8")
    except OSError as error:
        raise InputError(
            f"cannot write {str(folder)!r}: {error.strerror}", hint="choose a folder with --out"
        ) from error


def _records(made: GeneratedTrajectory) -> dict[str, list[dict[str, Any]]]:
    """The lines of `turns.jsonl` and `questions.jsonl`."""
    ops = [made.storyboard.operations[turn.operation] for turn in made.turns]
    turns = [
        {
            "id": turn.id, "role": turn.role, "content": turn.content,
            "partition": [made.id, *([f"day-{op.day}"] if op.day else [])], "action": op.action,
            "action_object": ", ".join(op.objects),
        }
        for turn, op in zip(made.turns, ops, strict=True)
    ]  # fmt: skip
    questions = [
        {
            "id": each.id, "type": each.type, "content": each.text, "answer": {"free_form_answer": each.answer},
            "question_turn_ids": [turn.id for turn in made.turns], "answer_turn_ids": list(each.turns),
            "answer_type": ANSWER_TYPES[made.domain],
        }
        for each in made.questions
    ]  # fmt: skip
    return {"turns": turns, "questions": questions}


def statistics(trajectory: GeneratedTrajectory) -> dict[str, Any]:
    """Turns, operations, tokens and questions."""
    counter = PieceCounter()
    types = Counter(question.type for question in trajectory.questions)
    return {
        "turns": len(trajectory.turns),
        "operations": len({op.moment for op in trajectory.storyboard.operations}),
        "tokens": sum(counter.count(turn.content) for turn in trajectory.turns),
        "questions": len(trajectory.questions),
        "questions_by_type": {f"type_{number}": types[f"type_{number}"] for number in range(1, 5)},
    }


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
        """The questions about a debate: which evidence a side uses, and for what."""
        world, used = self._trajectory.world, self._asked["used"]
        assert isinstance(world, DebateWorld)
        for side in ("pro", "con"):
            for number, (purpose, actions) in enumerate(PLAN["uses"].items(), start=1):
                uses = [op for op in self._operations if op.action in actions and op.cited and op.role.startswith(side)]
                if uses:
                    items = tuple(sorted({world.evidence[name].citation for op in uses for name in op.cited}))
                    text, answer, turns = used[purpose].format(side=side), _as_list(items), self._first_turns(uses)
                    yield Question(f"D3-{side}-{number}", "type_3", text, items, answer, turns)

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
