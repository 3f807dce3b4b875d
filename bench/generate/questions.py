"""Questions of the four types (Appendix A.3, A.7), with gold answers and gold steps taken from the plan.

The families are those of the release. Travel: what was chosen (type 1), a price or rating (type 2), what was discussed
for a slot (type 3), the plan of a day (type 4). Debate: the evidence of a side (type 3).
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from stitch.bench.generate.environment import PLAIN, PLAN, DebateWorld, TravelWorld, Wording
from stitch.bench.generate.refinement import Mention
from stitch.bench.generate.storyboard import KIND_OF_SLOT, Operation, Storyboard
from stitch.errors import InputError
from stitch.text.words import count_tokens

MOST_PER_TYPE = 15
"""At most so many questions of one type on a trajectory, as in the release."""
_TYPES = ("type_1", "type_2", "type_3", "type_4")
_TASKS = {"travel": ("travel_planning", "ANSWER_TYPE_FREEFORM"), "debate": ("debate", "ANSWER_TYPE_FREEFORM_DEBATE")}


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
        turns: dict[int, tuple[Turn, ...]] = {}
        for turn in self.turns:
            turns[turn.operation] = (*turns.get(turn.operation, ()), turn)
        return turns

    def statistics(self) -> dict[str, Any]:
        """Turns, operations, tokens and questions."""
        types = Counter(question.type for question in self.questions)
        return {
            "turns": len(self.turns),
            "operations": len({op.moment for op in self.storyboard.operations}),
            "tokens": sum(count_tokens(turn.content) for turn in self.turns),
            "questions": len(self.questions),
            "questions_by_type": {kind: types[kind] for kind in _TYPES},
        }


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
    meta = [{"id": f"traj-{number}", "task": _TASKS[it.domain][0]} for number, it in enumerate(trajectories)]
    try:
        for number, made in enumerate(trajectories):
            part = folder / f"traj-{number}"
            part.mkdir(parents=True, exist_ok=True)
            for name, rows in (("turns", _turn_rows(made)), ("questions", _question_rows(made))):
                lines = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
                (part / f"{name}.jsonl").write_text(lines, encoding="utf-8")
        # The meta file last: it says that all is there.
        for name, told in (("generation", manifest), ("benchmark_meta", meta)):
            (folder / f"{name}.json").write_text(json.dumps(told, indent=2) + "\n", encoding="utf-8")
    except OSError as error:
        raise InputError(
            f"cannot write {str(folder)!r}: {error.strerror}", hint="choose a folder with --out"
        ) from error


def _turn_rows(made: GeneratedTrajectory) -> Iterator[dict[str, Any]]:
    for turn in made.turns:
        op = made.storyboard.operations[turn.operation]
        partition = [made.id, *([f"day-{op.day}"] if op.day else [])]
        yield {"id": turn.id, "role": turn.role, "content": turn.content, "partition": partition, "action": op.action,
               "action_object": ", ".join(op.objects)}  # fmt: skip


def _question_rows(made: GeneratedTrajectory) -> Iterator[dict[str, Any]]:
    for each in made.questions:
        yield {"id": each.id, "type": each.type, "content": each.text, "answer": {"free_form_answer": each.answer},
               "question_turn_ids": [turn.id for turn in made.turns], "answer_turn_ids": list(each.turns),
               "answer_type": _TASKS[made.domain][1]}  # fmt: skip


class _QuestionDraft(NamedTuple):
    """A question before its gold turns are known."""

    id: str
    type: str
    text: str
    items: tuple[str, ...]
    answer: str
    operations: Sequence[Operation]
    """Those that bear the answer, the user's in a trip."""


def ask(trajectory: GeneratedTrajectory, rng: Random) -> tuple[Question, ...]:
    """All questions about a trajectory: of every type at most `MOST_PER_TYPE`, in a fixed order.

    Gold are the first turns of the operations, and of a fact the turn of the agent that states it.
    """
    board, asked, said = trajectory.storyboard, trajectory.wording.questions, trajectory.by_operation()
    everything = list(
        _of_trip(trajectory.world, board, asked)
        if isinstance(trajectory.world, TravelWorld)
        else _of_debate(trajectory.world, board, asked)
    )
    index = {op: place for place, op in enumerate(board.operations)}
    kept: list[Question] = []
    for kind in _TYPES:
        own = [each for each in everything if each.type == kind]
        for place in sorted(rng.sample(range(len(own)), min(len(own), MOST_PER_TYPE))):
            made = own[place]
            turns = {said[index[op]][0].id for op in made.operations}
            if kind == "type_2":
                turns |= {turn.id for op in made.operations for turn in said[index[op] + 1] if made.answer in turn.text}
            in_order = tuple(turn.id for turn in trajectory.turns if turn.id in turns)
            kept.append(Question(made.id, made.type, made.text, made.items, made.answer, in_order))
    return tuple(kept)


def _of_trip(world: TravelWorld, board: Storyboard, asked: Mapping[str, Any]) -> Iterator[_QuestionDraft]:
    slots = [(day, slot) for day in range(1, board.days() + 1) for slot in KIND_OF_SLOT]
    finals: dict[int, list[tuple[str, _QuestionDraft]]] = {}
    for number, (day, slot) in enumerate(slots):
        final, *others = _of_slot(board, day, slot, forms=asked, number=number)
        yield from (final, *others)
        finals.setdefault(day, []).append((f"{PLAN['plan_of_day'][slot]} {final.answer}", final))
    yield from _facts(world, board, asked["fact"])
    for day, parts in finals.items():
        items, every = tuple(item for item, _ in parts), [op for _, final in parts for op in final.operations]
        yield _QuestionDraft(f"Q5-Day{day}", "type_4", asked["whole"].format(day=day), items, "; ".join(items), every)


def _of_slot(
    board: Storyboard, day: int, slot: str, *, forms: Mapping[str, Any], number: int
) -> Iterator[_QuestionDraft]:
    """The last decision, all of them, and what was proposed."""
    words = {"day": day, "slot": forms["slots"].get(slot, slot), "kind": KIND_OF_SLOT[slot]}
    proposed, decided = (
        {op.objects[0]: op for op in board.by_user(action) if (op.day, op.slot) == (day, slot)}
        for action in ("PROPOSE", "DECIDE")
    )
    final = board.objects("DECIDE", day=day, slot=slot)[-1:]
    for name, kind, form, items, bearing in (
        (f"Q2-{slot.upper()}-Day{day}", "type_1", "final", final, (proposed, decided)),
        (f"Q2-ALL-{slot.upper()}-Day{day}", "type_1", "decided", tuple(decided), (proposed, decided)),
        (f"Q4-Day{day}-{slot}", "type_3", "discussed", tuple(proposed), (proposed,)),
    ):
        # A proposal names a thing, and the last decision chooses it.
        operations, own = [said[item] for said in bearing for item in items], forms[form]
        yield _QuestionDraft(name, kind, own[number % len(own)].format(**words), items, ", ".join(items), operations)


def _facts(world: TravelWorld, board: Storyboard, forms: Mapping[str, Any]) -> Iterator[_QuestionDraft]:
    for number, op in enumerate(board.by_user("INQUIRE")):
        place = world.place(op.objects[0])
        for attribute in op.asked:
            value, own = place.value(attribute), forms[attribute]
            text = own[number % len(own)].format(name=place.name)
            yield _QuestionDraft(f"Q3-{attribute[0].upper()}-{place.name}", "type_2", text, (value,), value, [op])


def _of_debate(world: DebateWorld, board: Storyboard, asked: Mapping[str, Any]) -> Iterator[_QuestionDraft]:
    """Questions for the evidence of a side, by purpose; the release writes a list as JSON with one string in it."""
    for side in ("pro", "con"):
        for number, (purpose, actions) in enumerate(PLAN["uses"].items(), start=1):
            uses = [op for op in board.operations if op.action in actions and op.cited and op.role.startswith(side)]
            if uses:
                items = tuple(sorted({world.evidence[name].citation for op in uses for name in op.cited}))
                text, answer = asked["used"][purpose].format(side=side), json.dumps(["; ".join(items)])
                yield _QuestionDraft(f"D3-{side}-{number}", "type_3", text, items, answer, uses)
