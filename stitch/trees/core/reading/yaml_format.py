"""Trees as YAML: as JSON is read, with every value as it is written. Tags, anchors and aliases are refused."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import yaml

from stitch.errors import InputError
from stitch.trees.core.making import Said, of_value, too_deep
from stitch.trees.core.names import MAX_DEPTH
from stitch.trees.core.nodes import Tree
from stitch.trees.core.operations import node_json

_PARSER: Any = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
_DUMPER: Any = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
_NOTHING = ("", "~", "null", "Null", "NULL")
_NON_SPECIFIC = "!"


class _Loader(_PARSER):  # type: ignore[misc]
    """Values as they are written; a plain null says nothing."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[str, Any]:
        made: dict[str, Any] = {}
        for key, value in node.value:
            if not isinstance(key, yaml.ScalarNode):
                raise InputError(f"a key of this YAML is no text{_where(key)}")
            if key.value in made:
                raise InputError(f"this YAML says the key {key.value!r} twice{_where(key)}")
            plain = isinstance(value, yaml.ScalarNode) and not value.style and value.value in _NOTHING
            made[key.value] = None if plain else self.construct_object(value, deep=True)
        return made

    def construct_sequence(self, node: yaml.SequenceNode, deep: bool = False) -> list[Any]:
        found: list[Any] = super().construct_sequence(node, deep=True)
        scalars = (each if isinstance(each, yaml.ScalarNode) else None for each in node.value)
        return [
            None if scalar is not None and not scalar.style and scalar.value in _NOTHING else value
            for scalar, value in zip(scalars, found, strict=True)
        ]


def read_yaml(text: str) -> Said:
    """The tree of YAML; a value is the text that stands there, whether it looks like a number, a date or a truth.

    Raises:
        InputError: It is malformed, has tags, anchors, several documents, or is nothing that could be a tree.
    """
    try:
        _check(yaml.parse(text, Loader=_PARSER))
        said = yaml.load(text, Loader=_Loader)  # noqa: S506 - makes texts, mappings and lists alone
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = f", line {mark.line + 1} column {mark.column + 1}" if mark else ""
        raise InputError(f"this is no YAML: {error.problem or error.context}{where}") from None
    except UnicodeEncodeError:
        raise InputError("this YAML is no text: it holds half of a character") from None
    except yaml.YAMLError as error:
        raise InputError(f"this is no YAML: {str(error).splitlines()[0]}") from None
    return of_value(said, form="YAML")


def _check(events: Iterator[yaml.Event]) -> None:
    """Refuse what is more than plain values, before anything is made of it."""
    documents = depth = 0
    for event in events:
        documents += isinstance(event, yaml.DocumentStartEvent)
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        tag = getattr(event, "tag", None)
        if documents > 1:
            raise InputError("this YAML holds several documents", hint="make a tree of each")
        if tag is not None and tag != _NON_SPECIFIC:
            raise InputError(f"this YAML is refused: it has the tag {tag!r}{_where(event)}", hint="values need no tags")
        if getattr(event, "anchor", None) is not None:
            again = "write again what the alias stands for"
            raise InputError(f"this YAML is refused: it has anchors{_where(event)}", hint=again)
        if depth > 2 * MAX_DEPTH:
            raise too_deep()


def write_yaml(tree: Tree) -> str:
    """A tree as YAML."""
    made: str = yaml.dump(
        node_json(tree.root),
        Dumper=_DUMPER,
        allow_unicode=True,
        sort_keys=False,
        width=1_000_000,
        default_flow_style=False,
    )
    return made


def _where(at: yaml.Event | yaml.Node) -> str:
    mark = at.start_mark
    return f", line {mark.line + 1} column {mark.column + 1}" if mark else ""
