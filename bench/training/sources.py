"""Where lessons come from: each kind of training data, recognized by its content."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

from stitch.bench.data.came import load_came
from stitch.bench.data.files import digest_of
from stitch.bench.data.records import read_trajectories
from stitch.bench.data.sets import load_labels, load_questions
from stitch.bench.data.types import DataSet, LabeledSet
from stitch.core import Embedder, LabelKind, Trajectory
from stitch.errors import InputError
from stitch.pipelines.optimize.splitting import Parts, check_apart, hold_back
from stitch.pipelines.optimize.tasks import Lesson, Task

TARGETS = ("windowed", "stepwise", "filter", "answerer", "path", "statements")
"""What can be optimized."""

_ENDINGS = (".jsonl.gz", ".jsonl")
_JOURNAL = "journal.sqlite"


def open_task(
    target: str, train: Path, *, valid: Path | None, tenant: str | None, seed: int, stack: ExitStack
) -> tuple[Task, Parts]:
    """The task of a target, with lessons to learn from and lessons to judge by.

    Args:
        target: One of `TARGETS`.
        train: The training data.
        valid: Others to judge by; a third of the lessons is held back if None.
        tenant: Whose corrections, where data are a memory.
        seed: Of the draw.
        stack: Closes what the task needs.

    Raises:
        InputError: The data cannot be read, or say nothing about the target.
    """
    if target in ("windowed", "stepwise"):
        return _label_task(target, train, valid=valid, tenant=tenant, seed=seed)
    if target == "path":
        return _path_task(train, valid=valid, seed=seed)
    return _question_task(target, train, valid=valid, seed=seed, stack=stack)


def _label_task(target: str, train: Path, *, valid: Path | None, tenant: str | None, seed: int) -> tuple[Task, Parts]:
    from stitch.bench.training.labels import LabelTask

    embedder: Embedder | None = None
    if target == "stepwise":
        from stitch.embed import StaticEmbedder

        embedder = StaticEmbedder()
    sides = [list(_label_lessons(path, tenant=tenant)) for path in (train, valid) if path is not None]
    parts = _parts(sides, seed=seed)
    return LabelTask([*parts.train, *parts.held_back], embedder=embedder), parts


def _question_task(target: str, train: Path, *, valid: Path | None, seed: int, stack: ExitStack) -> tuple[Task, Parts]:
    from stitch.bench.training.answers import AnswerTask, answer_lessons
    from stitch.bench.training.asked import asked_memory
    from stitch.bench.training.filters import FilterTask, filter_lessons
    from stitch.bench.training.statements import StatementTask, statement_lessons
    from stitch.embed import StaticEmbedder

    data = [_questions(path, target) for path in (train, valid) if path is not None]
    memory = stack.enter_context(asked_memory(_joined(data)))
    lessons_of: Callable[[DataSet], Iterator[Lesson]] = {
        "filter": lambda each: filter_lessons(each, memory),
        "answerer": answer_lessons,
        "statements": lambda each: statement_lessons(each, memory),
    }[target]
    sides = [list(lessons_of(each)) for each in data]
    needs = "has the answer to a question" if target == "answerer" else "names the evidence of a question"
    for side, path in zip(sides, (train, valid), strict=False):
        if not side:
            raise InputError(
                f"nothing in {str(path)!r} {needs}", hint="`stitch generate came --out DIR` makes such data"
            )
    parts = _parts(sides, seed=seed)
    if target == "statements":
        return StatementTask(memory, embedder=StaticEmbedder()), parts
    return (
        FilterTask(memory) if target == "filter" else AnswerTask([*parts.train, *parts.held_back], memory=memory)
    ), parts


def _path_task(train: Path, *, valid: Path | None, seed: int) -> tuple[Task, Parts]:
    from stitch.bench.training.paths import PathTask, path_lessons
    from stitch.bench.trees.sets import load_tree_set

    domains = [load_tree_set(path) for path in (train, valid) if path is not None]
    sides = [list(path_lessons(domain)) for domain in domains]
    for side, path in zip(sides, (train, valid), strict=False):
        if not side:
            raise InputError(f"no requests in {str(path)!r}", hint="--train names the folder of a tree with requests")
    return PathTask(domains), _parts(sides, seed=seed)


def _parts(sides: Sequence[list[Lesson]], *, seed: int) -> Parts:
    if len(sides) == 1:
        return hold_back(sides[0], seed=seed)
    train, held_back = sides
    check_apart(train, held_back)
    return Parts(train, held_back)


def _label_lessons(path: Path, *, tenant: str | None) -> Iterator[Lesson]:
    from stitch.bench.training.labels import lessons_of

    if (path / _JOURNAL).is_file():
        yield from _correction_lessons(path, tenant=tenant)
        return
    labeled = _labeled(path)
    for trajectory in labeled.trajectories:
        yield from lessons_of(trajectory, labeled.gold.get(trajectory.id, {}))


def _correction_lessons(path: Path, *, tenant: str | None) -> Iterator[Lesson]:
    from stitch.assemble import open_memory
    from stitch.bench.training.labels import lessons_from_corrections

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
            entries = [entry for entry in memory.steps(name) if entry.labels is not None]
            steps = tuple(entry.step for entry in entries)
            labels = [entry.labels for entry in entries if entry.labels is not None]
            yield from lessons_from_corrections(Trajectory(id=name, steps=steps), labels, corrected=kinds)


def _labeled(path: Path) -> LabeledSet:
    """Trajectories with gold: a file of them, a folder with questions beside them, or CAME-Bench."""
    if path.is_file():
        return load_labels(path)
    if (file := _trajectories(path)) is not None:
        read = list(read_trajectories(file))
        gold = {each.trajectory.id: each.gold for each in read}
        labeled = LabeledSet(path.name, tuple(each.trajectory for each in read), gold, digest_of([file]))
    elif path.is_dir():
        data = load_came(path)
        labeled = LabeledSet(data.name, data.trajectories, data.gold, data.digest)
    else:
        raise InputError(f"there are no data at {str(path)!r}", hint="name a file or folder with --train")
    if not any(labeled.gold.values()):
        raise InputError(f"no step in {str(path)!r} carries gold labels", hint="see `stitch bench labels --help`")
    return labeled


def _questions(path: Path, target: str) -> DataSet:
    """Questions with their trajectories: a folder of them, or CAME-Bench."""
    if path.is_file() or (path / _JOURNAL).is_file():
        raise InputError(
            f"{str(path)!r} holds no questions, and {target!r} learns from questions",
            hint="name a folder with trajectories.jsonl and questions.jsonl, or of CAME-Bench",
        )
    if not path.is_dir():
        raise InputError(f"there are no data at {str(path)!r}", hint="name a folder with --train")
    return load_questions(path) if _trajectories(path) is not None else load_came(path)


def _joined(data: Sequence[DataSet]) -> DataSet:
    """All trajectories to ask; those that both sides have are one."""
    if len(data) == 1:
        return data[0]
    trajectories = {trajectory.id: trajectory for each in data for trajectory in each.trajectories}
    for each in data:
        for trajectory in each.trajectories:
            if trajectories[trajectory.id].steps != trajectory.steps:
                raise InputError(
                    f"--train and --valid have different trajectories of one name, {trajectory.id!r}",
                    hint="rename one of them",
                )
    return DataSet(data[0].name, tuple(trajectories.values()), (), data[0].digest)


def _trajectories(folder: Path) -> Path | None:
    return next((file for ending in _ENDINGS if (file := folder / f"trajectories{ending}").is_file()), None)
