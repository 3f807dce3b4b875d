"""Commits of a tree, and a tree as the journal keeps it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import blake2b
from typing import Any, NamedTuple, TypeAlias

import orjson

from stitch.errors import JournalError
from stitch.trees.core.nodes import Node
from stitch.trees.core.schema import Schema, schema_of

MAIN = "main"
"""The branch on which a tree begins."""


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
    snapshot: bool = False
    """Whether the whole tree is kept beside it."""
    whole: str = ""
    """The digest of that tree as it is kept; none of trees of an older memory."""

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

    def schema_given(self) -> Schema | None:
        """The schema that it brings."""
        return None if self.schema is None else schema_of(self.schema)


class Branch(NamedTuple):
    """A name for another line of versions."""

    name: str
    at: str
    """The version where it begins."""


class Erased(NamedTuple):
    """That something was erased from the history; ids of versions that are gone are not given again."""

    versions: tuple[str, ...]
    after: int
    """The number of the last record before: whoever knows that one reads all of it again."""


Entry: TypeAlias = Commit | Branch | Erased
"""An entry of a tree in the journal."""


def dump_commit(commit: Commit) -> bytes:
    """A commit as the journal keeps it."""
    said = {**commit.dump(), "recorded": commit.recorded, "snapshot": commit.snapshot}
    if commit.whole:
        said["whole"] = commit.whole
    return orjson.dumps({**said, "digest": digest_of(orjson.dumps(said))})


def digest_of(payload: bytes) -> str:
    """A digest that shows whether bytes are as they were written."""
    return blake2b(payload, digest_size=8).hexdigest()


def dump_erased(erased: Erased) -> bytes:
    """Erased versions as the journal keeps them."""
    return orjson.dumps({"erased": erased.versions, "after": erased.after})


def dump_branch(branch: Branch) -> bytes:
    """A branch as the journal keeps it."""
    return orjson.dumps({"branch": branch.name, "at": branch.at})


def load_entry(payload: bytes) -> Entry:
    """An entry of a tree in the journal.

    Raises:
        JournalError: It is damaged.
    """
    try:
        said = orjson.loads(payload)
        if "at" in said:
            return Branch(said["branch"], said["at"])
        if "erased" in said:
            return Erased(tuple(said["erased"]), int(said["after"]))
        digest = said.pop("digest", "")
        if digest and digest != digest_of(orjson.dumps(said)):
            raise ValueError(f"another digest than {digest}")
        return Commit(
            said["version"], said["parent"], said["branch"], said["time"], float(said["recorded"]), said["author"],
            said["message"], tuple(said["operations"]), said.get("schema"), said.get("redacted", {}), said["snapshot"],
            said.get("whole", ""),
        )  # fmt: skip
    except (ValueError, KeyError, TypeError) as error:
        raise JournalError(
            "an entry of a tree in the journal is damaged", hint="restore the memory from a backup"
        ) from error


def dump_snapshot(root: Node) -> bytes:
    """A tree as the journal keeps it: its nodes in document order, each with the number of its children."""
    return orjson.dumps([(node.id, node.type, dict(node.fields), len(node.children)) for node in root.walk()])


def load_snapshot(payload: bytes) -> Node:
    """The root of a tree that the journal keeps.

    Raises:
        JournalError: It is damaged.
    """
    try:
        said: Sequence[tuple[str, str, dict[str, str], int]] = orjson.loads(payload)
        done: list[Node] = []
        for name, type_, fields, count in reversed(said):
            children = done[len(done) - count :][::-1] if count else ()
            if len(children) != count:
                raise ValueError(name)
            if count:
                del done[len(done) - count :]
            done.append(Node(name, type_, fields=fields, children=children))
        (root,) = done
    except (ValueError, TypeError) as error:
        raise JournalError("a tree in the journal is damaged", hint="restore the memory from a backup") from error
    return root
