"""Versions of a tree as nodes that can be asked: `/Version[message ~= "poster"]//POI`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from stitch.retrieve.path.forest import Forest
from stitch.trees.nodes import Node, Tree

VERSION = "Version"


class Version(NamedTuple):
    """A version as it is asked about."""

    id: str
    number: int
    time: str
    author: str
    message: str
    parent: str | None


def version_forest(versions: Sequence[Version], *, tree: Callable[[str], Tree], name: str = "versions") -> Forest:
    """Versions in their order, each with its tree below; a tree is asked for when a query enters it.

    Args:
        versions: The first one first.
        tree: The tree of a version, by its id.
        name: The id of the node above them.
    """
    nodes = [
        Node(
            version.id,
            VERSION,
            fields={
                "number": str(version.number),
                "time": version.time,
                "author": version.author,
                "message": version.message,
            }
            | ({"parent": version.parent} if version.parent is not None else {}),
        )
        for version in versions
    ]
    parents = {version.id: version.parent for version in versions}

    def before(node: Node) -> Tree | None:
        parent = parents.get(node.id)
        return None if parent is None else tree(parent)

    return Forest(
        Tree(Node(name, "Versions", children=nodes)),
        below=lambda node: tree(node.id) if node.type == VERSION else None,
        before=before,
    )
