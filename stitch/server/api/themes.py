"""What a memory is about: its themes, and what they are made of."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stitch.errors import InputError
from stitch.server.api.listing import page_of, part_of
from stitch.server.api.theme_models import (
    EpisodeRow,
    EpisodesRequest,
    EpisodesResponse,
    LinkRow,
    NeighborRow,
    PlacedStatementRow,
    StatementRow,
    StatementsRequest,
    StatementsResponse,
    ThemeRequest,
    ThemeResponse,
    ThemeRow,
    ThemesRequest,
    ThemesResponse,
)

if TYPE_CHECKING:
    from stitch.core import Statement
    from stitch.memory import Memory


def themes(memory: Memory, request: ThemesRequest) -> ThemesResponse:
    """List the themes, those of most statements first."""
    found = memory.themes(limit=request.limit + 1, after=request.after, as_of=request.as_of)
    page = found[: request.limit]
    return ThemesResponse(
        themes=tuple(map(ThemeRow.made_of, page)), next=page[-1].id if len(found) > len(page) else None
    )


def theme(memory: Memory, request: ThemeRequest) -> ThemeResponse:
    """Give a theme with its statements and neighbors.

    Raises:
        InputError: There is no such theme.
    """
    hierarchy = memory.hierarchy
    found = hierarchy.theme(request.theme)
    if found is None:
        raise InputError(f"no theme {request.theme!r}", hint="`stitch themes` lists those there are")
    names, following = part_of(found.statements, request, name=str)
    said = (hierarchy.statement(name) for name in names)
    near = ((each, hierarchy.theme(each.id)) for each in hierarchy.theme_neighbors(found.id))
    return ThemeResponse.made_of(
        found,
        statements=tuple(_row(each) for each in said if each is not None),
        neighbors=tuple(
            NeighborRow(id=other.id, name=other.name, similarity=round(each.similarity, 4))
            for each, other in near
            if other is not None
        ),
        **following,
    )


def statements(memory: Memory, request: StatementsRequest) -> StatementsResponse:
    """List statements.

    Raises:
        InputError: A step is named without its trajectory.
    """
    hierarchy = memory.hierarchy
    if request.statement is not None:
        one = hierarchy.statement(request.statement)
        found = [] if one is None else [one]
    elif request.trajectory is None and request.step is not None:
        raise InputError(f"step {request.step!r} of which trajectory?", hint="name its trajectory, too")
    elif request.trajectory is not None and request.step is not None:
        found = hierarchy.statements_of_step(request.trajectory, request.step)
    else:
        found = hierarchy.statements()
        if request.trajectory is not None:
            found = [each for each in found if each.trajectory == request.trajectory]
    page, following = page_of(found, request.after, limit=request.limit, name=lambda each: each.id)
    placed = zip(page, hierarchy.theme_ids([each.id for each in page]), strict=True)
    near = hierarchy.neighbors(request.statement) if request.statement is not None else []
    links = {"neighbors": tuple(map(LinkRow.made_of, near))} if near else {}
    return StatementsResponse(
        statements=tuple(
            PlacedStatementRow.made_of(each, trust=each.trust.value, theme=theme, **links)
            for each, theme in placed
            if theme is not None  # else it left between two looks
        ),
        next=following,
    )


def episodes(memory: Memory, request: EpisodesRequest) -> EpisodesResponse:
    """List the episodes of a trajectory, or give one.

    Raises:
        InputError: Neither is named.
    """
    hierarchy = memory.hierarchy
    if request.episode is not None:
        one = hierarchy.episode(request.episode)
        found = [] if one is None else [one]
    elif request.trajectory is not None:
        found = list(hierarchy.episodes(request.trajectory))
    else:
        raise InputError("episodes of which trajectory?", hint="name a trajectory, or an episode")
    page, following = page_of(found, request.after, limit=request.limit, name=lambda each: each.id)
    return EpisodesResponse(episodes=tuple(map(EpisodeRow.made_of, page)), next=following)


def _row(statement: Statement) -> StatementRow:
    return StatementRow.made_of(statement, trust=statement.trust.value)
