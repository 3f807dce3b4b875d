"""The trees of one tenant: made, opened by name, listed, asked together, deleted with proof."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from typing_extensions import Unpack

from stitch.core.arguments import told_in_a_line
from stitch.core.times import Time
from stitch.errors import InputError
from stitch.ingest.trees import Incoming, tree_name
from stitch.trees.core.commits import MAIN, tree_names
from stitch.trees.core.log import TreeLog
from stitch.trees.core.nodes import Tree
from stitch.trees.core.reading import file_text, read_tree
from stitch.trees.core.schema import Schema, infer, read_schema, schema_of
from stitch.trees.requests.asking import SelectOptions
from stitch.trees.requests.versioned import PERSON, TreeParts, VersionedTree, new_commit

if TYPE_CHECKING:
    from stitch.ingest import Ingestor
    from stitch.lifecycle.erase import ErasedFromTree, ErasedTrees
    from stitch.retrieve.path import NodeSelection

_LOGS_KEPT = 16


class TreeSummary(NamedTuple):
    """A tree of a memory, as it is listed."""

    name: str
    version: str
    """Its last version on the branch where it began."""
    versions: int
    branches: int
    nodes: int
    types: Mapping[str, int]
    """The number of nodes of each type."""
    time: str
    """Of its last version."""
    author: str
    message: str


@told_in_a_line
class Trees:
    """The trees of one tenant, reached as `Memory.trees`; no call can name another tenant's."""

    def __init__(self, parts: TreeParts) -> None:
        self.asker, self._parts = parts.asker, parts
        self._logs: dict[str, TreeLog] = {}
        self._lock = threading.Lock()

    @property
    def _ingestor(self) -> Ingestor:
        self._parts.process.check()
        return self._parts.ingestor

    def create(
        self,
        name: str,
        source: str | PathLike[str] | Mapping[str, Any] | Tree,
        *,
        schema: Schema | Mapping[str, Any] | str | PathLike[str] | None = None,
        form: str | None = None,
        message: str = "",
        author: str = PERSON,
        time: str = "",
    ) -> VersionedTree:
        """Make a tree; when this returns, it is durable, as version `v1`.

        It is made of a file (`xml`, `json`, `yaml` or `outline`: say which as `form` if its name does not), a
        dictionary, or a `Tree`. What edits have to keep to is a `Schema`, a dictionary, or the path of a YAML file;
        inferred from the tree if None. `message`, `author` and `time` (ISO 8601; now if empty) are of the first commit.

        Raises:
            InputError: There is a tree of this name, the file is malformed or too large, or breaks the schema.
        """
        self._parts.process.check_writing()
        name = tree_name(name)
        incoming = Incoming(redacts=self._ingestor.secrets.redacts)
        root = incoming.node(read_tree(source, form=form).root)
        chosen = given_schema(schema) or infer(Tree(root))
        chosen.check(Tree(root))
        first = new_commit(incoming, (), message=message, author=author, time=time)
        log = TreeLog.create(
            self._ingestor.journal, tenant=self._parts.tenant, name=name, root=root, schema=chosen, first=first
        )
        with self._lock:
            self._keep(log)
        return VersionedTree(log, self._parts)

    def open(self, name: str, *, branch: str = MAIN) -> VersionedTree:
        """A tree by its name, on the last version of a branch."""
        log = self._log(tree_name(name))
        log.refresh()
        return VersionedTree(log, self._parts, branch=branch)

    def names(self) -> list[str]:
        """The names of all trees as they were made; one of which something was erased stands where that was done."""
        return tree_names(self._ingestor.journal, self._parts.tenant)

    def list(self) -> list[TreeSummary]:
        """All trees, in the order of their `names`."""
        return [self.summary(name) for name in self.names()]

    def summary(self, name: str) -> TreeSummary:
        """A tree as it is listed."""
        own = self.open(name)
        history, tree = own.history(), own.tree
        last = history[-1]
        types = {name: len(places) for name, places in tree.of_type.items()}
        return TreeSummary(
            own.name, own.version, len(self._log(own.name).commits), len(own.branches), len(tree), types,
            last.time, last.author, last.message,
        )  # fmt: skip

    def select(
        self, query: str, *, tree: str | None = None, as_of: Time | None = None, **options: Unpack[SelectOptions]
    ) -> NodeSelection:
        """Ask all versions of a tree, or of all trees, by one path query, such as `/Version[message ~= "poster"]//POI`.

        Versions (up to `as_of`, a time) stand in their order, each with `@number`, `@time`, `@author`, `@tree` and
        `message`, and with its tree below it. Each node that is found says in which versions. The options are those of
        `VersionedTree.select`.
        """
        opened = [self.open(name) for name in ([tree] if tree is not None else self.names())]
        lines = {}
        for own in opened:
            log = self._log(own.name)
            if as_of is None:
                lines[own.name] = (log, log.line(own.version))
            elif tree is not None or log.existed_at(as_of):
                lines[own.name] = (log, log.line(log.version_at(as_of, branch=MAIN)))
        return self.asker.select_versions(query, lines, **options)

    def delete(self, name: str) -> ErasedTrees:
        """Erase a tree with all its versions, and search every file for what they said.

        Steps that tell of its edits are steps, and stay. What traces are left is in `proof.found`; copies made earlier
        are not touched.
        """
        from stitch.lifecycle.erase import erase_trees

        self._parts.process.check_writing()
        name = tree_name(name)
        self._log(name)  # refuses one that is not there
        with self._lock:
            self._logs.pop(name, None)
        return erase_trees(self._ingestor, [name], tenant=self._parts.tenant, folder=self._parts.folder)

    def erase(self, name: str, *, nodes: Sequence[str] = (), versions: Sequence[str] = ()) -> ErasedFromTree:
        """Erase nodes, or versions, from the whole history of a tree, and search every file for what they said.

        With a node goes what stood below it. Messages of commits that say what is gone are emptied. Ids of versions
        stay as they are, and are not given again. Steps that tell of edits are steps, and stay. What traces are left is
        in `proof.found`.

        Raises:
            InputError: There is no such tree, node (in any version) or version, or nothing would be left.
            ConflictError: Somebody has committed meanwhile; nothing was erased.
        """
        from stitch.lifecycle.erase import erase_from_tree

        self._parts.process.check_writing()
        if not nodes and not versions:
            raise InputError("nothing to erase is named", hint="name nodes or versions, or delete the whole tree")
        return erase_from_tree(
            self._ingestor, self._log(tree_name(name)), nodes=nodes, versions=versions,
            tenant=self._parts.tenant, folder=self._parts.folder,
        )  # fmt: skip

    def _log(self, name: str) -> TreeLog:
        with self._lock:
            log = self._logs.pop(name, None) or TreeLog(self._ingestor.journal, tenant=self._parts.tenant, name=name)
            self._keep(log)
            return log

    def _keep(self, log: TreeLog) -> None:
        self._logs[log.name] = log  # the last that was asked for is the last of them
        if len(self._logs) > _LOGS_KEPT:
            del self._logs[next(iter(self._logs))]


def given_schema(given: Schema | Mapping[str, Any] | str | PathLike[str] | None) -> Schema | None:
    """The schema that is meant: itself, a dictionary, or the path of a YAML file."""
    if given is None or isinstance(given, Schema):
        return given
    if isinstance(given, Mapping):
        return schema_of(given)
    return read_schema(file_text(Path(given)))
