"""Bounds of the episodes of a trajectory: the labels say them, there is no second segmentation.

An episode goes on while scope and session stay, no long time passes, and it does not grow too large. The last of these
cuts a long scope into pieces of equal size, from where the scope begins.
"""

from __future__ import annotations

import hashlib
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterator
from operator import attrgetter
from typing import NamedTuple

from stitch.core import Episode
from stitch.journal import Entry
from stitch.text.dates import day_of, seconds_of

MOST_STEPS = 24
"""The longest episode, in steps."""
GAP_S = 6 * 3600.0
"""After so long without a step, what goes on is another episode."""


class Mark(NamedTuple):
    """The attributes of a step that decide in which episode it is."""

    position: int
    seq: int
    step: str
    scope: str
    session: str
    happened: float | str | None
    seconds: float | None


def mark_of(entry: Entry) -> Mark:
    """The mark of a step."""
    happened = entry.step.timestamp
    scope = entry.labels.intent.scope if entry.labels is not None else None
    return Mark(
        entry.position, entry.seq, entry.id, scope or "", entry.step.session or "", happened, _comparable(happened)
    )


def _comparable(happened: float | str | None) -> float | None:
    """Seconds of a time that has its day; a time of day alone says nothing of the time between two steps."""
    seconds = seconds_of(happened)
    if seconds is None and (day := day_of(happened)) is not None:
        return day * 86_400.0
    return seconds


def parts(before: Mark, mark: Mark) -> bool:
    """Whether an episode ends between two steps that follow each other."""
    if (before.scope, before.session) != (mark.scope, mark.session):
        return True
    return before.seconds is not None and mark.seconds is not None and mark.seconds - before.seconds > GAP_S


class Line:
    """The steps of one trajectory that can be found, in order, and the episodes that they make."""

    def __init__(self, tenant: str, trajectory: str) -> None:
        self._tenant, self._trajectory = tenant, trajectory
        self._marks: list[Mark] = []
        self._starts: list[int] | None = None
        """Places at which episodes begin; None if they are to be found again."""

    def __len__(self) -> int:
        return len(self._marks)

    def put(self, mark: Mark) -> None:
        """Take in a step, or what is known of it now."""
        self.remove(mark.position)
        self._marks.insert(self._place(mark.position), mark)

    def remove(self, position: int) -> None:
        """Leave out a step; one that is not there makes no difference."""
        place = self._place(position)
        if place < len(self._marks) and self._marks[place].position == position:
            del self._marks[place]
        self._starts = None

    def marks_of(self, steps: Collection[str]) -> list[Mark]:
        """The marks of steps, by their ids, in order; those that are there."""
        wanted = frozenset(steps)
        return [mark for mark in self._marks if mark.step in wanted]

    def before(self, position: int) -> Mark | None:
        """The step before a position."""
        place = self._place(position)
        return self._marks[place - 1] if place else None

    def after(self, position: int) -> Mark | None:
        """The step after a position."""
        place = self._place(position + 1)
        return self._marks[place] if place < len(self._marks) else None

    def episode_at(self, position: int) -> str:
        """The id of the episode of the step at a position, which is there."""
        starts = self._episodes_begin()
        return self._id(starts[bisect_right(starts, self._place(position)) - 1])

    def episodes(self) -> Iterator[Episode]:
        """The episodes, in order."""
        starts = self._episodes_begin()
        for start, end in zip(starts, [*starts[1:], len(self._marks)], strict=True):
            marks = self._marks[start:end]
            times = [each.happened for each in marks if each.happened is not None]
            yield Episode(
                id=self._id(start),
                trajectory=self._trajectory,
                scope=marks[0].scope,
                steps=tuple(each.step for each in marks),
                started_at=times[0] if times else None,
                ended_at=times[-1] if times else None,
            )

    def _place(self, position: int) -> int:
        return bisect_left(self._marks, position, key=_position)

    def _episodes_begin(self) -> list[int]:
        if self._starts is None:
            self._starts = []
            for place, mark in enumerate(self._marks):
                grown = not self._starts or place - self._starts[-1] >= MOST_STEPS
                if grown or parts(self._marks[place - 1], mark):
                    self._starts.append(place)
        return self._starts

    def _id(self, start: int) -> str:
        return episode_id(self._tenant, self._trajectory, self._marks[start].step)


_position = attrgetter("position")


def episode_id(tenant: str, trajectory: str, first: str) -> str:
    """The id of the episode that begins with a step."""
    named = f"{len(tenant)}:{tenant}{len(trajectory)}:{trajectory}{first}"
    return "e" + hashlib.blake2b(named.encode(), digest_size=8).hexdigest()
