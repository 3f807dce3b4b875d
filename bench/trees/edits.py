"""Whether an edit does what a request expects: the operations are done by the edit engine and compared by their diff.

An expected value is the exact string, or a test: `contains`, `contains_any`, `amount`, `at_most`, `time`, `ends_by`,
`within`; a type may be one of several. Whatever else changes makes an edit wrong.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from stitch.bench.trees.sets import Request
from stitch.trees.core.differences import TreeDiff, diff
from stitch.trees.core.edits import apply
from stitch.trees.core.nodes import Node, Tree
from stitch.trees.core.operations import Add, Delete, Move, Operation, SetField
from stitch.trees.core.values import Value, read_value

Expected = Mapping[str, Any]


def edits_are_exact(request: Request, tree: Tree) -> bool:
    """Whether the expected operations, done by the edit engine, change exactly what is expected."""
    return meets(request.edit, before=tree, after=apply(tree, planned(request.edit, tree)))


def planned(expected: Sequence[Expected], tree: Tree) -> list[Operation]:
    """Operations that do what is expected; of a test, a value that passes it."""
    return [_planned(each, tree) for each in expected]


def _planned(each: Expected, tree: Tree) -> Operation:
    if each["op"] == "delete":
        return Delete(each["id"])
    if each["op"] == "set":
        old = tree.node(each["id"]).fields.get(each["field"])
        return SetField(each["id"], each["field"], _value(each["value"], old))
    if each["op"] == "move":
        beside = each["position"] if isinstance(each["position"], Mapping) else {"parent": each["parent"]}
        return Move(each["id"], **beside)
    fields = {name: _value(value, None) for name, value in each["fields"].items()}
    return Add(each["parent"], {"type": _types(each["type"])[0], "fields": fields}, at=_at(each, tree))


def _at(expected: Expected, tree: Tree) -> int | None:
    beside = expected["position"]
    if not isinstance(beside, Mapping):
        return None
    children = [child.id for child in tree.node(expected["parent"]).children]
    return children.index(beside["before"]) + 1 if "before" in beside else children.index(beside["after"]) + 2


def _value(test: Any, old: str | None) -> str:
    """A value that passes a test; an amount in the currency that was there."""
    if not isinstance(test, Mapping):
        return str(test)
    [(kind, wanted)] = list(test.items())[:1]
    if kind == "contains_any":
        return str(wanted[0])
    unit = read_value(old).unit if old is not None else ""
    return f"{unit} {wanted}".strip() if kind in ("amount", "at_most") else str(wanted)


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
