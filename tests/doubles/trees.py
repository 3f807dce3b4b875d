"""Random trees and edits, for properties."""

import random
from collections.abc import Sequence

from stitch.trees import Node, Tree
from stitch.trees.core.operations import Add, Delete, Move, Operation, Replace, SetField

_TYPES = ("Day", "POI", "Restaurant", "Option")
_FIELDS = ("name", "cost", "text", "time_block")
_VALUES = (
    "CAD 30-45",
    "7:30 - 8:30",
    "Free",
    "",
    " two  blanks ",
    "a\nb",
    'say "so" & <b>',
    "Zürich – 東京",
    "- x: y {#z}",
    "null",
    "1.10",
)


def random_node(rng: random.Random, *, depth: int = 4, prefix: str = "n") -> Node:
    count = 0

    def grow(left: int) -> Node:
        nonlocal count
        count += 1
        name = f"{prefix}{count}"
        fields = {field: rng.choice(_VALUES) for field in _FIELDS if rng.random() < 0.5}
        below = rng.randrange(4) if left else 0
        return Node(name, rng.choice(_TYPES), fields=fields, children=[grow(left - 1) for _ in range(below)])

    return grow(depth)


def random_operations(rng: random.Random, tree: Tree, *, count: int) -> list[Operation]:
    ids: Sequence[str] = [node.id for node in tree]
    made: list[Operation] = []
    for number in range(count):
        one, other = rng.choice(ids), rng.choice(ids)
        fresh = random_node(rng, depth=1, prefix=f"new{number}x")
        at = rng.choice([None, 1, 2, 3])
        choices: list[Operation] = [
            SetField(one, rng.choice(_FIELDS), rng.choice([*_VALUES, None])),
            Move(one, before=other),
            Move(one, after=other),
            Move(one, parent=other, at=at),
            Delete(one),
            Add(one, fresh, at=at),
            Replace(one, fresh),
        ]
        made.append(rng.choice(choices))
    return made
