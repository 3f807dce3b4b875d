"""Path queries asked of a tree, and of all versions of trees at once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, TypedDict

from typing_extensions import Unpack

from stitch.errors import SettingsError
from stitch.trees.commits import Commit
from stitch.trees.log import TreeLog
from stitch.trees.nodes import Node, Tree

if TYPE_CHECKING:
    from stitch.core import Embedder
    from stitch.retrieve.path import Forest, NodeSelection

VERSION_TYPE, VERSIONS_TYPE = "Version", "Versions"
"""Of a version among all, and of what holds them."""


class SelectOptions(TypedDict, total=False):
    """How a path query is answered; see `VersionedTree.select`."""

    threshold: float | None
    margin: float | None
    k: int | None
    scorer: str | None


class NoSemantics:
    """Refuses semantic conditions: nobody scores them yet."""

    def scores(self, condition: object, places: Sequence[int], *, forest: object) -> dict[int, float]:
        """Refuse."""
        raise SettingsError("nobody scores semantic conditions yet", hint='ask by structure and types: @field = "x"')

    def apart(self, places: Sequence[int], *, forest: object) -> Callable[[int, int], float]:
        """Refuse."""
        raise SettingsError("nobody compares nodes by their meaning yet", hint="leave out `| diverse`")


class TreeAsker:
    """Answers path queries.

    Args:
        embedder: Makes the vectors of semantic conditions.
    """

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder

    def asks_versions(self, query: str, tree: Tree) -> bool:
        """Whether a query speaks of versions: of a type `Version` that the tree itself does not have.

        Raises:
            InputError: It cannot be read.
        """
        from stitch.retrieve.path import parse_query
        from stitch.retrieve.path.syntax import types_in

        return VERSION_TYPE in types_in(parse_query(query)) and VERSION_TYPE not in tree.of_type

    def select(self, query: str, tree: Tree, **options: Unpack[SelectOptions]) -> NodeSelection:
        """Ask a tree."""
        from stitch.retrieve.path import Forest

        return self._select(query, Forest(tree), **options)

    def select_versions(
        self, query: str, lines: Mapping[str, tuple[TreeLog, Sequence[Commit]]], **options: Unpack[SelectOptions]
    ) -> NodeSelection:
        """Ask versions of trees.

        Args:
            query: The query.
            lines: By the name of each tree its log, and the versions that are asked, in order.
            options: As for `VersionedTree.select`.
        """
        from stitch.retrieve.path import Forest

        logs: dict[str, tuple[TreeLog, str]] = {}
        versions: list[Node] = []
        for name, (log, commits) in lines.items():
            for number, commit in enumerate(commits, start=1):
                place = commit.id if len(lines) == 1 else f"{name} {commit.id}"
                logs[place] = (log, commit.id)
                versions.append(_version(commit, tree=name, number=number, id=place))
        forest = Forest(
            Tree(Node("versions", VERSIONS_TYPE, children=versions)),
            below=lambda node: logs[node.id][0].tree(logs[node.id][1]) if node.id in logs else None,
        )
        return self._select(query, forest, **options)

    def _select(self, query: str, forest: Forest, **options: Unpack[SelectOptions]) -> NodeSelection:
        from stitch.retrieve.path import Cut, select

        threshold = options.get("threshold")
        cut = Cut(margin=options.get("margin"), k=options.get("k"))
        if threshold is not None:
            cut = replace(cut, threshold=threshold)
        return select(query, forest=forest, semantics=NoSemantics(), cut=cut)


def _version(commit: Commit, *, tree: str, number: int, id: str) -> Node:  # noqa: A002 - the word of the domain
    fields = {
        "message": commit.message, "number": str(number), "time": commit.time, "author": commit.author,
        "branch": commit.branch, "tree": tree,
    }  # fmt: skip
    return Node(id, VERSION_TYPE, fields=fields)
