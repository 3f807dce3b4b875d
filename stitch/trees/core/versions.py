"""The versions of a tree as they are known here: commits, branches, schemas, and the tree of each version."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Mapping
from datetime import timezone
from typing import Any

from stitch.core.times import Time, moment_said
from stitch.errors import InputError, some_of
from stitch.text.dates import read_timestamp
from stitch.trees.core.commits import Commit
from stitch.trees.core.differences import TreeDiff, diff
from stitch.trees.core.edits import Index
from stitch.trees.core.nodes import Node, Tree
from stitch.trees.core.schema import Schema

_TREES_KEPT = 4


class TreeVersions(ABC):
    """The versions of a tree, wherever they are kept. Safe to use from several threads."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._lock = threading.RLock()
        self._forget()

    def _forget(self) -> None:
        self._commits: dict[str, Commit] = {}
        self._heads: dict[str, str] = {}
        self._schemas: dict[str, Schema] = {}
        self._trees: dict[str, Tree] = {}
        self._erased: list[str] = []
        """Versions that were erased from the history."""

    @abstractmethod
    def refresh(self) -> None:
        """Take in what others have committed.

        Raises:
            InputError: The tree was deleted.
        """

    @abstractmethod
    def _whole(self, commit: Commit) -> Node | None:
        """The tree of a version as it is kept, always of the first; None if it is to be made of the version before."""

    # What there is.

    @property
    def commits(self) -> list[Commit]:
        """All commits, the first first."""
        with self._lock:
            return list(self._commits.values())

    @property
    def branches(self) -> dict[str, str]:
        """The last version of each branch."""
        with self._lock:
            return dict(self._heads)

    def head(self, branch: str) -> str:
        """The last version of a branch."""
        heads = self.branches
        if branch not in heads:
            raise InputError(f"tree {self.name!r} has no branch {branch!r}", hint=f"it has {some_of(list(heads))}")
        return heads[branch]

    def commit(self, version: str) -> Commit:
        """A commit by the id of its version."""
        with self._lock:
            if version not in self._commits:
                last = next(reversed(self._commits))
                raise InputError(
                    f"tree {self.name!r} has no version {version!r}",
                    hint="it was erased" if version in self._erased else f"its versions are v1 to {last}",
                )
            return self._commits[version]

    def line(self, version: str) -> list[Commit]:
        """A version with all before it, the first first."""
        with self._lock:
            found = [self.commit(version)]
            while (before := found[-1].parent) is not None:
                found.append(self._commits[before])
        return found[::-1]

    def version_at(self, when: Time, *, branch: str) -> str:
        """The version that is meant by its id, or the last one of a branch at a time.

        Args:
            when: An id, Unix seconds, a time of Python, or one as ISO 8601 writes it (UTC if it says no zone).
            branch: Whose versions a time means.

        Raises:
            InputError: There is no such version, or none at that time.
        """
        when = moment_said(when)
        if isinstance(when, str):
            with self._lock:
                if when in self._commits:
                    return when
                if when in self._heads:
                    return self._heads[when]
        moment = _seconds(when)
        if moment is None:
            return self.commit(str(when)).id  # there is none: says which there are
        then = [each for each in self.line(self.head(branch)) if _made(each) <= moment]
        if not then:
            raise InputError(
                f"tree {self.name!r} had no version at {when}", hint="`stitch tree log` lists the versions"
            )
        return then[-1].id

    def existed_at(self, when: Time) -> bool:
        """Whether there was a version at a time; what is no time is left to `version_at`."""
        moment = _seconds(moment_said(when))
        return moment is None or _made(self.commits[0]) <= moment

    def schema(self, version: str) -> Schema:
        """The schema to which a version keeps."""
        with self._lock:
            return self._schemas[self.commit(version).id]

    def tree(self, version: str) -> Tree:
        """The tree as it was in a version.

        Raises:
            InputError: There is no such version.
            JournalError: It is damaged.
        """
        with self._lock:
            tree = self._trees.pop(version, None)
            return self._keep(version, Tree(self._made_of_those_before(version)) if tree is None else tree)

    def diff(self, before: str, after: str) -> TreeDiff:
        """The difference of two versions."""
        return diff(self.tree(before), self.tree(after))

    def _take(self, commit: Commit) -> None:
        self._commits[commit.id] = commit
        self._heads[commit.branch] = commit.id
        self._schemas[commit.id] = commit.schema_given() or self._schemas[commit.parent or ""]

    def _keep(self, version: str, tree: Tree) -> Tree:
        self._trees[version] = tree  # the last that was asked for is the last of them
        if len(self._trees) > _TREES_KEPT:
            del self._trees[next(iter(self._trees))]
        return tree

    def _made_of_those_before(self, version: str) -> Node:
        """The nearest tree before that is at hand, or kept whole, with the operations since."""
        since: list[Mapping[str, Any]] = []
        root: Node | None = None
        for commit in reversed(self.line(version)):
            root = self._trees[commit.id].root if commit.id in self._trees else self._whole(commit)
            if root is not None:
                break
            since[:0] = commit.operations
        assert root is not None  # the first version is kept whole
        if since:
            index = Index(root)
            index.edit(since)
            return index.root
        return root


def _made(commit: Commit) -> float:
    seconds = _seconds(commit.time)
    return commit.recorded if seconds is None else seconds


def _seconds(time: str | float) -> float | None:
    """Unix seconds of a time; None of what is no time."""
    if not isinstance(time, str):
        return float(time)
    read = read_timestamp(time)
    return None if read is None else (read if read.tzinfo else read.replace(tzinfo=timezone.utc)).timestamp()
