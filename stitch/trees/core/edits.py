"""Operations done to a tree, all or none, and what undoes them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from stitch.errors import EditRefusedError
from stitch.trees.core.drafts import Draft, Index
from stitch.trees.core.nodes import Node, Tree
from stitch.trees.core.operations import Operation, operations_of
from stitch.trees.core.schema import Schema


class Edited(NamedTuple):
    """What operations came to."""

    root: Node
    operations: tuple[Operation, ...]
    """What was done, with nothing left open: positions are numbers, fields say what they said before."""
    inverse: tuple[Operation, ...]
    """What undoes it, in order."""


def apply(tree: Tree, operations: Iterable[Operation | Mapping[str, Any]], *, schema: Schema | None = None) -> Tree:
    """The tree after operations, which are done one after the other; the tree itself stays as it is.

    Args:
        tree: Before.
        operations: What to do, as operations or as JSON says them.
        schema: What the tree has to keep to.

    Raises:
        EditRefusedError: One cannot be done, or what comes of it breaks the schema; none was done.
    """
    return Tree(edit(Index(tree.root), operations, schema=schema).root)


def inverse(tree: Tree, operations: Iterable[Operation | Mapping[str, Any]]) -> tuple[Operation, ...]:
    """What brings the tree after operations back to the tree before.

    Raises:
        EditRefusedError: They cannot be done.
    """
    return edit(Index(tree.root), operations).inverse


def edit(index: Index, operations: Iterable[Operation | Mapping[str, Any]], *, schema: Schema | None = None) -> Edited:
    """Do operations to the tree of an index, which is that of the next tree then; if one is refused, nothing changes.

    What is not touched is not looked at: an edit of a large tree costs as much as one of a small tree.

    Raises:
        EditRefusedError: One cannot be done, or what comes of it breaks the schema; says which, and why.
    """
    draft, done = Draft(index), []
    for number, operation in enumerate(operations_of(operations), start=1):
        try:
            done.extend(draft.do(operation))
        except EditRefusedError as error:
            raise EditRefusedError(
                f"operation {number}: {error.message}; nothing was changed", hint=error.hint
            ) from None
    if schema is not None:
        schema.check_touched(draft)
    return Edited(
        draft.finish(), tuple(each.operation for each in done), tuple(each.inverse for each in reversed(done))
    )
