"""What is generated: turns, questions, trajectories; their figures, and the release's own layout."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from stitch.bench.generate.environment import DebateWorld, TravelWorld
from stitch.bench.generate.refinement import Mention
from stitch.bench.generate.storyboard import Operation, Storyboard
from stitch.bench.generate.wordings import PLAIN, PLAN, Wording
from stitch.errors import InputError
from stitch.retrieve.context.budget import PieceCounter

TASKS = {"travel": "travel_planning", "debate": "debate"}
ANSWER_TYPES = {"travel": "ANSWER_TYPE_FREEFORM", "debate": "ANSWER_TYPE_FREEFORM_DEBATE"}

EXAMPLE: Mapping[str, Mapping[str, Any]] = PLAN["example"]
"""The authors' published example, measured on its files; tokens by `pieces-1`, time stamps included.

The share of implicit references is that of turns with objects that do not name all of them: the name of a place, the
sentence of a contention, the citation of a piece of evidence.
"""


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
    """Turns, tokens, questions and how things are referred to, under the keys of `EXAMPLE`."""
    counter = PieceCounter()
    tokens = [counter.count(turn.content) for turn in trajectory.turns]
    days, operations = trajectory.storyboard.days(), trajectory.storyboard.operations
    types = Counter(question.type for question in trajectory.questions)
    return {
        "turns": len(trajectory.turns),
        "tokens": sum(tokens),
        "questions": len(trajectory.questions),
        "questions_by_type": {f"type_{number}": types[f"type_{number}"] for number in range(1, 5)},
        "operations": len({op.moment for op in operations}),
        "turns_per_day": round(len(trajectory.turns) / days, 1) if days else None,
        "visits": sum(op.action == "SET_DAY" and op.role == "user" for op in operations) if days else None,
        "tokens_per_turn": round(sum(tokens) / len(tokens), 1),
        "longest_turn_tokens": max(tokens),
        "implicit_reference_share": implicit_reference_share(trajectory),
    }


def implicit_reference_share(trajectory: GeneratedTrajectory) -> float:
    """The share of turns about some object that do not name all of their objects; 0 if there are none."""
    operations = trajectory.storyboard.operations
    about = [(operations[turn.operation], turn.text) for turn in trajectory.turns if operations[turn.operation].objects]
    implicit = sum(not all(name in text for name in _names(trajectory.world, op)) for op, text in about)
    return round(implicit / len(about), 3) if about else 0.0


def _names(world: TravelWorld | DebateWorld, op: Operation) -> list[str]:
    if isinstance(world, TravelWorld):
        return list(op.objects)
    return [
        world.contentions[name].statement if name in world.contentions else world.evidence[name].citation
        for name in op.objects
    ]
