"""From nodes along an axis to other nodes, in the groups in which positions are counted."""

from __future__ import annotations

from collections.abc import Iterable

from stitch.retrieve.path.forest import DOCUMENT, Forest
from stitch.retrieve.path.syntax import ANY, ANYTHING, Axis, Step

Row = dict[int, float]
"""Places with their scores."""


def along(step: Step, row: Row, *, forest: Forest, grouped: bool) -> list[Row]:
    """The nodes that a step reaches, without its brackets. Each has the score of the node it was reached from.

    Args:
        step: The step.
        row: Where it starts.
        forest: What is asked.
        grouped: Whether positions are counted. Then there is one row for each parent (for an axis that is spelled, for
            each node it starts at), in the order of the axis; otherwise one row with all.
    """
    if step.axis == "child":
        groups: Iterable[Row] = _children(step.type, row, forest)
    elif step.axis == "//":
        groups = [_below(step.type, row, forest)]
        if grouped:
            groups = _by_parent(groups[0], forest)
    else:
        groups = (_spelled(step, place, score, forest) for place, score in row.items())
    if grouped:
        return [group for group in groups if group]
    together: Row = {}
    for group in groups:
        _merge(together, group)
    return [together] if together else []


def _merge(row: Row, other: Row) -> None:
    """Add nodes to a row; a node reached in two ways has the better score."""
    if not row:
        row.update(other)
        return
    for place, score in other.items():
        if row.get(place, -1.0) < score:
            row[place] = score


def _children(type: str, row: Row, forest: Forest) -> Iterable[Row]:  # noqa: A002 - the word of the domain
    return [dict.fromkeys(forest.children(place, type), score) for place, score in row.items()]


def _below(type: str, row: Row, forest: Forest) -> Row:  # noqa: A002 - the word of the domain
    if len(row) == 1 and DOCUMENT in row:
        found: Row = {}
        for places in forest.below(DOCUMENT, type):
            found.update(dict.fromkeys(places, row[DOCUMENT]))
        return found
    found = {}
    covered, before = -1, -1.0
    for place, score in sorted(row.items(), key=lambda item: (item[1], item[0])):
        if score == before and place < covered:
            continue  # all below it is below one that was before it
        for places in forest.below(place, type):
            found.update(dict.fromkeys(places, score))
        tree = forest.tree_of(place) if place >= 0 else forest.base
        position = max(place, 0) & 0xFFFFFFFF
        covered, before = max(place, 0) - position + tree.ends[position], score
    return found  # the children of a node come all at once, in their order


def _by_parent(row: Row, forest: Forest) -> list[Row]:
    groups: dict[int | None, Row] = {}
    for place, score in row.items():
        groups.setdefault(forest.parent(place), {})[place] = score
    return list(groups.values())


def _spelled(step: Step, place: int, score: float, forest: Forest) -> Row:
    """The nodes of an axis from one node, the nearest first where the axis runs backwards."""
    found = _reached(step.axis, place, forest)
    if step.type == ANYTHING:
        return dict.fromkeys(found, score)
    return {there: score for there in found if there != DOCUMENT and step.type in (ANY, forest.node(there).type)}


def _reached(axis: Axis, place: int, forest: Forest) -> list[int]:
    if axis in ("descendant", "descendant-or-self"):
        below = [there for places in forest.below(place, ANY) for there in places]
        return below if axis == "descendant" else [place, *below]
    if place == DOCUMENT:
        return [0] if axis == "self" else []
    if axis == "self":
        return [place]
    if axis.endswith("sibling"):
        return forest.siblings(place, by=1 if axis == "following-sibling" else -1)
    found = [place] if axis == "ancestor-or-self" else []
    above = forest.parent(place)
    while above is not None:
        found.append(above)
        above = None if axis == "parent" else forest.parent(above)
    return found
