"""Trees in words: differences for a step and for a person, and what a prompt shows; and the query in a reply."""

from __future__ import annotations

import re
from collections.abc import Iterator

from stitch.label.model.quoting import quote
from stitch.trees.core.differences import TreeDiff
from stitch.trees.core.nodes import Node, Tree
from stitch.trees.core.schema import Schema

_NAMES = ("name", "title", "label", "key", "text")
_MOST_LINES = 50
_MOST_CHARS = 160
_VALUES_SHOWN, _FIELDS_SHOWN = 5, 200
"""Of each field, and of how many fields of types a prompt shows values; a tree may have as many types as nodes."""


def called(node: Node) -> str:
    """A node as a person calls it: its type with its name, or else its id."""
    name = next((node.fields[field] for field in _NAMES if node.fields.get(field)), "")
    return f"{node.type} {short(name)!r}" if name else f"{node.type} {node.id}"


def short(text: str, *, limit: int = 60) -> str:
    """The beginning of a text on one line."""
    line = " ".join(text.split())
    return line if len(line) <= limit else f"{line[: limit - 1]}…"


def lines_of(diff: TreeDiff) -> Iterator[str]:
    """A difference, one line a change: `+` was added, `-` removed, `>` moved, `~` a field says something else."""
    for sign, places in (("-", diff.removed), ("+", diff.added)):
        for place in places:
            yield f"{sign} {called(place.node)}{_below(place.node)}  {place.path}  ({place.node.id})"
    for moved in diff.moved:
        yield f"> {called(moved.node)}  {moved.before} to {moved.after}  ({moved.node.id})"
    for changed in diff.changed:
        old, new = (("nothing" if each is None else repr(short(each))) for each in (changed.old, changed.new))
        yield f"~ {called(changed.node)}  {changed.field}: {old} to {new}  ({changed.node.id})"


def _below(node: Node) -> str:
    count = sum(1 for _ in node.walk()) - 1
    return f" with {count} below it" if count else ""


def step_text(tree: str, *, version: str, message: str, diff: TreeDiff) -> str:
    """The text of a step that tells of a commit."""
    lines = list(lines_of(diff))
    more = [f"and {len(lines) - _MOST_LINES} more changes"] if len(lines) > _MOST_LINES else []
    head = f"Edited the tree {tree!r} (version {version}){f': {message}' if message else ''}"
    return "\n".join([head, *(short(line, limit=_MOST_CHARS) for line in lines[:_MOST_LINES]), *more])


def tree_inputs(tree: Tree, schema: Schema) -> dict[str, str]:
    """Inputs of prompts about a tree: its schema, and some values of each field, the most frequent first."""
    counts: dict[str, dict[str, int]] = {}
    for node in tree:
        for name, value in node.fields.items():
            own = counts.setdefault(f"{node.type}.{name}", {})
            own[value] = own.get(value, 0) + 1
    lines = []
    for name, values in list(counts.items())[:_FIELDS_SHOWN]:
        most = sorted(values, key=lambda value: -values[value])[:_VALUES_SHOWN]
        lines.append(quote({name: [value[:60] for value in most]}))
    return {"tree_schema": quote(schema.dump()["types"]), "examples": "\n".join(lines)}


_FENCE = re.compile(r"^```\w{0,20}\s{0,20}|\s{0,20}```$")
_BEGINS_PATH = re.compile(r"^(?:\w{1,20}\s?[:=]\s?)?(?P<path>[/(`].*)$", re.MULTILINE)


def path_in(said: object) -> str:
    """The path query in what a model said: without a code block, backticks, a name or words around it."""
    text = _FENCE.sub("", str(said or "").strip()).strip().strip("`").strip()
    line = _BEGINS_PATH.search(text)
    return text if line is None else line["path"].strip().strip("`").strip()
