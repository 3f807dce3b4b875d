"""Path queries asked of a tree, and of all versions of trees at once."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated

from pydantic import Field
from typing_extensions import TypedDict, Unpack

from stitch.errors import InputError
from stitch.trees.core.commits import Commit
from stitch.trees.core.log import TreeLog
from stitch.trees.core.nodes import Tree

if TYPE_CHECKING:
    from stitch.core import Embedder
    from stitch.lm import LanguageModel
    from stitch.retrieve.path import Forest, NodeSelection
    from stitch.retrieve.path.semantics import ScorerSemantics

EPISODE, THEME, STATEMENT = "Episode", "Theme", "Statement"
KINDS = ("Memory", "Trajectory", "Scope", "Step", EPISODE, THEME, STATEMENT)
"""Types of what a memory of steps holds."""
VERSION = "Version"


class SelectOptions(TypedDict, total=False):
    """Options of a path query; see `VersionedTree.select`."""

    threshold: Annotated[float, Field(ge=0, le=1)] | None
    margin: Annotated[float, Field(ge=0, le=1)] | None
    k: Annotated[int, Field(ge=1)] | None
    scorer: str | None


class TreeAsker:
    """Answers path queries; the scorers `sentence-transformers` and `model` use what their names say.

    What a model costs is charged to the tenant.
    """

    def __init__(self, embedder: Embedder, *, model: LanguageModel | None = None, tenant: str = "") -> None:
        self._embedder, self._model, self._tenant = embedder, model, tenant
        self._asked: dict[str, ScorerSemantics] = {}

    def semantics(self, scorer: str | None) -> ScorerSemantics:
        """The scorer of conditions in words by its name; by default the one with the shipped table.

        After a colon stands the model of a scorer that needs one: `nli:FOLDER`.
        """
        from stitch.retrieve.path.scorers import DEFAULT_SCORER, scorer_named
        from stitch.retrieve.path.semantics import ScorerSemantics

        name = scorer or DEFAULT_SCORER
        if name not in self._asked:
            kind, _, model = name.partition(":")
            scorer_ = scorer_named(kind, model=model or None, embedder=self._embedder, language_model=self._model)
            self._asked[name] = ScorerSemantics(scorer_)
        return self._asked[name]

    def select(
        self, query: str, tree: Tree, *, kinds: Collection[str] = (), **options: Unpack[SelectOptions]
    ) -> NodeSelection:
        """Ask a tree, in which there may be nodes of some `kinds` beside those that there are."""
        from stitch.retrieve.path import Forest

        return self._select(query, Forest(tree, kinds=kinds), **options)

    def select_versions(
        self, query: str, lines: Mapping[str, tuple[TreeLog, Sequence[Commit]]], **options: Unpack[SelectOptions]
    ) -> NodeSelection:
        """Ask versions of trees: by the name of each its log, and the versions that are asked, in order."""
        from stitch.retrieve.path.forest import Version, version_forest

        logs: dict[str, tuple[TreeLog, str]] = {}
        versions: list[Version] = []
        for name, (log, commits) in lines.items():
            before = "" if len(lines) == 1 else f"{name} "
            for number, each in enumerate(commits, start=1):
                logs[before + each.id] = log, each.id
                parent = None if each.parent is None else before + each.parent
                said = each.time, each.author, each.message
                versions.append(Version(before + each.id, number, *said, parent, each.branch, name))
        forest = version_forest(versions, tree=lambda place: logs[place][0].tree(logs[place][1]))
        return self._select(query, forest, **options)

    def _select(self, query: str, forest: Forest, **options: Unpack[SelectOptions]) -> NodeSelection:
        from stitch.lm import charged_to
        from stitch.retrieve.path import Cut, select

        cut = Cut(options.get("threshold"), options.get("margin"), options.get("k"))
        semantics = self.semantics(options.get("scorer"))
        try:
            with charged_to(self._tenant):
                return select(query, forest=forest, semantics=semantics, cut=cut)
        except InputError as error:
            if (set(KINDS) & types_named(query)).issubset(forest.types()):
                raise
            raise InputError(error.message, hint="steps, episodes, statements and themes are no tree: select them "
                             "in the memory, without a tree") from error  # fmt: skip


def types_named(query: str) -> frozenset[str]:
    """The types that a query names, those inside of conditions included."""
    from stitch.retrieve.path import parse_query
    from stitch.retrieve.path.syntax import types_in

    return frozenset(types_in(parse_query(query)))


def asks_versions(query: str, tree: Tree) -> bool:
    """Whether a query speaks of versions: of a type `Version` that the tree itself does not have."""
    return VERSION not in tree.of_type and VERSION in types_named(query)
