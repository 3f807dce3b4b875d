"""Bounds of the episodes of a trajectory: the labels say them, there is no second segmentation.

An episode goes on while scope and session stay, no long time passes, and it does not grow too large. The last of these
cuts a long scope into pieces of equal size, from where the scope begins.
"""

from __future__ import annotations

import hashlib
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
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
    step: str
    scope: str
    session: str
    happened: float | str | None
    seconds: float | None
    """None of a time of day alone, which says nothing of the time between two steps."""


def mark_of(entry: Entry) -> Mark:
    """The mark of a step."""
    happened = entry.step.timestamp
    seconds = seconds_of(happened)
    if seconds is None and (day := day_of(happened)) is not None:
        seconds = day * 86_400.0
    scope = entry.labels.intent.scope if entry.labels is not None else None
    return Mark(entry.position, entry.id, scope or "", entry.step.session or "", happened, seconds)


def parts(before: Mark, mark: Mark) -> bool:
    """Whether an episode ends between two steps that follow each other."""
    if (before.scope, before.session) != (mark.scope, mark.session):
        return True
    return before.seconds is not None and mark.seconds is not None and mark.seconds - before.seconds > GAP_S


class Line:
    """The steps of one trajectory that can be found, in order, and the episodes that they make."""

    def __init__(self, tenant: str, trajectory: str) -> None:
        self._named = f"{len(tenant)}:{tenant}{len(trajectory)}:{trajectory}"
        self._trajectory = trajectory
        self.marks: list[Mark] = []
        self._starts: list[int] = []
        """Places at which episodes begin."""

    def append(self, mark: Mark) -> None:
        """Take in the next step."""
        grown = not self._starts or len(self.marks) - self._starts[-1] >= MOST_STEPS
        if grown or parts(self.marks[-1], mark):
            self._starts.append(len(self.marks))
        self.marks.append(mark)

    def cut(self, position: int) -> None:
        """Leave out the steps from a position on."""
        place = self._place(position)
        del self.marks[place:]
        del self._starts[bisect_left(self._starts, place) :]

    def episode_at(self, position: int) -> str:
        """The id of the episode of the step at a position, which is there."""
        return self._id(self._starts[bisect_right(self._starts, self._place(position)) - 1])

    def episodes(self) -> Iterator[Episode]:
        """The episodes, in order."""
        for start, end in zip(self._starts, [*self._starts[1:], len(self.marks)], strict=True):
            marks = self.marks[start:end]
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
        return bisect_left(self.marks, position, key=attrgetter("position"))

    def _id(self, start: int) -> str:
        named = f"{self._named}{self.marks[start].step}"
        return "e" + hashlib.blake2b(named.encode(), digest_size=8).hexdigest()
