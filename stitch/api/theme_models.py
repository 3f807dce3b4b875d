"""Requests and responses of themes and their statements."""

from __future__ import annotations

from stitch.api.listing_models import PartRequest
from stitch.api.models import PageRequest, PageResponse, Response
from stitch.core.steps import Name


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
