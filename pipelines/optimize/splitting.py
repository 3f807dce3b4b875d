"""Lessons that are held back: whole groups, drawn by seed, the same on every machine."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import NamedTuple

from stitch.errors import InputError
from stitch.pipelines.optimize.tasks import Lesson

HELD_BACK = 1 / 3
"""The share of groups that is held back where no other data are given to judge by."""

_FEWEST = 4


class Parts(NamedTuple):
    """Lessons to learn from, and lessons to judge by."""

    train: list[Lesson]
    held_back: list[Lesson]


def hold_back(lessons: Sequence[Lesson], *, seed: int) -> Parts:
    """Hold back a third of the groups; of the lessons themselves, if there are fewer than three groups.

    Raises:
        InputError: There are fewer than four lessons.
    """
    if len(lessons) < _FEWEST:
        raise InputError(
            f"{len(lessons)} examples are too few to learn from and to judge by: {_FEWEST} at least",
            hint="give more with --train, or others to judge by with --valid",
        )
    by_group = len({lesson.group for lesson in lessons}) >= 3
    names = [lesson.group if by_group else lesson.key for lesson in lessons]
    drawn = sorted(set(names), key=lambda name: _draw(name, seed))
    held = set(drawn[: max(1, round(len(drawn) * HELD_BACK))])
    return Parts(
        [lesson for lesson, name in zip(lessons, names, strict=True) if name not in held],
        [lesson for lesson, name in zip(lessons, names, strict=True) if name in held],
    )


def take(lessons: Sequence[Lesson], most: int, *, seed: int) -> list[Lesson]:
    """At most so many lessons, drawn by seed, in their order."""
    drawn = set(sorted({lesson.key for lesson in lessons}, key=lambda key: _draw(key, seed))[:most])
    kept = {lesson.key: lesson for lesson in lessons if lesson.key in drawn}
    return list(kept.values())


def check_apart(train: Sequence[Lesson], held_back: Sequence[Lesson]) -> None:
    """Refuse to judge by what was learned.

    Raises:
        InputError: The two share lessons.
    """
    if shared := {lesson.key for lesson in train} & {lesson.key for lesson in held_back}:
        raise InputError(
            f"{len(shared)} examples of --valid are in --train too",
            hint="give others with --valid, or leave it out: then a third of --train is held back",
        )


def _draw(name: str, seed: int) -> str:
    return hashlib.sha256(f"{seed}\0{name}".encode()).hexdigest()
