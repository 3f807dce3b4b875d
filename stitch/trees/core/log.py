"""The versions of one tree in the journal: the whole tree of the first one, and a log of commits."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timezone
from typing import Any, NamedTuple

from stitch.core.times import Time, moment_said
from stitch.errors import ConflictError, InputError, JournalError, StitchError, some_of
from stitch.journal import Journal, NewRecord, Record
from stitch.text.dates import read_timestamp
from stitch.trees.core.commits import (
    MAIN,
    TREES,
    Branch,
    Commit,
    Erased,
    entry_record,
    keys_of,
    load_entry,
    load_whole,
    log_key,
    no_tree,
    tree_names,
    whole_key,
    whole_record,
)
from stitch.trees.core.differences import TreeDiff, diff
from stitch.trees.core.edits import Index
from stitch.trees.core.nodes import Node, Tree
from stitch.trees.core.operations import Operation, operation_json
from stitch.trees.core.schema import Schema, schema_of

_TREES_KEPT = 4


class NewCommit(NamedTuple):
    """A commit to be made."""

    operations: Sequence[Operation]
    author: str
    message: str
    recorded: float
    time: str = ""
    """As `Commit.time`; of `recorded` if empty."""
    schema: Schema | None = None
    """Another schema from here on."""
    redacted: dict[str, int] = {}  # noqa: RUF012 - never changed
    id: str = ""
    """The id of the version, greater than all before; the next number if empty."""

    def made(self, version: str, parent: str | None, branch: str, *, operations: Sequence[Operation] = ()) -> Commit:
        """The commit with what was done."""
        recorded = datetime.fromtimestamp(self.recorded, tz=timezone.utc)
        return Commit(
            self.id or version, parent, branch, self.time or recorded.strftime("%Y-%m-%dT%H:%M:%SZ"), self.recorded,
            self.author, self.message, tuple(map(operation_json, operations)),
            None if self.schema is None else self.schema.dump(), self.redacted,
        )  # fmt: skip


class TreeLog:
    """The versions of a tree in the journal. Safe to use from several threads, and beside others on one journal."""

    def __init__(self, journal: Journal, *, tenant: str, name: str) -> None:
        self.name, self._journal, self._tenant = name, journal, tenant
        self._lock = threading.RLock()
        self._forget()
        self.refresh()

    def _forget(self) -> None:
        self._commits: dict[str, Commit] = {}
        self._heads: dict[str, str] = {}
        self._schemas: dict[str, Schema] = {}
        self._trees: dict[str, Tree] = {}
        self._erased: list[str] = []
        self._numbers: list[int] = []
        self._index: tuple[str, Index] | None = None
        self._greatest = 0
        """The greatest number of a version, of erased ones too."""

    @classmethod
    def create(
        cls, journal: Journal, *, tenant: str, name: str, root: Node, schema: Schema, first: NewCommit
    ) -> TreeLog:
        """Keep a new tree, whose first version is `v1`.

        Raises:
            InputError: There is one of this name.
        """
        Tree(root).positions  # noqa: B018 - refuses two nodes of one id
        commit = first._replace(schema=schema).made("v1", None, MAIN)
        try:
            journal.append_records(tenant, [entry_record(name, commit), whole_record(name, commit.id, root)], last=0)
        except ConflictError:
            raise InputError(
                f"there is a tree {name!r} in this memory", hint="choose another name, or delete it first"
            ) from None
        log = cls(journal, tenant=tenant, name=name)
        log._keep(commit.id, Tree(root))
        return log

    def refresh(self) -> None:
        """Take in what others have committed.

        Raises:
            InputError: The tree was deleted.
        """
        with self._lock:
            last = self._numbers[-1] if self._numbers else 0
            # The last one that is known is read again: if it is not there, the tree was deleted.
            records = self._journal.records(self._tenant, kind=TREES, key=log_key(self.name), after=max(last - 1, 0))
            found = list(records)
            if last and (not found or found[0].number != last):
                # Something was erased from its history, or all of it.
                found = list(self._journal.records(self._tenant, kind=TREES, key=log_key(self.name)))
                if found := found if self._is_left_in(found) else []:
                    self._forget()
                    last = 0
            if not found:
                raise no_tree(self.name, tree_names(self._journal, self._tenant))
            for record in found[1 if last else 0 :]:
                entry = load_entry(record.payload)
                if isinstance(entry, Branch):
                    self._heads[entry.name] = entry.at
                elif isinstance(entry, Erased):
                    self._erased += entry.versions
                    self._greatest = max(self._greatest, *map(number_of, entry.versions), 0)
                else:
                    self._take(entry)
                self._numbers.append(record.number)

    def _is_left_in(self, found: Sequence[Record]) -> bool:
        """Whether records are what an erasure has left of this tree, and not another tree of its name."""
        entries = [load_entry(record.payload) for record in found]
        rewritten = any(isinstance(entry, Erased) and entry.after >= self._numbers[-1] for entry in entries)
        commits = ((entry.id, entry.recorded) for entry in entries if isinstance(entry, Commit))
        known = {(commit.id, commit.recorded) for commit in self._commits.values()}
        return rewritten and not known.isdisjoint(commits)

    def _take(self, commit: Commit) -> None:
        self._commits[commit.id] = commit
        self._heads[commit.branch] = commit.id
        given, before = commit.schema, commit.parent or ""
        self._schemas[commit.id] = self._schemas[before] if given is None else schema_of(given)
        self._greatest = max(self._greatest, number_of(commit.id))

    def _whole(self, version: str) -> Node:
        for record in self._journal.records(self._tenant, kind=TREES, key=whole_key(self.name, version)):
            return load_whole(record.payload)
        self.refresh()  # it may have been erased since
        raise JournalError(
            f"version {version!r} of tree {self.name!r} is missing in the journal",
            hint="restore the memory from a backup",
        )

    @property
    def last_number(self) -> int:
        """The number of its last record that is known."""
        return self._numbers[-1]

    def records(self) -> list[Record]:
        """All that the journal keeps of it, in the order of its coming."""
        own = set(keys_of(self._journal, self._tenant, self.name))
        return [record for record in self._journal.records(self._tenant, kind=TREES) if record.key in own]

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
        """The version that is meant by its id or a branch, or the last one of a branch at a time (UTC without a zone).

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
        """The tree as it was in a version."""
        with self._lock:
            tree = self._trees.pop(version, None)
            return self._keep(version, Tree(self._made_of_those_before(version)) if tree is None else tree)

    def diff(self, before: str, after: str) -> TreeDiff:
        """The difference of two versions."""
        return diff(self.tree(before), self.tree(after))

    def _keep(self, version: str, tree: Tree) -> Tree:
        self._trees[version] = tree  # the last that was asked for is the last of them
        if len(self._trees) > _TREES_KEPT:
            del self._trees[next(iter(self._trees))]
        return tree

    def _made_of_those_before(self, version: str) -> Node:
        """The nearest tree before that is at hand, or the first, which is kept whole, with the operations since."""
        since: list[Mapping[str, Any]] = []
        for commit in reversed(self.line(version)):
            if commit.id in self._trees or commit.parent is None:
                break
            since[:0] = commit.operations
        index = Index(self._trees[commit.id].root if commit.id in self._trees else self._whole(commit.id))
        index.edit(since)
        return index.root

    # What is done.

    def append(self, new: NewCommit, *, branch: str, parent: str) -> Commit:
        """Do operations to the last version of a branch, and keep what comes of it.

        Raises:
            ConflictError: Somebody has committed since; names what.
            EditRefusedError: The operations cannot be done, or break the schema; nothing was changed.
        """
        (made,) = self.append_all([new], branch=branch, parent=parent)
        return made

    def append_all(self, several: Sequence[NewCommit], *, branch: str, parent: str) -> list[Commit]:
        """Commits after each other, all or none; see `append`."""
        with self._lock:
            self.refresh()
            self._check_head(branch, parent)
            index, schema, at = self._index_of(parent), self._schemas[parent], parent
            made: list[Commit] = []
            records: list[NewRecord] = []
            for number, new in enumerate(several, start=self._greatest + 1):
                schema = new.schema or schema
                done = index.edit(new.operations, schema=schema)
                self._index = None  # it is ahead of the journal until all is kept
                if new.schema is not None:
                    schema.check(Tree(index.root))
                commit = new.made(f"v{number}", at, branch, operations=done)
                at = commit.id
                records.append(entry_record(self.name, commit))
                made.append(commit)
            self._write(records, branch=branch, parent=parent)
            self._index = (at, index)
            self._keep(at, Tree(index.root))
            return made

    def rewrite(self, records: Sequence[NewRecord]) -> None:
        """Keep other records instead of all there are of this tree, in one stroke.

        Raises:
            ConflictError: Somebody has committed meanwhile; nothing was changed.
        """
        with self._lock:
            old = keys_of(self._journal, self._tenant, self.name)
            try:
                self._journal.append_records(self._tenant, records, last=self._numbers[-1], instead_of=old)
            except ConflictError:
                raise ConflictError(
                    f"somebody committed to tree {self.name!r} meanwhile: nothing was erased", hint="erase it again"
                ) from None
            self._forget()
            self.refresh()

    def _write(self, records: Sequence[NewRecord], *, branch: str, parent: str) -> None:
        """Keep records behind the last one that is known.

        Raises:
            ConflictError: There are others by now.
        """
        try:
            self._journal.append_records(self._tenant, records, last=self._numbers[-1])
        except ConflictError:
            self.refresh()
            self._check_head(branch, parent)
            raise ConflictError(
                f"somebody committed to tree {self.name!r} at the same time", hint="commit it again"
            ) from None
        self.refresh()

    def _index_of(self, version: str) -> Index:
        if self._index is not None and self._index[0] == version:
            return self._index[1]
        return Index(self.tree(version).root)

    def _check_head(self, branch: str, parent: str) -> None:
        if (head := self.head(branch)) != parent:
            by = self.commit(head)
            raise ConflictError(
                f"tree {self.name!r} was changed meanwhile: {head} by {by.author!r} ({by.message or 'no message'})"
                f" came after {parent}",
                hint="look at that version, then edit it: `stitch tree log` and `stitch tree diff` show it",
            )

    def begin_branch(self, name: str, *, at: str) -> None:
        """Start a branch.

        Raises:
            InputError: There is a branch of this name, or no such version.
        """
        with self._lock:
            self.refresh()
            self.commit(at)
            if name in self._heads or name in self._commits:
                raise InputError(f"tree {self.name!r} has a branch or version {name!r}", hint="choose another name")
            self._write([entry_record(self.name, Branch(name, at))], branch=MAIN, parent=self.head(MAIN))

    def faults(self) -> Iterator[str]:
        """Faults of the history: versions that do not come of those before by their operations, or break their schema.

        Every version is made again from the first one on.
        """
        heads = set(self.branches.values())
        at: tuple[str | None, Index] | None = None
        for commit in self.commits:
            try:
                if at is None or at[0] != commit.parent:
                    at = None, Index(self.tree(commit.parent or commit.id).root)
                at[1].edit(commit.operations)
                at = commit.id, at[1]
                if commit.id in heads:
                    self.schema(commit.id).check(Tree(at[1].root))
            except StitchError as error:
                yield f"version {commit.id}: {error.message}"
                return


def number_of(version: str) -> int:
    """The number of a version: 3 of `v3`."""
    return int(version.removeprefix("v"))


def _made(commit: Commit) -> float:
    seconds = _seconds(commit.time)
    return commit.recorded if seconds is None else seconds


def _seconds(time: str | float) -> float | None:
    """Unix seconds of a time; None of what is no time."""
    if not isinstance(time, str):
        return float(time)
    read = read_timestamp(time)
    return None if read is None else (read if read.tzinfo else read.replace(tzinfo=timezone.utc)).timestamp()
