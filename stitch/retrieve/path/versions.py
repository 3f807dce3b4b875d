"""Versions of a tree as nodes that can be asked: `/Version[message ~= "poster"]//POI`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from stitch.retrieve.path.forest import Forest
from stitch.trees.core.nodes import Node, Tree

VERSION, VERSIONS = "Version", "Versions"
"""The types of a version, and of what holds them all."""


class Version(NamedTuple):
    """A version as it is asked about."""

    id: str
    number: int
    time: str
    author: str
    message: str
    parent: str | None
    """The id of the version before; None of the first."""
    branch: str = ""
    tree: str = ""
    """The name of its tree, where several are asked."""

    @property
    def node(self) -> Node:
        """The version as a node, with what can be asked about it as fields."""
        fields = {"message": self.message, "number": str(self.number), "time": self.time, "author": self.author}
        further = {"parent": self.parent or "", "branch": self.branch, "tree": self.tree}
        return Node(self.id, VERSION, fields=fields | {name: said for name, said in further.items() if said})


def version_forest(versions: Sequence[Version], *, tree: Callable[[str], Tree], name: str = "versions") -> Forest:
    """Versions in their order, each with its tree below; a tree is asked for when a query enters it.

    Args:
        versions: The first one first.
        tree: The tree of a version, by its id; also of those that come before one of `versions`.
        name: The id of the node above them.
    """
    parents = {version.id: version.parent for version in versions}

    def before(node: Node) -> Tree | None:
        parent = parents.get(node.id)
        return None if parent is None else tree(parent)

    return Forest(
        Tree(Node(name, VERSIONS, children=[version.node for version in versions])),
        below=lambda node: tree(node.id) if node.id in parents else None,
        before=before,
    )
