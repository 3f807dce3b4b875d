"""Episodes, statements and themes, which stand above the steps of a memory.

The levels of the third paper (xMemory): a step belongs to one episode, says any number of statements, and each of
these belongs to one theme. Whatever is made from a step names it, so that it can be followed down, and erased.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from stitch.core.trust import Trust
from stitch.errors import InputError


@dataclass(frozen=True, slots=True)
class Episode:
    """A stretch of consecutive steps of one trajectory that are about one thing."""

    id: str
    trajectory: str
    scope: str
    """The thematic scope of its steps; empty where they have none."""
    steps: tuple[str, ...]
    """Their ids, in order; at least one."""
    started_at: float | str | None
    """Time of its first step that has one, as the source says it."""
    ended_at: float | str | None


@dataclass(frozen=True, slots=True)
class Statement:
    """A sentence of a step that can be read alone."""

    id: str
    """Stable: as long as the step is there, whatever becomes of its labels and of the themes."""
    trajectory: str
    text: str
    """With references resolved; an answer has its question before it."""
    speaker: str
    """The role or name of who said it."""
    said_at: float | str | None
    """Time, as the source says it."""
    happened_at: str | None
    """The day that the text names, as ISO 8601 writes it, if it names one; relative to when it was said."""
    steps: tuple[str, ...]
    """The ids of the steps it was made from, in order; the one that says it is the last."""
    episode: str
    trust: Trust
    """The lowest trust of all that went into it."""
    supersedes: tuple[str, ...] = ()
    """Statements that are not right any more since this one was made; they stay, and can be read."""
    superseded_by: str | None = None
    recorded: float = 0.0
    """Time at which the memory accepted the step that says it, in Unix seconds."""
    position: int = 0
    """The place of that step in its trajectory, from 0."""


@dataclass(frozen=True, slots=True)
class Theme:
    """Statements that are about one thing, across episodes and trajectories of a tenant."""

    id: str
    name: str
    terms: tuple[str, ...]
    """The words and phrases that are typical of it, best first."""
    medoid: str
    """The id of the statement that is most like all of them."""
    statements: tuple[str, ...]
    """Their ids, the oldest first; at least one."""


def check_limit(limit: object) -> None:
    """Check how many themes at most are asked for.

    Raises:
        InputError: It is no number from 1.
    """
    if limit is not None and (not isinstance(limit, int) or limit < 1):
        raise InputError(f"a limit of {limit!r} themes is none", hint="give 1 or more, or no limit for all of them")


class NearStatement(NamedTuple):
    """A statement with its similarity to what was asked."""

    statement: Statement
    similarity: float


@dataclass(frozen=True, slots=True)
class Near:
    """The id of a statement or theme, with its similarity to the one that was asked about."""

    id: str
    similarity: float
