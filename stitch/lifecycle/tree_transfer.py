"""Trees as lines of an export, and back: the first version whole, then every commit as it was."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

import orjson

from stitch.errors import StitchError
from stitch.ingest.ingestor import Ingestor
from stitch.ingest.trees import Incoming, tree_name
from stitch.journal import Journal
from stitch.lifecycle.export_schema import BranchLine, CommitFields, CommitLine, TreeLine, dump_line
from stitch.trees.core.commits import (
    TREES,
    Branch,
    Commit,
    Erased,
    load_entry,
    load_whole,
    log_key,
    rows_of,
    tree_names,
)
from stitch.trees.core.log import NewCommit, TreeLog, number_of
from stitch.trees.core.nodes import Tree
from stitch.trees.core.operations import operations_of
from stitch.trees.core.schema import infer, schema_of

_VERSION = r"v[1-9]\d{0,8}"


def tree_lines(journal: Journal, *, tenant: str) -> Iterator[str]:
    """Yield a tenant's trees as lines, in the order in which they were made."""
    for name in tree_names(journal, tenant):
        log = TreeLog(journal, tenant=tenant, name=name)
        for record in journal.records(tenant, kind=TREES, key=log_key(name)):
            entry = load_entry(record.payload)
            if isinstance(entry, Erased):
                continue
            if isinstance(entry, Branch):
                yield dump_line("branch", tree=name, branch=entry.name, at=entry.at)
                continue
            commit = {**entry.dump(), "recorded": entry.recorded}
            if entry.parent is None:
                yield dump_line("tree", tree=name, nodes=rows_of(log.tree(entry.id).root), commit=commit)
            else:
                yield dump_line("commit", tree=name, commit=commit)


class TreeImport:
    """Takes in lines of trees. What is there already, word for word, is left alone."""

    def __init__(self, ingestor: Ingestor, *, tenant: str) -> None:
        self._ingestor, self._tenant = ingestor, tenant
        self._logs: dict[str, TreeLog] = {}
        self._refused: set[str] = set()
        self.trees = 0
        """Number that were not there before."""

    def take(self, line: TreeLine | CommitLine | BranchLine) -> str:
        """Take in a line; return why it cannot be, or nothing."""
        if line.tree in self._refused:
            return f"tree {line.tree!r} is left out"
        try:
            reason = self._take(line)
        except StitchError as error:
            reason = error.message
        if reason:
            self._refused.add(line.tree)
        return reason

    def _take(self, line: TreeLine | CommitLine | BranchLine) -> str:
        if isinstance(line, TreeLine):
            return self._begin(line)
        if line.tree not in self._logs:
            return f"tree {line.tree!r} has not begun"
        log = self._logs[line.tree]
        if isinstance(line, BranchLine):
            if line.branch not in log.branches:
                log.begin_branch(line.branch, at=line.at)
            return ""
        return self._commit(log, line.commit)

    def _begin(self, line: TreeLine) -> str:
        journal = self._ingestor.journal
        name = tree_name(line.tree)
        incoming = Incoming(redacts=self._ingestor.secrets.redacts)
        root = incoming.node(load_whole(orjson.dumps(line.nodes)))
        if re.fullmatch(_VERSION, line.commit.version) is None:
            return f"version {line.commit.version!r} has no number"
        if name not in tree_names(journal, self._tenant):
            schema = infer(Tree(root)) if line.commit.schema_ is None else schema_of(line.commit.schema_)
            schema.check(Tree(root))
            begun = self._new(line.commit, incoming)
            self._logs[name] = TreeLog.create(
                journal, tenant=self._tenant, name=name, root=root, schema=schema, first=begun._replace(schema=None)
            )
            self.trees += 1
            return ""
        self._logs[name] = log = TreeLog(journal, tenant=self._tenant, name=name)
        first = log.commits[0]
        if first.id != line.commit.version or not self._is_known(first, line.commit) or log.tree(first.id).root != root:
            return f"there is another tree {name!r} here"
        return ""

    def _commit(self, log: TreeLog, said: CommitFields) -> str:
        known = {commit.id: commit for commit in log.commits}
        if own := known.get(said.version):
            same = self._is_known(own, said) and len(own.operations) == len(said.operations)
            return "" if same else f"tree {log.name!r} has another {said.version} here"
        last = max(map(number_of, known))  # between versions that are known some may be erased
        if said.parent is None or not re.fullmatch(_VERSION, said.version) or number_of(said.version) <= last:
            return f"version {said.version!r} of tree {log.name!r} comes out of turn"
        incoming = Incoming(redacts=self._ingestor.secrets.redacts)
        log.append(self._new(said, incoming), branch=said.branch, parent=said.parent)
        return ""

    @staticmethod
    def _new(said: CommitFields, incoming: Incoming) -> NewCommit:
        operations = incoming.operations(operations_of(said.operations))
        author, message = incoming.text(said.author, what="the author"), incoming.text(said.message, what="the message")
        redacted = dict(incoming.redacted + Counter(said.redacted))
        schema = None if said.schema_ is None else schema_of(said.schema_)
        return NewCommit(operations, author, message, said.recorded, said.time, schema, redacted, said.version)

    @staticmethod
    def _is_known(own: Commit, said: CommitFields) -> bool:
        return (own.parent, own.branch, own.time, own.recorded) == (said.parent, said.branch, said.time, said.recorded)


def faults_of_trees(journal: Journal, *, tenant: str) -> Iterator[str]:
    """Faults in the trees of a tenant, each with the name of the tree and the version."""
    for name in tree_names(journal, tenant):
        try:
            log = TreeLog(journal, tenant=tenant, name=name)
        except StitchError as error:
            yield f"tree {name!r}: {error.message}"
            continue
        yield from (f"tree {name!r}, {fault}" for fault in log.faults())
