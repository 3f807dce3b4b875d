"""What stands above the steps of a memory: episodes, statements and themes, and how they are read.

The levels of the third paper (xMemory): a step belongs to one episode, says any number of statements, and each of
these belongs to one theme. Whatever is made from a step names it, so that it can be followed down, and erased.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol, runtime_checkable

from stitch.core.moment import Moment
from stitch.core.trust import Trust
from stitch.errors import InputError

if TYPE_CHECKING:
    from stitch.core.protocols import Vectors


class Episode(NamedTuple):
    """A stretch of consecutive steps of one trajectory that are about one thing."""

    id: str
    trajectory: str
    scope: str
    """The thematic scope of its steps; empty where they have none."""
    steps: tuple[str, ...]
    """Their ids, in order; at least one."""
    started_at: float | str | None
    """When its first step with a time happened, as the source says it."""
    ended_at: float | str | None


class Statement(NamedTuple):
    """Something that a step says and that can be read alone."""

    id: str
    """Stable: as long as the step is there, whatever becomes of its labels and of the themes."""
    trajectory: str
    text: str
    """With references resolved; an answer has its question before it."""
    speaker: str
    """The role or name of who said it."""
    said_at: float | str | None
    """When it was said, as the source says it."""
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
    """When the memory accepted the step that says it, in Unix seconds."""
    position: int = 0
    """The place of that step in its trajectory, from 0."""


class Theme(NamedTuple):
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


class Near(NamedTuple):
    """The id of a statement or theme, with its similarity to the one that was asked about."""

    id: str
    similarity: float


@runtime_checkable
class Hierarchy(Protocol):
    """The episodes, statements and themes of one tenant, to be read.

    What is retired, erased, or replaced by a correction is not there. All methods may be called from several threads.
    """

    @property
    def embedder(self) -> str:
        """The name of the embedding space of its vectors (`Embedder.name`)."""
        ...

    def nearest(
        self,
        vector: Vectors,
        *,
        limit: int,
        trajectory: str | None = None,
        min_trust: Trust | None = None,
        as_of: Moment | None = None,
    ) -> list[NearStatement]:
        """The statements most similar to a vector, exactly, the best first; of equals the older first."""
        ...

    def statement(self, id: str) -> Statement | None:  # noqa: A002 - the word of the domain
        """A statement by its id; None if it is not there."""
        ...

    def episode(self, id: str) -> Episode | None:  # noqa: A002 - the word of the domain
        """An episode by its id; None if it is not there."""
        ...

    def theme(self, id: str) -> Theme | None:  # noqa: A002 - the word of the domain
        """A theme by its id, or the one that took its place when it was split or merged; None if there is none."""
        ...

    def theme_of(self, statement_id: str) -> Theme | None:
        """The theme of a statement; None if there is no such statement."""
        ...

    def theme_ids(self, statement_ids: Sequence[str]) -> Sequence[str | None]:
        """The ids of the themes of statements, which costs less than their names; None of one that is not there."""
        ...

    def themes(self, *, as_of: Moment | None = None) -> Sequence[Theme]:
        """All themes, or those of a moment; the oldest first."""
        ...

    def episodes(self, trajectory: str) -> Sequence[Episode]:
        """The episodes of a trajectory, in order; together they have all its steps that can be found."""
        ...

    def statements_of_step(self, trajectory: str, step: str) -> list[Statement]:
        """The statements that a step went into, in order."""
        ...

    def said_in(self, steps: Sequence[tuple[str, str]]) -> Sequence[Sequence[Statement]]:
        """Of each step, by its trajectory and id, the statements that it says; of these no episode is told.

        For whoever reads hundreds of steps at once: without episodes, and asked of together, they cost a third.
        """
        ...

    def neighbors(self, statement_id: str) -> list[Near]:
        """The statements most like one, the best first."""
        ...

    def theme_neighbors(self, theme_id: str) -> list[Near]:
        """The themes most like one, the best first. Whoever is a neighbor of another has it as a neighbor too."""
        ...

    def statement_vectors(self) -> tuple[Sequence[str], Vectors]:
        """The ids of all statements, and their unit vectors, shape `(len(ids), dimension)`; not to be written to."""
        ...

    def vectors_of(self, statement_ids: Sequence[str]) -> Vectors:
        """The unit vectors of some statements, shape `(len(statement_ids), dimension)`; zeros of what is not there."""
        ...

    def theme_vectors(self) -> tuple[Sequence[str], Vectors]:
        """The ids of all themes, and the unit vectors of their centroids; not to be written to."""
        ...
