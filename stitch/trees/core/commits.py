"""Commits of a tree, and how the journal keeps them: a log of entries, and the whole tree of the first version."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import orjson

from stitch.errors import InputError, JournalError, some_of
from stitch.journal import Journal, NewRecord
from stitch.trees.core.nodes import Node

MAIN = "main"
"""The branch on which a tree begins."""
TREES = "artifact"
"""The kind of the records of trees. The key is a JSON list: the name of the tree; of a whole tree, its version too."""
_RESTORE = "restore the memory from a backup"
_ONCE_SAID = ("digest", "whole", "snapshot")
"""Keys of entries of older memories, which kept whole trees beside other commits, too."""


class Commit(NamedTuple):
    """One version of a tree: what made it of the version before."""

    id: str
    """`v1`, `v2`, ...: in the order of the commits of all branches."""
    parent: str | None
    """The version before; None of the first."""
    branch: str
    time: str
    """When, as whoever committed says it in ISO 8601; else as `recorded`, in UTC."""
    recorded: float
    """The time of the commit in Unix seconds."""
    author: str
    """A person, an agent or a model."""
    message: str
    operations: tuple[Mapping[str, Any], ...]
    """The operations as JSON; nothing open, so that they can be done again."""
    schema: Mapping[str, Any] | None = None
    """The schema from here on, if it is another."""
    redacted: Mapping[str, int] = {}
    """The number of secrets of each kind that were taken out of what came in with it."""

    def dump(self) -> dict[str, Any]:
        """The commit as JSON, in the format of a file of commits."""
        told: dict[str, Any] = {
            "version": self.id, "parent": self.parent, "branch": self.branch, "time": self.time, "author": self.author,
            "message": self.message, "operations": list(self.operations),
        }  # fmt: skip
        if self.schema is not None:
            told["schema"] = self.schema
        if self.redacted:
            told["redacted"] = dict(self.redacted)
        return told


class Branch(NamedTuple):
    """A name for another line of versions."""

    name: str
    at: str
    """The version where it begins."""


class Erased(NamedTuple):
    """Record of an erasure from the history; ids of versions that are gone are not given again."""

    versions: tuple[str, ...]
    after: int
    """The number of the last record before: whoever knows that one reads all of it again."""


Entry: TypeAlias = Commit | Branch | Erased
"""An entry of a tree in the journal."""


def entry_record(tree: str, entry: Entry) -> NewRecord:
    """An entry as the journal keeps it."""
    if isinstance(entry, Branch):
        said: dict[str, Any] = {"branch": entry.name, "at": entry.at}
    elif isinstance(entry, Erased):
        said = {"erased": entry.versions, "after": entry.after}
    else:
        said = {**entry.dump(), "recorded": entry.recorded}
    return NewRecord(TREES, log_key(tree), orjson.dumps(said))


def load_entry(payload: bytes) -> Entry:
    """An entry of a tree in the journal."""
    try:
        said = orjson.loads(payload)
        if "at" in said:
            return Branch(said["branch"], said["at"])
        if "erased" in said:
            return Erased(tuple(said["erased"]), int(said["after"]))
        for name in _ONCE_SAID:
            said.pop(name, None)
        said |= {"operations": tuple(said["operations"]), "recorded": float(said["recorded"])}
        return Commit(said.pop("version"), **said)
    except (ValueError, KeyError, TypeError) as error:
        raise JournalError("an entry of a tree in the journal is damaged", hint=_RESTORE) from error


def whole_record(tree: str, version: str, root: Node) -> NewRecord:
    """The whole tree of a version, as the journal keeps it."""
    return NewRecord(TREES, whole_key(tree, version), orjson.dumps(rows_of(root)))


def rows_of(root: Node) -> list[tuple[str, str, dict[str, str], int]]:
    """The nodes of a tree in document order, each with the number of its children."""
    return [(node.id, node.type, dict(node.fields), len(node.children)) for node in root.walk()]


def load_whole(payload: bytes) -> Node:
    """The root of a tree that the journal keeps."""
    try:
        said: Sequence[tuple[str, str, dict[str, str], int]] = orjson.loads(payload)
        done: list[Node] = []
        for name, type_, fields, count in reversed(said):
            first = len(done) - count
            if first < 0:
                raise ValueError(name)
            children = done[first:][::-1]
            del done[first:]
            done.append(Node(name, type_, fields=fields, children=children))
        (root,) = done
    except (ValueError, TypeError) as error:
        raise JournalError("a tree in the journal is damaged", hint=_RESTORE) from error
    return root


# Where in the journal.


def log_key(name: str) -> str:
    """Under which key the commits of a tree are kept."""
    return json.dumps([name], ensure_ascii=False)


def whole_key(name: str, version: str) -> str:
    """Under which key a whole tree is kept."""
    return json.dumps([name, version], ensure_ascii=False)


def _tree_of(key: str) -> str:
    try:
        return str(json.loads(key)[0])
    except (ValueError, LookupError, TypeError) as error:
        raise JournalError("the name of a tree is damaged in the journal", hint=_RESTORE) from error


def tree_names(journal: Journal, tenant: str) -> list[str]:
    """The names of a tenant's trees as they were made; one of which something was erased, as that was done."""
    return list(dict.fromkeys(_tree_of(key) for key in journal.record_keys(tenant, kind=TREES)))


def keys_of(journal: Journal, tenant: str, name: str) -> list[str]:
    """All keys under which something of a tree is kept."""
    return [key for key in journal.record_keys(tenant, kind=TREES) if _tree_of(key) == name]


def no_tree(name: str, known: Sequence[str]) -> InputError:
    """The error where a tree is named that is not there."""
    there = f"there are {some_of(known)}" if known else "`stitch tree create NAME FILE` makes one"
    return InputError(f"no tree {name!r} in this memory", hint=there)


def texts_of(journal: Journal, tenant: str, *, keys: Collection[str] | None = None) -> Iterator[str]:
    """Texts of a tenant's trees in any version: names, ids, values, messages, authors; of all, or of some records.

    Types and names of fields are no words of anybody, and times neither.
    """
    for record in journal.records(tenant, kind=TREES):
        if keys is None or record.key in keys:
            yield _tree_of(record.key)
            yield from texts_said(record.payload)


def texts_said(payload: bytes) -> Iterator[str]:
    """Texts of a record: a whole tree, a commit or a branch."""
    said = orjson.loads(payload)
    if isinstance(said, list):
        for name, _, fields, _ in said:
            yield name
            yield from fields.values()
        return
    yield from (said.get(name, "") for name in ("author", "message", "branch"))
    for operation in said.get("operations", ()):
        yield from (told for name in ("id", "old", "value") if isinstance(told := operation.get(name), str))
        waiting = [operation["node"]] if "node" in operation else []
        while waiting:
            node = waiting.pop()
            yield node["id"]
            yield from node["fields"].values()
            waiting.extend(node.get("children", ()))
