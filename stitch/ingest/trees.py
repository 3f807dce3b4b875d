"""Redaction of trees: whole trees, operations, and the words beside them, taken in without secrets."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from stitch.core.steps import clean_name, clean_text
from stitch.errors import InputError
from stitch.ingest.redact import redact_fields
from stitch.text.dates import read_timestamp
from stitch.text.secrets import redact_text
from stitch.trees.core.making import check_depth
from stitch.trees.core.nodes import Node, rebuilt
from stitch.trees.core.operations import Add, Operation, Replace, SetField, checked_node, cleaned

MAX_MESSAGE_CHARS = 10_000
"""The longest message of a commit."""


def tree_name(value: str) -> str:
    """The name of a tree without control characters and outer blanks.

    Raises:
        InputError: Nothing is left, it is too long, no text, or holds a secret.
    """
    try:
        name = clean_name(value, what="the name of a tree")
        name.encode()
    except UnicodeEncodeError:
        raise InputError(f"tree {value!r} is no text") from None
    except ValueError as error:
        raise InputError(str(error)) from None
    _refuse_secret(name, "the name of the tree")
    return name


def commit_time(value: str) -> str:
    """A time as ISO 8601 writes it; empty for now.

    Raises:
        InputError: It is none.
    """
    if value and read_timestamp(value) is None:
        raise InputError(f"{value!r} is no time", hint="write it as 2026-03-01T12:00")
    return value.strip()


class Incoming:
    """Takes secrets out of what comes in, and counts them by kind."""

    def __init__(self, *, redacts: bool) -> None:
        self._redacts = redacts
        self.redacted: Counter[str] = Counter()

    def text(self, text: str, *, what: str) -> str:
        """A message or a name of an author.

        Raises:
            InputError: It is too long.
        """
        text = clean_text(text).strip()
        if len(text) > MAX_MESSAGE_CHARS:
            raise InputError(f"{what} has {len(text)} characters, at most {MAX_MESSAGE_CHARS} are kept")
        if not self._redacts:
            return text
        text, kinds = redact_text(text)
        self.redacted += kinds
        return text

    def node(self, root: Node) -> Node:
        """A node with all below it; the same if it holds no secret.

        Raises:
            InputError: An id or the name of a type or field holds one: it cannot be changed.
        """
        check_depth(root)
        if not self._redacts:
            return root
        nodes = list(root.walk())
        names = dict.fromkeys(name for node in nodes for name in (node.id, node.type, *node.fields))
        _refuse_secret("\n".join(names), "an id, type or field of the tree")
        changed: dict[str, Mapping[str, str]] = {}
        for node, (fields, kinds) in zip(nodes, redact_fields(node.fields for node in nodes), strict=True):
            if kinds:
                changed[node.id] = fields
                self.redacted += kinds
        return rebuilt(root, lambda node: (node.with_fields(changed.get(node.id, node.fields)),)) if changed else root

    def operations(self, operations: Iterable[Operation]) -> Sequence[Operation]:
        """Operations with what they bring.

        Raises:
            InputError: A node that comes in is none, or an id or name holds a secret.
        """
        return [self._operation(each) for each in operations]

    def _operation(self, operation: Operation) -> Operation:
        if isinstance(operation, SetField) and operation.value is not None:
            told = cleaned(operation)
            ((fields, kinds),) = redact_fields([{told.field: str(told.value)}]) if self._redacts else [({}, Counter())]
            self.redacted += kinds
            return SetField(told.node, told.field, fields[told.field], told.old) if kinds else told
        if isinstance(operation, Add):
            return Add(operation.parent, self._new(operation.node), operation.at)
        if isinstance(operation, Replace):
            return Replace(operation.node, self._new(operation.by))
        return operation

    def _new(self, said: Node | Mapping[str, Any]) -> Node | Mapping[str, Any]:
        """A new node without secrets; where nothing is taken out, it gets its ids when it is put into the tree."""
        node = checked_node(said, taken=())
        without = self.node(node)
        return said if without is node else without


def _refuse_secret(text: str, what: str) -> None:
    if kind := next(iter(redact_text(text)[1]), ""):
        raise InputError(f"{what} holds a secret ({kind}); nothing is written", hint="call it otherwise")
