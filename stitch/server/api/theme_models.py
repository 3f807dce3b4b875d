"""Requests and responses of themes and their statements."""

from __future__ import annotations

from stitch.core.steps import Name
from stitch.server.api.listing_models import PartRequest
from stitch.server.api.models import PageRequest, PageResponse, Response


class ThemesRequest(PageRequest):
    """Asks for the themes, those of most statements first."""

    as_of: str | None = None
    """Unix seconds, or a time as ISO 8601 writes it: the themes of then."""


class ThemeRow(Response):
    """A theme."""

    id: str
    name: str
    terms: tuple[str, ...]
    """The words and phrases that are typical of it, best first."""
    medoid: str
    """The id of the statement that is most like all of them."""
    statements: tuple[str, ...]
    """Their ids, the oldest first."""


class ThemesResponse(PageResponse):
    """Themes, those of most statements first."""

    themes: tuple[ThemeRow, ...]


class ThemeRequest(PartRequest):
    """Asks for one theme, by its id, or by one that it had before it was merged; a limit counts its statements."""

    theme: Name


class StatementRow(Response):
    """Something that a step says and that can be read alone."""

    id: str
    trajectory: str
    text: str
    speaker: str
    said_at: float | str | None
    """When it was said, as the source says it."""
    happened_at: str | None
    """The day, month or year that the text names."""
    steps: tuple[str, ...]
    """The steps it was made from; the last one says it."""
    episode: str
    trust: str
    supersedes: tuple[str, ...]
    superseded_by: str | None
    recorded: float
    """When the memory accepted the step that says it, in Unix seconds."""
    position: int
    """The place of that step in its trajectory, from 0."""


class NeighborRow(Response):
    """A theme that is near."""

    id: str
    name: str
    similarity: float


class ThemeResponse(PageResponse):
    """A theme with its statements, the oldest first, and the themes around it, the nearest first."""

    id: str
    name: str
    terms: tuple[str, ...]
    medoid: str
    statements: tuple[StatementRow, ...]
    neighbors: tuple[NeighborRow, ...]


class StatementsRequest(PageRequest):
    """Asks for statements: one by its id, those of a step, of a trajectory, or all."""

    statement: Name | None = None
    trajectory: Name | None = None
    step: Name | None = None
    """Of the trajectory: the statements that this step went into."""


class LinkRow(Response):
    """A statement that is near."""

    id: str
    similarity: float


class PlacedStatementRow(StatementRow):
    """A statement, with where it is among all."""

    theme: str
    neighbors: tuple[LinkRow, ...] = ()
    """The statements most like it, the best first; told of one that is asked for by its id."""


class StatementsResponse(PageResponse):
    """Statements, by trajectory and place."""

    statements: tuple[PlacedStatementRow, ...]


class EpisodesRequest(PageRequest):
    """Asks for episodes: one by its id, or those of a trajectory."""

    episode: Name | None = None
    trajectory: Name | None = None


class EpisodeRow(Response):
    """A stretch of consecutive steps of one trajectory that are about one thing."""

    id: str
    trajectory: str
    scope: str
    steps: tuple[str, ...]
    started_at: float | str | None
    ended_at: float | str | None


class EpisodesResponse(PageResponse):
    """Episodes of a trajectory, in order."""

    episodes: tuple[EpisodeRow, ...]
