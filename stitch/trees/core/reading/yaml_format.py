"""Trees as YAML: as JSON is read, with every value as it is written.

It is read from the parser's events, of which no object is ever made: tags, anchors and aliases are refused.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import yaml

from stitch.errors import InputError
from stitch.trees.core.making import ITEM_TYPE, ROOT_TYPE, Said, of_mapping, too_deep
from stitch.trees.core.names import MAX_DEPTH
from stitch.trees.core.nodes import Tree
from stitch.trees.core.operations import node_json

_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_DUMPER: Any = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
_NOTHING = ("", "~", "null", "Null", "NULL")
_NON_SPECIFIC = "!"


def read_yaml(text: str) -> Said:
    """What YAML says; a value is the text that stands there, whether it looks like a number, a date or a truth value.

    Raises:
        InputError: It is malformed, has tags, anchors, several documents, or is nothing that could be a tree.
    """
    try:
        said = _Composer().compose(yaml.parse(text, Loader=_LOADER))
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = f", line {mark.line + 1} column {mark.column + 1}" if mark else ""
        raise InputError(f"this is no YAML: {error.problem or error.context}{where}") from None
    except UnicodeEncodeError:
        raise InputError("this YAML is no text: it holds half of a character") from None
    except yaml.YAMLError as error:
        raise InputError(f"this is no YAML: {str(error).splitlines()[0]}") from None
    if isinstance(said, list):
        said = {"type": ROOT_TYPE, "children": [each if isinstance(each, dict) else {"text": each} for each in said]}
    if not isinstance(said, dict):
        raise InputError("this YAML is no mapping", hint=f"a tree is a mapping; items of a list become {ITEM_TYPE}")
    return of_mapping(said)


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


class _Composer:
    """Makes mappings and lists of events; recursion would end at some depth, so there is none."""

    def __init__(self) -> None:
        self._open: list[tuple[Any, list[str]]] = []
        self._whole: Any = None
        self._documents = 0

    def compose(self, events: Iterator[yaml.Event]) -> Any:
        for event in events:
            self._check(event)
            if isinstance(event, yaml.DocumentStartEvent):
                self._documents += 1
                if self._documents > 1:
                    raise InputError("this YAML holds several documents", hint="make a tree of each")
            elif isinstance(event, yaml.MappingStartEvent):
                self._begin({}, event)
            elif isinstance(event, yaml.SequenceStartEvent):
                self._begin([], event)
            elif isinstance(event, yaml.MappingEndEvent | yaml.SequenceEndEvent):
                self._open.pop()
            elif isinstance(event, yaml.ScalarEvent):
                self._put(_scalar(event, is_key=self._waits_for_key()), event)
        return self._whole

    def _begin(self, holder: Any, event: yaml.Event) -> None:
        if self._waits_for_key():
            raise InputError(f"a key of this YAML is no text{_where(event)}")
        if len(self._open) >= 2 * MAX_DEPTH:
            raise too_deep()
        self._put(holder, event)
        self._open.append((holder, []))

    def _waits_for_key(self) -> bool:
        return bool(self._open) and isinstance(self._open[-1][0], dict) and not self._open[-1][1]

    def _put(self, value: Any, event: yaml.Event) -> None:
        if not self._open:
            self._whole = value
            return
        holder, key = self._open[-1]
        if isinstance(holder, list):
            holder.append(value)
        elif not key:
            if value in holder:
                raise InputError(f"this YAML says the key {value!r} twice{_where(event)}")
            key.append(value)
        else:
            holder[key.pop()] = value

    @staticmethod
    def _check(event: yaml.Event) -> None:
        tag = getattr(event, "tag", None)
        if tag is not None and tag != _NON_SPECIFIC:
            raise InputError(f"this YAML is refused: it has the tag {tag!r}{_where(event)}", hint="values need no tags")
        if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None) is not None:
            raise InputError(
                f"this YAML is refused: it has anchors{_where(event)}", hint="write again what the alias stands for"
            )


def _scalar(event: yaml.ScalarEvent, *, is_key: bool) -> str | None:
    value: str = event.value
    plain = event.style is None or event.style == ""
    return None if plain and not is_key and value in _NOTHING else value


def _where(event: yaml.Event) -> str:
    mark = event.start_mark
    return f", line {mark.line + 1} column {mark.column + 1}" if mark else ""
