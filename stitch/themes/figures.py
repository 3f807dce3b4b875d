"""What themes are like, in numbers."""

from __future__ import annotations

from typing import NamedTuple

from stitch.themes.grouping import MERGED, SPLIT
from stitch.themes.objective import sparsity
from stitch.themes.projection import ThemeProjection


class ThemeFigures(NamedTuple):
    """Of all themes of a tenant."""

    statements: int
    themes: int
    mean_size: float
    largest: int
    singles: float
    """Which share of the themes has one statement."""
    sparsity: float
    """How equal their sizes are: 1 if they are (`objective.sparsity`)."""
    cohesion: float
    """How similar a statement is to the centroid of its theme, on average."""
    reassigned: float
    """Which share of the statements is in another theme than the one to which it came, by splits and merges."""
    splits: int
    merges: int


def figures_of(projection: ThemeProjection) -> ThemeFigures:
    """The figures of a hierarchy, with all that happened to it so far."""
    upkeep = projection.upkeep
    members, statements = upkeep.grouping.members, len(upkeep.grouping.theme_of)
    sizes = [len(names) for names in members.values()]
    kinds = [event.kind for event in projection.events()]
    placed, came = upkeep.grouping.theme_of, projection.came_to()
    moved = sum(placed[name] != theme for name, theme in came.items() if name in placed)
    alike = sum(upkeep.group(theme).cohesion * len(names) for theme, names in members.items())
    return ThemeFigures(
        statements=statements,
        themes=len(members),
        mean_size=statements / max(1, len(members)),
        largest=max(sizes, default=0),
        singles=sizes.count(1) / max(1, len(members)),
        sparsity=sparsity(sizes) if sizes else 1.0,
        cohesion=alike / max(1, statements),
        reassigned=moved / max(1, statements),
        splits=kinds.count(SPLIT),
        merges=kinds.count(MERGED),
    )
