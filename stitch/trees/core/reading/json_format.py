"""Trees as JSON: `{"id", "type", "fields", "children"}`, and whatever else an object says."""

from __future__ import annotations

import json
from typing import Any, NoReturn

from stitch.errors import InputError
from stitch.trees.core.making import Said, of_value
from stitch.trees.core.nodes import Tree
from stitch.trees.core.operations import node_json


def read_json(text: str) -> Said:
    """The tree of JSON; numbers as they are written.

    Raises:
        InputError: It is malformed, names a key twice, or is neither an object nor a list of objects.
    """
    try:
        said = json.loads(
            text, parse_int=str, parse_float=str, parse_constant=_no_number, object_pairs_hook=_without_repeats
        )
    except json.JSONDecodeError as error:
        raise InputError(f"this is no JSON: {error.msg.lower()}, line {error.lineno} column {error.colno}") from None
    return of_value(said, form="JSON")


def write_json(tree: Tree) -> str:
    """A tree as JSON."""
    return json.dumps(node_json(tree.root), ensure_ascii=False, indent=1) + "\n"


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for key, value in pairs:
        if key in made:
            raise InputError(f"this JSON says the key {key!r} twice in one object")
        made[key] = value
    return made


def _no_number(constant: str) -> NoReturn:
    raise InputError(f"{constant} is no number of JSON")
