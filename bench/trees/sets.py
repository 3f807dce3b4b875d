"""A domain on disk: `tree.xml`, `base.xml`, `history.jsonl`, `requests.jsonl`, and `judgements.jsonl` if there."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from stitch.errors import InputError
from stitch.retrieve.path.forest import Version
from stitch.trees.core.edits import apply
from stitch.trees.core.nodes import Node, Tree
from stitch.trees.core.reading import read_text

Line = Mapping[str, Any]


class Request(NamedTuple):
    """A request in words and as path queries, with the right nodes."""

    id: str
    kind: str
    words: str
    paths: tuple[str, ...]
    needs: frozenset[str]
    must: frozenset[str]
    may: frozenset[str]
    edit: tuple[Line, ...]

    @property
    def part(self) -> str:
        """`version`, `exact` (structure and types only), `semantic` (one condition at most beside) or `mixed`."""
        if self.kind == "version":
            return "version"
        if "semantic" not in self.needs:
            return "exact"
        return "semantic" if self.needs <= {"semantic", "structure", "multi-target"} else "mixed"


class SemanticGold(NamedTuple):
    """A condition with the nodes of a type that fulfil it, and those of which it is unclear."""

    condition: str
    field: str
    type: str
    yes: frozenset[str]
    borderline: frozenset[str]


class JudgedSet(Protocol):
    """A tree with judged conditions."""

    @property
    def name(self) -> str:
        """Of the domain."""
        ...

    @property
    def tree(self) -> Tree:
        """The nodes that are judged."""
        ...

    @property
    def judgements(self) -> tuple[SemanticGold, ...]:
        """The conditions."""
        ...


class TreeSet(NamedTuple):
    """A domain."""

    name: str
    tree: Tree
    versions: tuple[Version, ...]
    trees: Mapping[str, Tree]
    """The tree of each version."""
    requests: tuple[Request, ...]
    judgements: tuple[SemanticGold, ...]
    history: tuple[Line, ...] = ()
    """The commits as their file says them; the first one is the whole tree."""


def load_tree_set(folder: Path) -> TreeSet:
    """Read a domain.

    Raises:
        InputError: A file is missing or malformed, or the versions do not lead to the tree.
    """
    tree, base = (read_text(_text(folder / name), form="xml") for name in ("tree.xml", "base.xml"))
    versions: list[Version] = []
    trees: dict[str, Tree] = {}
    history = tuple(_lines(folder / "history.jsonl"))
    for number, line in enumerate(history, start=1):
        parent = line["parent"]
        trees[line["version"]] = base if parent is None else apply(trees[parent], line["operations"])
        versions.append(Version(line["version"], number, line["time"], line["author"], line["message"], parent))
    if not versions or {node.id: node for node in trees[versions[-1].id]}.keys() != {node.id for node in tree}:
        raise InputError(f"the versions in {str(folder)!r} do not lead to its tree")
    judged = folder / "judgements.jsonl"
    return TreeSet(
        folder.name,
        tree,
        tuple(versions),
        trees,
        tuple(map(_request, _lines(folder / "requests.jsonl"))),
        tuple(map(_judgement, _lines(judged))) if judged.exists() else (),
        history,
    )


def _request(line: Line) -> Request:
    return Request(
        line["id"],
        line["kind"],
        line["words"],
        tuple(line["paths"]),
        frozenset(line.get("needs", ())),
        frozenset(line["must"]),
        frozenset(line.get("may", ())),
        tuple(line.get("edit") or ()),
    )


def _judgement(line: Line) -> SemanticGold:
    return SemanticGold(
        line["condition"], line["field"], line["type"], frozenset(line["yes"]), frozenset(line["borderline"])
    )


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except OSError as error:
        raise InputError(
            f"cannot read {str(file)!r}: {error.strerror}", hint="--data names the folder of one domain"
        ) from error


def _lines(file: Path) -> Iterator[Line]:
    for number, line in enumerate(_text(file).splitlines(), start=1):
        if line.strip():
            try:
                yield json.loads(line)
            except ValueError as error:
                raise InputError(f"line {number} of {str(file)!r} is no JSON: {error}") from error


def leaves(tree: Tree) -> list[Node]:
    """The nodes without children of the types that are most of them: items, and no titles."""
    found = [node for node in tree if not node.children and len(node.fields) > 1]
    return found or [node for node in tree if not node.children]
