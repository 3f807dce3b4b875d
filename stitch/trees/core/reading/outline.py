"""Trees as a Markdown outline: headings and bullets are nodes, bullets below them are what they hold.

::

    # Plan: Ten days in Toronto {#i001}
    - days: 10
    ## Day: Monday
    - POI: Zoo {#i007}
      - cost: CAD 45
      - [ ] Buy tickets

`Type: name` is a node of a type that begins with a capital; `key: value` with a small letter is a field of what it
stands below; anything else is a node of type `Item` (`Section` of a heading) that is called so. `/type: name` is a node
and `@Field: value` a field whatever the letters. A value in double quotes is read as JSON reads it. `[ ]` and `[x]` are
the field `done`. A paragraph is the field `text`. An id in double quotes is read as JSON reads it, too.
"""

from __future__ import annotations

import json
import re
from contextlib import suppress

from stitch.errors import InputError
from stitch.trees.core.making import ITEM_TYPE, ROOT_TYPE, Said, made_name
from stitch.trees.core.nodes import TEXT_FIELD, Node, Tree

SECTION_TYPE = "Section"
NAME_FIELD, DONE_FIELD = "name", "done"

_HEADING = re.compile(r"(#{1,6})\s(.*)")
_BULLET = re.compile(r"(\s*)(?:[-*+]|\d{1,9}[.)])\s+(.*)")
_ID = re.compile(r"\{#(?P<id>[^{}\n]{1,4000})\}$")
_PLAIN_ID = re.compile(r'[^{}"\s](?:[^{}\n\r]*[^{}\s])?')
_TASK = re.compile(r"\[(?P<mark>[ xX])\]\s+")
_PAIR = re.compile(r"(?P<sign>[/@]?)(?P<key>[^\W\d][\w.-]*):(?:\s+(?P<value>.*)|\s*$)", re.DOTALL)
_TAB_BLANKS = 4


def read_outline(text: str) -> Said:
    """The tree of an outline. If several nodes stand at its top, they are children of a node of type `Root`."""
    reader = _Reader()
    for number, line in enumerate(text.splitlines(), start=1):
        try:
            reader.read(line.expandtabs(_TAB_BLANKS).rstrip())
        except InputError as error:
            raise InputError(f"line {number} of the outline: {error.message}", hint=error.hint) from None
    return reader.end()


class _Reader:
    """Makes nodes of lines as they come."""

    def __init__(self) -> None:
        self._root = Said(ROOT_TYPE)
        self._chain: list[tuple[Said, int, bool]] = []
        """Nodes above the next line: each with its depth (of a bullet its blanks), and whether it is a heading."""
        self._paragraph: list[str] = []

    @property
    def _last(self) -> Said:
        return self._chain[-1][0] if self._chain else self._root

    def read(self, line: str) -> None:
        """Take in a line."""
        if heading := _HEADING.fullmatch(line):
            self._begin(heading[2].strip().rstrip("#").strip(), depth=len(heading[1]), is_heading=True)
        elif bullet := _BULLET.fullmatch(line):
            self._begin(bullet[2], depth=len(bullet[1]), is_heading=False)
        elif line:
            self._paragraph.append(line.strip())
        else:
            self._end_paragraph()

    def end(self) -> Said:
        """The whole."""
        self._end_paragraph()
        if not self._root.children:
            if self._root.fields.keys() - {TEXT_FIELD}:
                raise InputError(
                    "all bullets of this outline are fields, for their names begin with a small letter",
                    hint="a node is `- Task: name` or `- /task: name`, and a field `- due: 2026-03-01` below it",
                )
            raise InputError(
                "this outline has neither headings nor bullets", hint="write `# Plan: name`, `- Task: name`"
            )
        if len(self._root.children) == 1 and not self._root.fields:
            return self._root.children[0]
        return self._root

    def _begin(self, text: str, *, depth: int, is_heading: bool) -> None:
        self._end_paragraph()
        while self._chain:
            _, above, was_heading = self._chain[-1]
            # a heading ends bullets; a bullet stands below a heading
            if depth > above if was_heading == is_heading else not is_heading:
                break
            self._chain.pop()
        node = _read_line(text, self._last, is_heading=is_heading)
        if node is not None:
            self._last.children.append(node)
            self._chain.append((node, depth, is_heading))

    def _end_paragraph(self) -> None:
        if self._paragraph:
            before = self._last.fields.pop(TEXT_FIELD, "")
            self._last.say(TEXT_FIELD, "\n".join([*([before] if before else []), *self._paragraph]))
            self._paragraph.clear()


def _read_line(text: str, above: Said, *, is_heading: bool) -> Said | None:
    """The node of a line; None if it is a field of the node above."""
    found = _ID.search(text)
    name = _value(found["id"]) if found else None
    text = text[: found.start()].rstrip() if found else text
    task = _TASK.match(text)
    text = text[task.end() :] if task else text
    pair = _PAIR.fullmatch(text)
    is_node = bool(is_heading or found or task)
    if pair and _is_field(pair, is_node=is_node):
        above.say(pair["key"], _value(pair["value"] or ""))
        return None
    unnamed = SECTION_TYPE if is_heading else ITEM_TYPE
    node = Said(made_name(pair["key"]) if pair else unnamed, id=name)
    called = text if pair is None else pair["value"]
    if called:
        node.say(NAME_FIELD, _value(called))
    if task:
        node.say(DONE_FIELD, "false" if task["mark"] == " " else "true")
    return node


def _is_field(pair: re.Match[str], *, is_node: bool) -> bool:
    return pair["sign"] == "@" or (not pair["sign"] and not is_node and pair["key"][0].islower())


def _value(text: str) -> str:
    if len(text) >= 2 and text.startswith('"') and text.endswith('"'):
        with suppress(ValueError):
            return str(json.loads(text))
    return text


def write_outline(tree: Tree) -> str:
    """A tree as an outline of bullets, each with its id."""
    lines: list[str] = []
    waiting: list[tuple[Node, int]] = [(tree.root, 0)]
    while waiting:
        node, depth = waiting.pop()
        indent = "  " * depth
        fields = dict(node.fields)
        sign = "" if node.type[0].isupper() else "/"
        name = f" {_written(fields.pop(NAME_FIELD))}" if fields.get(NAME_FIELD) else ""
        lines.append(f"{indent}- {sign}{node.type}:{name} {{#{_written_id(node.id)}}}")
        for field, value in fields.items():
            lines.append(f"{indent}  - {'' if field[0].islower() else '@'}{field}: {_written(value)}")
        waiting.extend((child, depth + 1) for child in reversed(node.children))
    return "\n".join(lines) + "\n"


def _written_id(name: str) -> str:
    """An id as it can be read again: one that holds braces, or looks quoted, as JSON without braces."""
    if _PLAIN_ID.fullmatch(name) and name.isprintable():
        return name
    return json.dumps(name).replace("{", "\\u007b").replace("}", "\\u007d")


def _written(value: str) -> str:
    """A value as it can be read again: in quotes, if it is more than a plain line."""
    plain = value and value == value.strip() and value.isprintable() and value[0] != '"' and "{#" not in value
    return value if plain else json.dumps(value)
