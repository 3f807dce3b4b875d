"""Path queries asked of a tree, and of all versions of trees at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, TypedDict

from typing_extensions import Unpack

from stitch.artifacts.telling import quoted
from stitch.errors import SettingsError
from stitch.trees.commits import Commit
from stitch.trees.nodes import Tree
from stitch.trees.versions import TreeVersions

if TYPE_CHECKING:
    from stitch.core import Embedder
    from stitch.lm import LanguageModel
    from stitch.retrieve.path import Forest, NodeSelection
    from stitch.retrieve.path.scorers import Scorer
    from stitch.retrieve.path.semantics import ScorerSemantics

MODEL_SCORER = "model"


class SelectOptions(TypedDict, total=False):
    """How a path query is answered; see `VersionedTree.select`."""

    threshold: float | None
    margin: float | None
    k: int | None
    scorer: str | None


class TreeAsker:
    """Answers path queries.

    Args:
        embedder: What the scorer `sentence-transformers` compares texts by.
        model: What the scorer `model` asks; None if no model is used.
    """

    def __init__(self, embedder: Embedder, *, model: LanguageModel | None = None) -> None:
        self._embedder, self._model = embedder, model
        self._asked: dict[str, ScorerSemantics] = {}

    def semantics(self, scorer: str | None) -> ScorerSemantics:
        """Who scores conditions in words: a scorer by its name, by default the one with the shipped table.

        Raises:
            SettingsError: There is none of this name, or what it needs is missing.
        """
        from stitch.retrieve.path.scorers import DEFAULT_SCORER, scorer_named
        from stitch.retrieve.path.semantics import ScorerSemantics

        name = scorer or DEFAULT_SCORER
        if name not in self._asked:
            scorer_ = self._by_model() if name == MODEL_SCORER else scorer_named(name, embedder=self._embedder)
            self._asked[name] = ScorerSemantics(scorer_)
        return self._asked[name]

    def _by_model(self) -> Scorer:
        """The scorer that asks a language model, one call a condition.

        Raises:
            SettingsError: No model is set.
        """
        from stitch.lm import Purpose
        from stitch.retrieve.path.scorers import ModelScorer
        from stitch.signatures.programs import TreeProgram

        if self._model is None:
            raise SettingsError("the scorer 'model' needs a language model", hint="set `model`, as in the settings")
        model, program = self._model, TreeProgram()

        def rate(condition: str, texts: Sequence[str]) -> Sequence[float]:
            told = "\n".join(quoted({"n": number, "text": text}) for number, text in enumerate(texts, start=1))
            asked = quoted({"condition": condition})
            scored = model.run(program.score, purpose=Purpose("score nodes"), condition=asked, texts=told)
            return list(scored.scores)

        return ModelScorer(rate, model=model.name)

    def select(self, query: str, tree: Tree, **options: Unpack[SelectOptions]) -> NodeSelection:
        """Ask a tree."""
        from stitch.retrieve.path import Forest

        return self._select(query, Forest(tree), **options)

    def select_versions(
        self, query: str, lines: Mapping[str, tuple[TreeVersions, Sequence[Commit]]], **options: Unpack[SelectOptions]
    ) -> NodeSelection:
        """Ask versions of trees.

        Args:
            query: The query.
            lines: By the name of each tree its log, and the versions that are asked, in order.
            options: As for `VersionedTree.select`.
        """
        from stitch.retrieve.path.versions import Version, version_forest

        logs: dict[str, tuple[TreeVersions, str]] = {}
        versions: list[Version] = []
        for name, (log, commits) in lines.items():

            def place(version: str, name: str = name, log: TreeVersions = log) -> str:
                found = version if len(lines) == 1 else f"{name} {version}"
                logs[found] = log, version
                return found

            versions += [
                Version(
                    place(commit.id), number, commit.time, commit.author, commit.message,
                    None if commit.parent is None else place(commit.parent), commit.branch, name,
                )
                for number, commit in enumerate(commits, start=1)
            ]  # fmt: skip
        forest = version_forest(versions, tree=lambda place: logs[place][0].tree(logs[place][1]))
        return self._select(query, forest, **options)

    def _select(self, query: str, forest: Forest, **options: Unpack[SelectOptions]) -> NodeSelection:
        from stitch.retrieve.path import Cut, select

        cut = Cut(options.get("threshold"), options.get("margin"), options.get("k"))
        return select(query, forest=forest, semantics=self.semantics(options.get("scorer")), cut=cut)


def asks_versions(query: str, tree: Tree) -> bool:
    """Whether a query speaks of versions: of a type `Version` that the tree itself does not have.

    Raises:
        InputError: It cannot be read.
    """
    from stitch.retrieve.path import parse_query
    from stitch.retrieve.path.syntax import types_in
    from stitch.retrieve.path.versions import VERSION

    return VERSION in types_in(parse_query(query)) and VERSION not in tree.of_type
