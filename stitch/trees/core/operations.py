"""Operations on trees by ids, and their form in files and in the journal."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from dataclasses import MISSING, dataclass, fields, replace
from types import EllipsisType
from typing import Any, Protocol, TypeAlias, runtime_checkable

from stitch.errors import InputError
from stitch.trees.core.making import check_depth, field_text, make, node_id, of_mapping, type_name
from stitch.trees.core.nodes import Node


@runtime_checkable
class HasId(Protocol):
    """A node, or a node that was found."""

    @property
    def id(self) -> str:
        """Id of the node."""


NodeRef: TypeAlias = str | HasId
"""A node by its id, or itself."""


def id_of(node: NodeRef) -> str:
    """The id that is meant."""
    return node if isinstance(node, str) else node.id


ANY = ...
"""Of `SetField.old`: whatever the field said before."""


@dataclass(frozen=True)
class SetField:
    """Set a field of a node; None as its value takes it away.

    What it says before has to be `old`, if that is given, or the edit is refused; None: there has to be no such field.
    """

    node: NodeRef
    field: str
    value: str | int | float | None
    old: str | EllipsisType | None = ANY


@dataclass(frozen=True)
class Move:
    """Put a node, with all below it, before or after another one, or among the children of a `parent`.

    There `at` is its position, from 1, once it was taken out; at the end if None.
    """

    node: NodeRef
    before: NodeRef | None = None
    after: NodeRef | None = None
    parent: NodeRef | None = None
    at: int | None = None


@dataclass(frozen=True)
class Delete:
    """Take a node away with all below it."""

    node: NodeRef


@dataclass(frozen=True)
class Add:
    """Put a new node among the children of another, at a position from 1 or at the end.

    The JSON form of a node may leave out `id`: then one is made.
    """

    parent: NodeRef
    node: Node | Mapping[str, Any]
    at: int | None = None


@dataclass(frozen=True)
class Replace:
    """Put another node, with all below it, in the place of a node with all below that."""

    node: NodeRef
    by: Node | Mapping[str, Any]


Operation: TypeAlias = SetField | Move | Delete | Add | Replace


def node_json(node: Node) -> dict[str, Any]:
    """A node as JSON: `{"id", "type", "fields", "children"?}`. It is at most `MAX_DEPTH` deep."""
    made: dict[str, Any] = {"id": node.id, "type": node.type, "fields": dict(node.fields)}
    if node.children:
        made["children"] = [node_json(child) for child in node.children]
    return made


_KINDS: Mapping[str, type[Any]] = {"set": SetField, "delete": Delete, "add": Add, "replace": Replace, "move": Move}
_KEYS = {"node": "id", "by": "node", "at": "position"}
"""Keys of JSON for attributes that are called otherwise; the node of an addition is no id."""
_PLACES = ("parent", "before", "after")
_REFS = ("id", *_PLACES)
_HINT = 'write {"op": "set", "id": "i007", "field": "cost", "value": "CAD 10"}; others are add, delete, move, replace'


def _key(kind: type[Any], attribute: str) -> str:
    return attribute if (kind, attribute) == (Add, "node") else _KEYS.get(attribute, attribute)


def operation_json(operation: Operation) -> dict[str, Any]:
    """An operation as files and the journal write it; whatever `Index.edit` gives back says all of it."""
    kind = type(operation)
    told: dict[str, Any] = {"op": next(name for name, each in _KINDS.items() if each is kind)}
    for attribute in fields(operation):
        key, value = _key(kind, attribute.name), getattr(operation, attribute.name)
        if value is ANY or (value is None and key in _PLACES):
            continue
        told[key] = id_of(value) if key in _REFS else dict(_as_json(value)) if key == "node" else value
    return told


def _as_json(node: Node | Mapping[str, Any]) -> Mapping[str, Any]:
    if not isinstance(node, Node):
        return node
    check_depth(node)
    return node_json(node)


def operation_of(said: object) -> Operation:
    """The operation that JSON says."""
    if not isinstance(said, Mapping):
        raise InputError(f"an operation is an object, and no {type(said).__name__}", hint=_HINT)
    name = str(said.get("op"))
    if name not in _KINDS:
        raise InputError(f"there is no operation {name!r}", hint=_HINT)
    kind = _KINDS[name]
    attributes = {_key(kind, each.name): each for each in fields(kind)}
    told = set(said) - {"op"}
    missing = sorted(key for key, each in attributes.items() if each.default is MISSING and key not in told)
    for fault, keys in (("does not say its", missing), ("knows no", sorted(told - set(attributes)))):
        if keys:
            raise InputError(f"operation {name!r} {fault} {', '.join(keys)}", hint=_HINT)
    for key, value in said.items():
        if problem := _problem(key, value):
            raise InputError(f"{key} of operation {name!r} {problem}: {value!r}", hint=_HINT)
    given = {key: None if (key, said[key]) == ("position", "last") else said[key] for key in told}
    made: Operation = kind(**{attributes[key].name: value for key, value in given.items()})
    return made


def _problem(key: str, value: object) -> str:
    """The fault of the kind of a value; empty if it is right."""
    if key == "position":
        is_number = isinstance(value, int) and not isinstance(value, bool)
        return "" if is_number or value in (None, "last") else "is no number"
    kind, fault = _WANTED.get(key, (object, ""))
    return "" if isinstance(value, kind) else fault


_WANTED: dict[str, tuple[type | tuple[type, ...], str]] = {
    **dict.fromkeys(_REFS, (str, "is no id of a node")),
    "field": (str, "is no name"),
    "node": ((Mapping, Node), "is no object"),
}


def operations_of(said: Iterable[object]) -> list[Operation]:
    """The operations that a list of JSON says; what is one already stays as it is."""
    found: list[Operation] = []
    for number, each in enumerate(said, start=1):
        if isinstance(each, SetField | Move | Delete | Add | Replace):
            found.append(each)
            continue
        try:
            found.append(operation_of(each))
        except InputError as error:
            raise InputError(f"operation {number}: {error.message}", hint=error.hint) from None
    return found


def checked_node(said: Node | Mapping[str, Any], *, taken: Container[str]) -> Node:
    """A node of its JSON form, with an id for each below it."""
    if not isinstance(said, Node) and "type" not in said:
        raise InputError(
            "a new node does not say its type", hint='a node looks like {"type": "POI", "fields": {"name": "Zoo"}}'
        )
    return make(of_mapping(_as_json(said)), taken=taken)


def cleaned(operation: SetField) -> SetField:
    """The operation with a field and a value that can be kept."""
    field = type_name(operation.field, what="field")
    value = None if operation.value is None else field_text(operation.value, field=field)
    return replace(operation, node=node_id(id_of(operation.node)), field=field, value=value)
