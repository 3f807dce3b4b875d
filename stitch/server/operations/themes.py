"""Themes of a memory, and what they are made of."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from stitch.core import Statement, Theme
from stitch.core.hierarchy import Episode, Near
from stitch.core.steps import Name
from stitch.errors import InputError
from stitch.memory import Memory
from stitch.server.operations.answers import PAGE_ITEMS, Answer, Limit, Page, gathered, page, page_of
from stitch.server.operations.operation import operation


class Themes(Page):
    """Themes, those of most statements first."""

    themes: tuple[Theme, ...]


@operation("GET", "/v1/themes", "read")
def themes(memory: Memory, *, limit: Limit = PAGE_ITEMS, after: str | None = None, as_of: str | None = None) -> Themes:
    """List the themes, those of most statements first; as_of a moment, those of then."""
    found = memory.themes(limit=limit + 1, after=after, as_of=as_of)
    return Themes(themes=tuple(found[:limit]), next=found[limit - 1].id if len(found) > limit else None)


class NearTheme(Answer):
    """A theme that is near."""

    id: str
    name: str
    similarity: float


class WholeTheme(Page):
    """A theme with its statements, the oldest first, and the themes around it, the nearest first."""

    id: str
    name: str
    terms: tuple[str, ...]
    medoid: str
    statements: tuple[Statement, ...]
    neighbors: tuple[NearTheme, ...]


@operation("GET", "/v1/theme", "read")
def theme(memory: Memory, *, theme: Name, limit: Limit | None = None, after: str | None = None) -> WholeTheme:
    """Give a theme by its id, or by one that it had before it was merged; a limit counts its statements.

    Raises:
        InputError: There is no such theme.
    """
    hierarchy = memory.hierarchy
    found = hierarchy.theme(theme)
    if found is None:
        raise InputError(f"no theme {theme!r}", hint="`stitch themes` lists those there are")
    names, following = page_of(found.statements, limit=limit, after=after)
    said = (hierarchy.statement(name) for name in names)
    near = ((each, hierarchy.theme(each.id)) for each in hierarchy.theme_neighbors(found.id))
    return gathered(
        WholeTheme,
        found,
        statements=tuple(each for each in said if each is not None),
        neighbors=tuple(
            NearTheme(id=other.id, name=other.name, similarity=round(each.similarity, 4))
            for each, other in near
            if other is not None
        ),
        **following,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacedStatement(Statement):
    """A statement, with where it is among all."""

    theme: str
    neighbors: tuple[Near, ...]
    """The statements most like it, the best first; told of one that is asked for by its id."""


class Statements(Page):
    """Statements, by trajectory and place."""

    statements: tuple[PlacedStatement, ...]


@operation("GET", "/v1/statements", "read")
def statements(
    memory: Memory,
    *,
    statement: Name | None = None,
    trajectory: Name | None = None,
    step: Name | None = None,
    limit: Limit = PAGE_ITEMS,
    after: str | None = None,
) -> Statements:
    """List statements: one by its id, those that a step went into, those of a trajectory, or all.

    Raises:
        InputError: A step is named without its trajectory.
    """
    hierarchy = memory.hierarchy
    if statement is not None:
        one = hierarchy.statement(statement)
        found = [] if one is None else [one]
    elif trajectory is None and step is not None:
        raise InputError(f"step {step!r} of which trajectory?", hint="name its trajectory, too")
    elif trajectory is not None and step is not None:
        found = hierarchy.statements_of_step(trajectory, step)
    else:
        found = [each for each in hierarchy.statements() if trajectory in (None, each.trajectory)]
    shown, following = page_of(found, limit=limit, after=after, name=lambda each: each.id)
    placed = zip(shown, hierarchy.theme_ids([each.id for each in shown]), strict=True)
    near = hierarchy.neighbors(statement) if statement is not None else []
    return Statements(
        statements=tuple(
            PlacedStatement(**asdict(each), theme=theme, neighbors=tuple(near))
            for each, theme in placed
            if theme is not None  # else it left between two looks
        ),
        **following,
    )


class Episodes(Page):
    """Episodes of a trajectory, in order."""

    episodes: tuple[Episode, ...]


@operation("GET", "/v1/episodes", "read")
def episodes(
    memory: Memory,
    *,
    episode: Name | None = None,
    trajectory: Name | None = None,
    limit: Limit = PAGE_ITEMS,
    after: str | None = None,
) -> Episodes:
    """List the episodes of a trajectory, or give one by its id.

    Raises:
        InputError: Neither is named.
    """
    hierarchy = memory.hierarchy
    if episode is not None:
        one = hierarchy.episode(episode)
        found = [] if one is None else [one]
    elif trajectory is not None:
        found = list(hierarchy.episodes(trajectory))
    else:
        raise InputError("episodes of which trajectory?", hint="name a trajectory, or an episode")
    return page(Episodes, found, limit=limit, after=after, name=lambda each: each.id)
