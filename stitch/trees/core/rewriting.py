"""Nodes and versions taken out of the whole history of a tree, as if they had never been there."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import NamedTuple

from stitch.errors import InputError
from stitch.journal import NewRecord, Record
from stitch.trees.core.commits import (
    Branch,
    Commit,
    Erased,
    entry_record,
    load_entry,
    log_key,
    texts_said,
    whole_record,
)
from stitch.trees.core.differences import diff
from stitch.trees.core.edits import Index
from stitch.trees.core.log import TreeLog
from stitch.trees.core.nodes import Node, Tree, rebuilt
from stitch.trees.core.operations import operation_json

_LEAST_CHARS = 3
"""A message that says a shorter text of a node does not speak of it."""


class Rewritten(NamedTuple):
    """A history without some nodes and versions."""

    records: tuple[NewRecord, ...]
    nodes: frozenset[str]
    """The ids of all nodes that are gone."""
    versions: tuple[str, ...]
    messages: tuple[str, ...]
    """The versions whose message said what is gone: it is empty now."""
    said: frozenset[str]
    """Texts that were said before and are not any more."""


def rewritten(log: TreeLog, *, nodes: Collection[str], versions: Collection[str]) -> Rewritten:
    """The records of a tree without some nodes, in any version, and without some versions. Nothing is written.

    With a node goes what stood below it when it was there last; what was moved out of it before stays, and stands in
    its place where it stood below it. What an erased version did is done by the one that comes after it. A branch whose
    last version is erased ends at the one before.

    Raises:
        InputError: There is no such node or version, or nothing would be left.
    """
    plan = _Plan(log, nodes=nodes, versions=versions)
    before, after = _texts(log.records()), _texts(plan.records())
    gone = {text for text in before - after if len(text) >= _LEAST_CHARS}
    told = [commit.id for commit in plan.commits if plan.nodes and any(text in commit.message for text in gone)]
    plan.silent = frozenset(told)
    records = tuple(plan.records())
    return Rewritten(records, plan.nodes, tuple(sorted(versions)), tuple(told), frozenset(before - _texts(records)))


def _texts(records: Iterable[Record | NewRecord]) -> set[str]:
    return {text for record in records for text in texts_said(record.payload)}


class _Plan:
    """The rest of a tree."""

    def __init__(self, log: TreeLog, *, nodes: Collection[str], versions: Collection[str]) -> None:
        self._log = log
        self._versions = frozenset(log.commit(version).id for version in versions)
        everything = log.commits
        self.commits = [commit for commit in everything if commit.id not in self._versions]
        if not self.commits:
            raise _nothing_left(log.name)
        self.nodes = frozenset(self._with_all_below(nodes, everything))
        if sum(self._parent(commit) is None for commit in self.commits) > 1:
            raise InputError(
                f"several versions of tree {log.name!r} come after the first one: it cannot be erased",
                hint="erase those first that begin other branches",
            )
        self.silent: frozenset[str] = frozenset()

    def _with_all_below(self, nodes: Collection[str], commits: Sequence[Commit]) -> set[str]:
        found: set[str] = set()
        left = set(nodes)
        for commit in reversed(commits):
            if not left:
                break
            tree = self._log.tree(commit.id)
            if tree.root.id in left:
                raise _nothing_left(self._log.name)
            for id_ in [id_ for id_ in left if id_ in tree]:
                place = tree.position(id_)
                found |= {tree.nodes[inner].id for inner in (place, *tree.below(place))}
                left.discard(id_)
        if left:
            raise InputError(
                f"no version of tree {self._log.name!r} has a node {sorted(left)[0]!r}",
                hint="`stitch tree show` draws the tree with the ids of its nodes",
            )
        return found

    def _parent(self, commit: Commit) -> str | None:
        """The nearest version before that is left."""
        before = commit.parent
        while before is not None and before in self._versions:
            before = self._log.commit(before).parent
        return before

    def _root(self, version: str) -> Node:
        tree = self._log.tree(version)
        return without(tree, self.nodes) if any(id_ in tree for id_ in self.nodes) else tree.root

    def records(self) -> Iterator[NewRecord]:
        """Records of the rest, in order: the log, and whole trees beside it."""
        name = self._log.name
        left = {commit.id for commit in self.commits}
        for record in self._log.records():
            entry = load_entry(record.payload) if record.key == log_key(name) else None
            if isinstance(entry, Commit) and entry.id in left:
                yield from self._commit(entry)
            elif isinstance(entry, Branch):
                at = entry.at if entry.at in left else self._parent(self._log.commit(entry.at)) or self.commits[0].id
                yield entry_record(name, entry._replace(at=at))
            elif isinstance(entry, Erased):
                yield entry_record(name, entry)
        yield entry_record(name, Erased(tuple(sorted(self._versions)), self._log.last_number))

    def _commit(self, old: Commit) -> Iterator[NewRecord]:
        """A commit as it is now, and the whole tree beside the first one."""
        parent, root = self._parent(old), self._root(old.id)
        commit = old._replace(parent=parent, message="" if old.id in self.silent else old.message)
        if parent is None:
            commit = commit._replace(operations=(), schema=self._log.schema(old.id).dump())
        elif self.nodes or parent != old.parent:
            before = self._root(parent)
            done = Index(before).edit(diff(Tree(before), Tree(root)).operations)
            commit = commit._replace(operations=tuple(map(operation_json, done)))
            if self._log.schema(parent) != self._log.schema(old.id):
                commit = commit._replace(schema=self._log.schema(old.id).dump())
        yield entry_record(self._log.name, commit)
        if parent is None:
            yield whole_record(self._log.name, commit.id, root)


def without(tree: Tree, gone: Collection[str]) -> Node:
    """A tree without some nodes but its root; what stands below one of them and stays stands in its place."""
    return rebuilt(tree.root, lambda node: node.children if node.id in gone else (node,))


def _nothing_left(name: str) -> InputError:
    return InputError(f"nothing would be left of tree {name!r}", hint="`stitch tree delete` erases a whole tree")
