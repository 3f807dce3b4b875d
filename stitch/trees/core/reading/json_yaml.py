"""Trees and commits as JSON, and trees as YAML: `{"id", "type", "fields", "children"}`, and whatever an object says.

A value is the text that stands there, whether it looks like a number, a date or a truth.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NoReturn

import yaml

from stitch.errors import InputError
from stitch.trees.core.making import MAX_DEPTH, Said, of_value, too_deep
from stitch.trees.core.nodes import Tree
from stitch.trees.core.operations import node_json

_PARSER: Any = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
_DUMPER: Any = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
_NOTHING = ("", "~", "null", "Null", "NULL")
_NON_SPECIFIC = "!"


def read_json(text: str) -> Said:
    """The tree of JSON."""
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


def read_yaml(text: str) -> Said:
    """The tree of YAML. Tags, anchors and aliases are refused."""
    try:
        said = _value_of(text)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = f", line {mark.line + 1} column {mark.column + 1}" if mark else ""
        raise InputError(f"this is no YAML: {error.problem or error.context}{where}") from None
    except UnicodeEncodeError:
        raise InputError("this YAML is no text: it holds half of a character") from None
    except yaml.YAMLError as error:
        raise InputError(f"this is no YAML: {str(error).splitlines()[0]}") from None
    return of_value(said, form="YAML")


def _value_of(text: str) -> Any:
    """The value that YAML says, of its events: nothing of what it may call is made."""
    open_: list[list[tuple[Any, yaml.Event]]] = [[]]
    for event in yaml.parse(text, Loader=_PARSER):
        _refuse(event)
        if isinstance(event, yaml.DocumentStartEvent) and open_[0]:
            raise InputError("this YAML holds several documents", hint="make a tree of each")
        if isinstance(event, yaml.CollectionStartEvent):
            open_.append([])
            if len(open_) > 2 * MAX_DEPTH:
                raise too_deep()
        elif isinstance(event, yaml.ScalarEvent):
            plain = not event.style and event.value in _NOTHING
            open_[-1].append((None if plain else event.value, event))
        elif isinstance(event, yaml.MappingEndEvent):
            pairs = open_.pop()
            open_[-1].append((_mapping(pairs[::2], [value for value, _ in pairs[1::2]]), event))
        elif isinstance(event, yaml.SequenceEndEvent):
            values = [value for value, _ in open_.pop()]
            open_[-1].append((values, event))
    return open_[0][0][0] if open_[0] else None


def _mapping(keys: list[tuple[Any, yaml.Event]], values: list[Any]) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for (_, event), value in zip(keys, values, strict=True):
        if not isinstance(event, yaml.ScalarEvent):
            raise InputError(f"a key of this YAML is no text{_where(event)}")
        if event.value in made:
            raise InputError(f"this YAML says the key {event.value!r} twice{_where(event)}")
        made[event.value] = value
    return made


def _refuse(event: yaml.Event) -> None:
    """Refuse what is more than plain values."""
    tag = getattr(event, "tag", None)
    if tag is not None and tag != _NON_SPECIFIC:
        raise InputError(f"this YAML is refused: it has the tag {tag!r}{_where(event)}", hint="values need no tags")
    if getattr(event, "anchor", None) is not None:
        again = "write again what the alias stands for"
        raise InputError(f"this YAML is refused: it has anchors{_where(event)}", hint=again)


def write_yaml(tree: Tree) -> str:
    """A tree as YAML."""
    made: str = yaml.dump(
        node_json(tree.root), Dumper=_DUMPER, allow_unicode=True, sort_keys=False, width=1_000_000,
        default_flow_style=False,
    )  # fmt: skip
    return made


def _where(at: yaml.Event) -> str:
    mark = at.start_mark
    return f", line {mark.line + 1} column {mark.column + 1}" if mark else ""


_HINT = 'a line is {"message": "why", "operations": [{"op": "set", ..}, ..]}, or an operation by itself'


def read_commits(text: str) -> list[dict[str, Any]]:
    """The commits that a file says: lines of JSON, or one JSON value.

    Each is an object with `operations`, as in a history, or operations by themselves, which are one commit.

    Raises:
        InputError: It says neither; names the line.
    """
    said = _values(text)
    if len(said) == 1 and isinstance(said[0][1], list):
        said = [(1, each) for each in said[0][1]]
    if not said:
        raise InputError("the file holds no operations", hint=_HINT)
    commits: list[dict[str, Any]] = []
    operations: list[dict[str, Any]] = []
    for line, value in said:
        if not isinstance(value, Mapping) or not ("op" in value or "operations" in value):
            raise InputError(f"line {line} is neither a commit nor an operation", hint=_HINT)
        (operations if "op" in value else commits).append(dict(value))
    if operations and commits:
        raise InputError("the file mixes commits and operations", hint=_HINT)
    return commits or [{"operations": operations}]


def _values(text: str) -> list[tuple[int, Any]]:
    """The values of JSON with their lines: the whole, or one a line."""
    try:
        return [(1, json.loads(text))]
    except (ValueError, RecursionError):  # no JSON, a number of too many digits, or nested too deeply
        pass
    found = []
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip():
            continue
        try:
            found.append((number, json.loads(line)))
        except (ValueError, RecursionError) as error:
            reason = f"{error.msg}, column {error.colno}" if isinstance(error, json.JSONDecodeError) else str(error)
            raise InputError(f"line {number} is no JSON: {reason.lower()}", hint=_HINT) from None
    return found
