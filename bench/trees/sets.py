"""Domains of trees with requests, gold path queries and gold nodes, and the outcomes of requests compared with gold."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from stitch.errors import InputError
from stitch.retrieve.path.forest import Version
from stitch.trees.core.differences import TreeDiff, diff
from stitch.trees.core.edits import apply
from stitch.trees.core.nodes import Node, Tree
from stitch.trees.core.reading import read_text
from stitch.trees.core.values import Value, read_value

Line = Mapping[str, Any]
PARTS = ("exact", "semantic", "mixed", "version")
"""Of requests: see `Request.part`."""
LESSONS = Path(__file__).parent / "lessons"


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


class TreeSet(NamedTuple):
    """A domain; those of our own have judged conditions alone."""

    name: str
    tree: Tree
    judgements: tuple[SemanticGold, ...]
    requests: tuple[Request, ...] = ()
    versions: tuple[Version, ...] = ()
    trees: Mapping[str, Tree] = {}
    """The tree of each version."""
    history: tuple[Line, ...] = ()
    """The commits as their file says them; the first one is the whole tree."""


class Outcome(NamedTuple):
    """The outcome of a request."""

    request: Request
    found: frozenset[str]
    milliseconds: float

    @property
    def precision(self) -> float:
        """The share of the nodes found that are right."""
        counted = self.found - self.request.may
        return len(counted & self.request.must) / len(counted) if counted else float(not self.request.must)

    @property
    def recall(self) -> float:
        """The share of the right nodes that was found."""
        return len(self.found & self.request.must) / len(self.request.must) if self.request.must else 1.0

    @property
    def f1(self) -> float:
        """Their harmonic mean."""
        together = self.precision + self.recall
        return 2 * self.precision * self.recall / together if together else 0.0

    @property
    def exact(self) -> bool:
        """Whether all that is right was found, and nothing that is wrong."""
        return self.request.must <= self.found <= self.request.must | self.request.may


def mean_of(values: Iterable[float]) -> float | None:
    """The mean, to four places; None of nothing."""
    kept = list(values)
    return round(sum(kept) / len(kept), 4) if kept else None


def load_tree_set(folder: Path) -> TreeSet:
    """Read a domain: `tree.xml`, `base.xml`, `history.jsonl`, `requests.jsonl`, and `judgements.jsonl` if there.

    Raises:
        InputError: A file is missing or malformed, or the versions do not lead to the tree.
    """
    tree, base = (read_text(_text(folder / name), form="xml") for name in ("tree.xml", "base.xml"))
    history, judged = tuple(_lines(folder / "history.jsonl")), folder / "judgements.jsonl"
    versions: list[Version] = []
    trees: dict[str, Tree] = {}
    for number, line in enumerate(history, start=1):
        parent = line["parent"]
        trees[line["version"]] = base if parent is None else apply(trees[parent], line["operations"])
        versions.append(Version(line["version"], number, line["time"], line["author"], line["message"], parent))
    if not versions or {node.id for node in trees[versions[-1].id]} != {node.id for node in tree}:
        raise InputError(f"the versions in {str(folder)!r} do not lead to its tree")
    gold = (
        SemanticGold(
            line["condition"], line["field"], line["type"], frozenset(line["yes"]), frozenset(line["borderline"])
        )
        for line in (_lines(judged) if judged.exists() else ())
    )
    requests = map(_request, _lines(folder / "requests.jsonl"))
    return TreeSet(folder.name, tree, tuple(gold), tuple(requests), tuple(versions), trees, history)


def _request(line: Line) -> Request:
    needs, must, may = (frozenset(line.get(name, ())) for name in ("needs", "must", "may"))
    edit = tuple(line.get("edit") or ())
    return Request(line["id"], line["kind"], line["words"], tuple(line["paths"]), needs, must, may, edit)


def own_sets(folder: Path = LESSONS) -> list[TreeSet]:
    """Judged conditions of our own on small trees of five domains, by their names; scorers are fitted beside them.

    A file holds nodes (`id type | field: text | ...`), and below them conditions (`= words: ids ? unclear`). They were
    written by the hand that made the features: figures on them prove little, and none is told.

    Raises:
        InputError: A condition names a node that is not there, or one twice.
    """
    return [_own_set(file.stem, file.read_text(encoding="utf-8")) for file in sorted(folder.glob("*.txt"))]


def _own_set(name: str, text: str) -> TreeSet:
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    nodes = [_node(line) for line in lines if not line.startswith("=")]
    tree = Tree(Node("root", "Root", children=nodes))
    judged = []
    for line in (line for line in lines if line.startswith("=")):
        condition, _, told = line[1:].partition(":")
        yes, unclear = (frozenset(part.split()) for part in told.partition("?")[::2])
        gold = SemanticGold(condition.strip(), "node", nodes[0].type, yes, unclear)
        if strange := [id_ for id_ in yes | unclear if id_ not in tree] or yes & unclear:
            raise InputError(f"{gold.condition!r} of {name!r} names {sorted(strange)}: no such node, or both")
        judged.append(gold)
    return TreeSet(name, tree, tuple(judged))


def _node(line: str) -> Node:
    head, *said = line.split(" | ")
    id_, type_ = head.split()
    return Node(id_, type_, fields=dict(each.split(": ", 1) for each in said))


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


Expected = Mapping[str, Any]


def meets(expected: Sequence[Expected], *, before: Tree, after: Tree) -> bool:
    """Whether one tree became the other by what is expected and nothing else."""
    changes = diff(before, after)
    by_kind = {kind: [each for each in expected if each["op"] == kind] for kind in ("set", "delete", "move", "add")}
    moves = {each["id"]: each for each in by_kind["move"]}
    return (
        {place.node.id for place in changes.removed} == {each["id"] for each in by_kind["delete"]}
        and _changed(changes, by_kind["set"])
        and {moved.node.id for moved in changes.moved} == moves.keys()
        and all(_stands(id_, each, after) for id_, each in moves.items())
        and _added([place.node for place in changes.added], by_kind["add"], after)
    )


def _changed(changes: TreeDiff, expected: Sequence[Expected]) -> bool:
    changed = {(each.node.id, each.field): each.new for each in changes.changed}
    wanted = {(each["id"], each["field"]): each["value"] for each in expected}
    return changed.keys() == wanted.keys() and all(_passes(changed[key], test) for key, test in wanted.items())


def _added(nodes: list[Node], expected: list[Expected], after: Tree) -> bool:
    left = list(expected)
    for node in nodes:
        fitting = next((each for each in left if _fits(node, each) and _stands(node.id, each, after)), None)
        if fitting is None:
            return False
        left.remove(fitting)
    return not left


def _fits(node: Node, expected: Expected) -> bool:
    fields = expected["fields"].items()
    return node.type in _types(expected["type"]) and all(_passes(node.fields.get(name), test) for name, test in fields)


def _types(said: Any) -> list[str]:
    return list(said["any_of"]) if isinstance(said, Mapping) else [str(said)]


def _stands(id_: str, expected: Expected, after: Tree) -> bool:
    """Whether a node is below its parent, beside the nodes that are named."""
    parent = after.parent(id_)
    if parent is None or parent.id != expected["parent"]:
        return False
    children = [child.id for child in parent.children]
    place, beside = children.index(id_), expected["position"]
    if beside == "last":
        return place == len(children) - 1
    if not isinstance(beside, Mapping):
        return True
    behind = children[place + 1] if place + 1 < len(children) else None
    ahead = children[place - 1] if place else None
    return bool(beside.get("before", behind) == behind and beside.get("after", ahead) == ahead)


def _passes(said: str | None, test: Any) -> bool:
    if said is None or not isinstance(test, Mapping):
        return said == (None if test is None else str(test))
    [(kind, wanted)] = list(test.items())[:1]
    value = read_value(said)
    if kind in ("contains", "contains_any"):
        return any(str(each).lower() in said.lower() for each in ([wanted] if kind == "contains" else wanted))
    if kind in ("amount", "at_most"):
        most = float(wanted)
        return value.kind in ("number", "money") and value.high <= most and (kind == "at_most" or value.low == most)
    return value.kind == "time" and _at_the_time(value, kind, read_value(wanted))


def _at_the_time(value: Value, kind: str, asked: Value) -> bool:
    if kind == "time":
        return value.low == asked.low or value.high == asked.high
    return value.high <= asked.high and (kind == "ends_by" or asked.low <= value.low)
