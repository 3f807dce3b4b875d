"""What a memory is about: its themes, and what they are made of."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stitch.api.listing import part_of
from stitch.api.theme_models import (
    NeighborRow,
    StatementRow,
    ThemeRequest,
    ThemeResponse,
    ThemeRow,
    ThemesRequest,
    ThemesResponse,
)
from stitch.errors import InputError

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


def _row(statement: Statement) -> StatementRow:
    return StatementRow.made_of(statement, trust=statement.trust.value)
