"""Trees as JSON: `{"id", "type", "fields", "children"}`, and whatever else an object says."""

from __future__ import annotations

import json
from typing import Any, NoReturn

from stitch.errors import InputError
from stitch.trees.core.making import ITEM_TYPE, ROOT_TYPE, Said, of_mapping
from stitch.trees.core.nodes import Tree
from stitch.trees.core.operations import node_json


def read_json(text: str) -> Said:
    """What JSON says; numbers as they are written.

    Raises:
        InputError: It is malformed, names a key twice, or is neither an object nor a list of objects.
    """
    try:
        said = json.loads(
            text, parse_int=str, parse_float=str, parse_constant=_no_number, object_pairs_hook=_without_repeats
        )
    except json.JSONDecodeError as error:
        raise InputError(f"this is no JSON: {error.msg.lower()}, line {error.lineno} column {error.colno}") from None
    if isinstance(said, list):
        said = {"type": ROOT_TYPE, "children": [each if isinstance(each, dict) else {"text": each} for each in said]}
    if not isinstance(said, dict):
        raise InputError(
            f"this JSON is a {type(said).__name__}, and no object",
            hint=f"a tree is an object; its items become {ITEM_TYPE}",
        )
    return of_mapping(said)


def write_json(tree: Tree) -> str:
    """A tree as JSON."""
    return json.dumps(node_json(tree.root), ensure_ascii=False, indent=1) + "\n"


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise InputError(f"this JSON says the key {twice!r} twice in one object")
    return made


def _no_number(constant: str) -> NoReturn:
    raise InputError(f"{constant} is no number of JSON")
