"""Under which keys the journal keeps trees, and all that they say there."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Sequence
from typing import Any

import orjson

from stitch.errors import InputError, JournalError, some_of
from stitch.journal import Journal

TREES = "artifact"
"""The kind of the records of trees. The key is a JSON list: the name of the tree; of a whole tree, its version too."""


def log_key(name: str) -> str:
    """Under which key the commits of a tree are kept."""
    return json.dumps([name], ensure_ascii=False)


def snapshot_key(name: str, version: str) -> str:
    """Under which key a whole tree is kept."""
    return json.dumps([name, version], ensure_ascii=False)


def _tree_of(key: str) -> str:
    try:
        return str(json.loads(key)[0])
    except (ValueError, LookupError, TypeError) as error:
        raise JournalError(
            "the name of a tree is damaged in the journal", hint="restore the memory from a backup"
        ) from error


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
            said = orjson.loads(record.payload)
            yield from texts_said(said)


def texts_said(said: Any) -> Iterator[str]:
    """Texts of a record: a whole tree, a commit or a branch."""
    if isinstance(said, list):
        for name, _, fields, _ in said:
            yield name
            yield from fields.values()
    else:
        yield from (said.get(name, "") for name in ("author", "message", "branch"))
        for operation in said.get("operations", ()):
            yield from _texts_in(operation)


def _texts_in(operation: dict[str, Any]) -> Iterator[str]:
    yield from (said for name in ("id", "old", "value") if isinstance(said := operation.get(name), str))
    waiting = [operation["node"]] if "node" in operation else []
    while waiting:
        node = waiting.pop()
        yield node["id"]
        yield from node["fields"].values()
        waiting.extend(node.get("children", ()))
