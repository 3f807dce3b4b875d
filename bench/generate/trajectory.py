"""What is generated: turns, questions, trajectories; and how they are written in the release's own layout."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from stitch.bench.generate.environment import DebateWorld, TravelWorld
from stitch.bench.generate.refinement import Mention
from stitch.bench.generate.storyboard import Storyboard
from stitch.bench.generate.wordings import PLAIN, Wording
from stitch.errors import InputError

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
    """How people talk in it."""

    def by_operation(self) -> dict[int, tuple[Turn, ...]]:
        """All turns, by the operation they say."""
        turns: dict[int, list[Turn]] = {}
        for turn in self.turns:
            turns.setdefault(turn.operation, []).append(turn)
        return {operation: tuple(said) for operation, said in turns.items()}


def turn_record(trajectory: GeneratedTrajectory, turn: Turn) -> dict[str, Any]:
    """A turn as a line of `turns.jsonl`."""
    op = trajectory.storyboard.operations[turn.operation]
    return {
        "id": turn.id,
        "role": turn.role,
        "content": turn.content,
        "partition": [trajectory.id, *([f"day-{op.day}"] if op.day else [])],
        "action": op.action,
        "action_object": ", ".join(op.objects),
    }


def question_record(trajectory: GeneratedTrajectory, question: Question) -> dict[str, Any]:
    """A question as a line of `questions.jsonl`."""
    return {
        "id": question.id,
        "type": question.type,
        "content": question.text,
        "answer": {"free_form_answer": question.answer},
        "question_turn_ids": [turn.id for turn in trajectory.turns],
        "answer_turn_ids": list(question.turns),
        "answer_type": ANSWER_TYPES[trajectory.domain],
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
    try:
        for number, trajectory in enumerate(trajectories):
            part = folder / f"traj-{number}"
            part.mkdir(parents=True, exist_ok=True)
            _write_lines(part / "turns.jsonl", (turn_record(trajectory, turn) for turn in trajectory.turns))
            questions = (question_record(trajectory, question) for question in trajectory.questions)
            _write_lines(part / "questions.jsonl", questions)
        meta = [{"id": f"traj-{number}", "task": TASKS[it.domain]} for number, it in enumerate(trajectories)]
        _write(folder / "generation.json", json.dumps(manifest, indent=2) + "\n")
        _write(folder / "benchmark_meta.json", json.dumps(meta, indent=2) + "\n")  # last: it says that all is there
    except OSError as error:
        raise InputError(
            f"cannot write {str(folder)!r}: {error.strerror}", hint="choose a folder with --out"
        ) from error


def _write_lines(path: Path, records: Iterable[Mapping[str, Any]]) -> None:
    _write(path, "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records))


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")
