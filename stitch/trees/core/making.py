"""Nodes made of what files and programs say: checked, within limits, each with an id; the same in every format.

Nothing here recurses: what contains itself, or is 10,000 levels deep, ends with an error that says so. What cannot be
kept is an `InputError` that names it, here and wherever something is read.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Container, Iterator, Mapping
from hashlib import blake2b
from itertools import count
from typing import Any

from stitch.core.steps import MAX_NAME_CHARS, clean_name, clean_text
from stitch.errors import InputError
from stitch.trees.core.nodes import TEXT_FIELD, Node

MAX_NODES = 500_000
"""The largest tree."""
MAX_DEPTH = 100
"""The most levels of a tree, its root included: whatever is deeper is no document that a person or an agent made."""
MAX_FIELD_CHARS = 1_000_000
"""The longest value of a field."""
MAX_FILE_BYTES = 256 << 20
"""The largest file of a tree."""

_NAME = re.compile(r"[^\W\d][\w.-]*")
_NO_NAME_MARK = re.compile(r"[^\w.-]")
_NO_CHARACTER = re.compile("[\ufffe\uffff]")
_ID_DIGITS = 8
ROOT_TYPE, ITEM_TYPE = "Root", "Item"
"""Of what a file gives no type to: the whole, and an item of a list."""

_LABELS = ("name", "title", "label", "key", "index", "text")
"""The fields that tell a node from its siblings, the first that is there."""


def type_name(value: str, *, what: str = "type") -> str:
    """A name of a type or a field: a Unicode word, which may have points and hyphens inside."""
    if not _NAME.fullmatch(value) or len(value) > MAX_NAME_CHARS:
        raise InputError(
            f"{what} {value[:60]!r} is no name",
            hint="names begin with a letter and go on with letters, digits, _ - .",
        )
    if what == "field" and value == "id":
        raise InputError("a field cannot be called 'id': that names the node", hint="call it otherwise")
    return value


def made_name(given: str) -> str:
    """The nearest name to what a file says, such as `due_date` for `due date`; `_` for nothing."""
    name = _NO_NAME_MARK.sub("_", clean_text(given).strip())
    if not _NAME.match(name):
        name = f"_{name}"
    return name[:MAX_NAME_CHARS]


def node_id(value: str) -> str:
    """An id of a node, without control characters and outer blanks."""
    try:
        cleaned = clean_name(str(value), what="the id of a node")
        cleaned.encode()
    except UnicodeEncodeError:
        raise InputError(f"id {value!r} of a node is no text") from None
    except ValueError as error:
        raise InputError(str(error)) from None
    return cleaned


def field_text(value: object, *, field: str) -> str:
    """The text of a field: without control characters, numbers and truth values as JSON writes them."""
    if isinstance(value, bool):
        value = "true" if value else "false"
    if not isinstance(value, str | int | float):
        raise InputError(
            f"the value of field {field!r} is a {type(value).__name__}",
            hint="a field holds a text, a number or a truth value",
        )
    text = _NO_CHARACTER.sub("", clean_text(str(value))).replace("\r\n", "\n").replace("\r", "\n")
    if len(text) > MAX_FIELD_CHARS:
        raise InputError(f"the value of field {field!r} has {len(text)} characters, at most {MAX_FIELD_CHARS} are kept")
    return text


class Said:
    """A node as a file says it; children are put in as they are read."""

    __slots__ = ("children", "fields", "id", "type")

    def __init__(self, type_: str, *, id: str | None = None) -> None:  # noqa: A002 - the word of the domain
        self.type, self.id = type_, id
        self.fields: dict[str, str] = {}
        self.children: list[Said] = []

    def say(self, field: str, value: object) -> None:
        """Set a field."""
        name = type_name(field, what="field")
        if name in self.fields:
            raise InputError(f"a {self.type} says its field {name!r} twice")
        self.fields[name] = field_text(value, field=name)


def make(root: Said, *, taken: Container[str] = ()) -> Node:
    """The node of what is said, with ids: those that are given, and others made of where a node stands."""
    given = _given_ids(root, taken)
    order: list[tuple[Said, str]] = []
    waiting = [(root, _id_of(root, taken, given, "", label=_label(root), number=0))]
    while waiting:
        said, name = waiting.pop()
        order.append((said, name))
        seen = Counter[tuple[str, str]]()
        below = []
        for child in said.children:
            label = _label(child)
            seen[child.type, label] += 1
            made = _id_of(child, taken, given, name, label=label, number=seen[child.type, label])
            below.append((child, made))
        waiting.extend(reversed(below))
    done: list[Node] = []
    for said, name in reversed(order):  # what is below comes later, so its nodes are the last that are done
        first = len(done) - len(said.children)
        children = done[first:][::-1]
        del done[first:]
        done.append(Node(name, type_name(said.type), fields=said.fields, children=children))
    return done[0]


def _given_ids(root: Said, taken: Container[str]) -> set[str]:
    """The ids that are given."""
    given: set[str] = set()
    level, depth, nodes = [root], 0, 0
    while level:
        depth, nodes = depth + 1, nodes + len(level)
        if depth > MAX_DEPTH:
            raise too_deep()
        if nodes > MAX_NODES:
            raise too_large()
        for said in level:
            if said.id is None:
                continue
            said.id = node_id(said.id)
            if said.id in given or said.id in taken:
                raise InputError(f"two nodes have the id {said.id!r}", hint="give each node an id of its own, or none")
            given.add(said.id)
        level = [child for said in level for child in said.children]
    return given


def _id_of(said: Said, taken: Container[str], given: set[str], parent: str, *, label: str, number: int) -> str:
    """The id that is given, or a short one of where a node stands and what it is called: the same for the same file."""
    name = said.id
    attempts = count()
    while name is None or (name != said.id and (name in given or name in taken)):
        told = "\x1f".join((parent, label, str(number), str(next(attempts))))
        digest = blake2b(told.encode("utf-8", "replace"), digest_size=8).hexdigest()[:_ID_DIGITS]
        name = f"{said.type.lower()}-{digest}"
    given.add(name)
    return name


def _label(said: Said) -> str:
    return next((said.fields[name] for name in _LABELS if said.fields.get(name)), "")


def of_value(said: object, *, form: str) -> Said:
    """The tree of an object, or of a list whose items stand below a root."""
    if isinstance(said, list):
        said = {"type": ROOT_TYPE, "children": [each if isinstance(each, dict) else {"text": each} for each in said]}
    if not isinstance(said, dict):
        raise InputError(f"this {form} is no object", hint=f"a tree is an object; items of a list become {ITEM_TYPE}")
    return of_mapping(said)


def of_mapping(said: Mapping[str, Any]) -> Said:
    """The tree of a dictionary, such as JSON holds.

    The keys `id`, `type`, `fields` and `children` mean what they are called. Of any other a plain value is a field, a
    list of plain values a field with commas between, a dictionary is a child of that type, and a list of dictionaries
    are children of that type. None says nothing.

    Args:
        said: The dictionary; of type `Root`, if it says none.
    """
    root = Said(ROOT_TYPE)
    waiting: list[tuple[Said, Mapping[str, Any], int]] = [(root, said, 1)]
    nodes = 0
    while waiting:
        node, mapping, depth = waiting.pop()
        nodes += 1
        if depth > MAX_DEPTH:
            raise too_deep()
        if nodes > MAX_NODES:
            raise too_large()
        for child, below in _parts(node, mapping):
            node.children.append(child)
            waiting.append((child, below, depth + 1))
    return root


def _parts(node: Said, mapping: Mapping[str, Any]) -> Iterator[tuple[Said, Mapping[str, Any]]]:
    """Read the fields of a node from a dictionary; yield its children with theirs."""
    for key, value in mapping.items():
        if not isinstance(key, str):
            raise InputError(f"a key of a {node.type} is a {type(key).__name__}, and no text: {key!r}")
        if value is None or _says_itself(node, key, value):
            continue
        if isinstance(value, Mapping):
            yield Said(made_name(key)), value
        elif isinstance(value, list | tuple) and (
            key == "children" or any(isinstance(each, Mapping) for each in value)
        ):
            item = ITEM_TYPE if key == "children" else made_name(key)
            for each in value:
                yield Said(item), each if isinstance(each, Mapping) else {TEXT_FIELD: each}
        else:
            node.say(made_name(key), _plain(value, field=key))


def _says_itself(node: Said, key: str, value: object) -> bool:
    """Whether a key means what it is called: the type, the id or the fields of the node. Then the node says it."""
    if key == "type" and isinstance(value, str):
        node.type = made_name(value)
    elif key == "id" and isinstance(value, str | int) and not isinstance(value, bool):
        node.id = str(value)
    elif key == "fields" and isinstance(value, Mapping):
        for field, each in value.items():
            if each is not None:
                node.say(made_name(str(field)), _plain(each, field=str(field)))
    else:
        return False
    return True


def _plain(value: object, *, field: str) -> object:
    """A plain value; a list of them as a text."""
    if not isinstance(value, list | tuple):
        return value
    if any(isinstance(each, Mapping | list | tuple) for each in value):
        raise InputError(f"field {field!r} holds a list in a list", hint="a list holds plain values, or objects")
    return ", ".join(field_text(each, field=field) for each in value if each is not None)


def check_depth(node: Node) -> None:
    """Refuse a node that is deeper than a tree may be."""
    if height(node) > MAX_DEPTH:
        raise too_deep()


def height(node: Node) -> int:
    """The levels of a node, its own included; no more than one over the limit is counted."""
    level: Collection[Node] = [node]
    depth = 0
    while level and depth <= MAX_DEPTH:
        depth += 1
        level = [child for each in level for child in each.children]
    return depth


def too_deep() -> InputError:
    """The error of a tree that is too deep."""
    return InputError(
        f"the tree is more than {MAX_DEPTH} levels deep", hint="a structure that contains itself looks so"
    )


def too_large() -> InputError:
    """The error of a tree that is too large."""
    return InputError(f"the tree has more than {MAX_NODES} nodes", hint="make several trees of it")
