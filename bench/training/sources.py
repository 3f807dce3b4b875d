"""Sources of lessons: each kind of training data, recognized by its content."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from stitch.bench.data.came import load_came
from stitch.bench.data.sets import load_labels, load_questions, trajectories_in
from stitch.bench.data.types import DataSet
from stitch.core import LabelKind, Trajectory
from stitch.errors import InputError
from stitch.pipelines.optimize.splitting import Parts, check_apart, hold_back
from stitch.pipelines.optimize.tasks import Lesson, Task

TARGETS = ("windowed", "stepwise", "filter", "answerer", "path", "statements")
"""What can be optimized."""

_JOURNAL = "journal.sqlite"
_Data = TypeVar("_Data")


def open_task(
    target: str, train: Path, *, valid: Path | None, tenant: str | None, seed: int, stack: ExitStack
) -> tuple[Task, Parts]:
    """The task of a target, with lessons to learn from and lessons to judge by.

    Without `valid`, a third of the lessons is held back. `tenant` is whose corrections, where data are a memory;
    `stack` closes what the task needs.

    Raises:
        InputError: The data cannot be read, or say nothing about the target.
    """
    paths = [path for path in (train, valid) if path is not None]
    if target in ("windowed", "stepwise"):
        from stitch.bench.training.labels import LabelTask
        from stitch.embed import StaticEmbedder

        parts = _parts(paths, paths, lambda path: _label_lessons(path, tenant=tenant), seed=seed)
        embedder = StaticEmbedder() if target == "stepwise" else None
        return LabelTask([*parts.train, *parts.held_back], embedder=embedder), parts
    if target == "path":
        from stitch.bench.training.paths import PathTask, path_lessons
        from stitch.bench.trees.sets import load_tree_set

        domains = [load_tree_set(path) for path in paths]
        refusal = "no requests in {}", "--train names the folder of a tree with requests"
        return PathTask(domains), _parts(paths, domains, path_lessons, seed=seed, refusal=refusal)
    return _question_task(target, paths, seed=seed, stack=stack)


def _question_task(target: str, paths: list[Path], *, seed: int, stack: ExitStack) -> tuple[Task, Parts]:
    from stitch.bench.training import questions, statements
    from stitch.embed import StaticEmbedder

    data = [_questions(path, target) for path in paths]
    memory = stack.enter_context(questions.asked_memory(_joined(data)))
    lessons_of: Callable[[DataSet], Iterator[Lesson]] = {
        "filter": lambda each: questions.filter_lessons(each, memory),
        "answerer": questions.answer_lessons,
        "statements": lambda each: statements.statement_lessons(each, memory),
    }[target]
    needs = "has the answer to a question" if target == "answerer" else "names the evidence of a question"
    refusal = f"nothing in {{}} {needs}", "`stitch generate came --out DIR` makes such data"
    parts = _parts(paths, data, lessons_of, seed=seed, refusal=refusal)
    tasks: dict[str, Callable[[], Task]] = {
        "filter": lambda: questions.FilterTask(memory),
        "answerer": lambda: questions.AnswerTask([*parts.train, *parts.held_back], memory=memory),
        "statements": lambda: statements.StatementTask(memory, embedder=StaticEmbedder()),
    }
    return tasks[target](), parts


def _parts(
    paths: list[Path], data: list[_Data], lessons_of: Callable[[_Data], Iterable[Lesson]], *, seed: int,
    refusal: tuple[str, str] | None = None,
) -> Parts:  # fmt: skip
    """The lessons of one or two sides; a side without any is refused, if words for that are given."""
    sides = [list(lessons_of(each)) for each in data]
    for side, path in zip(sides, paths, strict=True):
        if refusal and not side:
            raise InputError(refusal[0].format(repr(str(path))), hint=refusal[1])
    if len(sides) == 1:
        return hold_back(sides[0], seed=seed)
    check_apart(*sides)
    return Parts(*sides)


def _label_lessons(path: Path, *, tenant: str | None) -> Iterator[Lesson]:
    from stitch.bench.training.labels import lessons_from_corrections, lessons_of
    from stitch.factory import open_memory

    if not (path / _JOURNAL).is_file():
        labeled = _labeled(path)
        for trajectory in labeled.trajectories:
            yield from lessons_of(trajectory, labeled.gold.get(trajectory.id, {}))
        return
    with open_memory(path, tenant=tenant, must_exist=True, labels="local", filter="local") as memory:
        corrected: dict[str, dict[int, frozenset[LabelKind]]] = {}
        for each in memory.lifecycle.corrections():
            corrected.setdefault(each.trajectory, {})[each.position] = each.kinds
        if not corrected:
            raise InputError(
                f"nobody has corrected a label in the memory {str(path)!r}",
                hint=f"`stitch correct STEP --trajectory ID --scope NAME --memory {path}` does",
            )
        for name, kinds in corrected.items():
            told = [(entry.step, entry.labels) for entry in memory.steps(name) if entry.labels is not None]
            trajectory = Trajectory(id=name, steps=tuple(step for step, _ in told))
            yield from lessons_from_corrections(trajectory, [labels for _, labels in told], corrected=kinds)


def _labeled(path: Path) -> DataSet:
    """Trajectories with gold: a file of them, a folder with questions beside them, or CAME-Bench."""
    if not path.exists():
        raise InputError(f"there are no data at {str(path)!r}", hint="name a file or folder with --train")
    if path.is_file() or trajectories_in(path):
        return load_labels(path)
    data = load_came(path)
    if not any(data.gold.values()):
        raise InputError(f"{str(path)!r} holds no labeled trajectory", hint="see `stitch bench labels --help`")
    return data


def _questions(path: Path, target: str) -> DataSet:
    """Questions with their trajectories: a folder of them, or CAME-Bench."""
    if path.is_file() or (path / _JOURNAL).is_file():
        raise InputError(
            f"{str(path)!r} holds no questions, and {target!r} learns from questions",
            hint="name a folder with trajectories.jsonl and questions.jsonl, or of CAME-Bench",
        )
    if not path.is_dir():
        raise InputError(f"there are no data at {str(path)!r}", hint="name a folder with --train")
    return load_questions(path) if trajectories_in(path) else load_came(path)


def _joined(data: list[DataSet]) -> DataSet:
    """All trajectories to ask; those that both sides have are one."""
    trajectories: dict[str, Trajectory] = {}
    for trajectory in (trajectory for each in data for trajectory in each.trajectories):
        if trajectories.setdefault(trajectory.id, trajectory).steps != trajectory.steps:
            raise InputError(
                f"--train and --valid have different trajectories of one name, {trajectory.id!r}",
                hint="rename one of them",
            )
    return replace(data[0], trajectories=tuple(trajectories.values()))
