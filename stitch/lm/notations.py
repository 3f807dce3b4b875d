"""Objects that a reply writes in other notations than JSON: outlines, tables and marks.

An outline is whatever sets `name: value` under numbers, bullets or headings: YAML, Markdown, numbered prose. What is
read is what stands there under the names of fields; talk has none.
"""

from __future__ import annotations

import ast
import csv
import re
from collections.abc import Collection, Mapping, Sequence
from itertools import takewhile
from typing import Any, get_args, get_origin
from xml.etree.ElementTree import Element, ParseError  # types alone; what is parsed is parsed by defusedxml

from pydantic import BaseModel

from stitch.lm.shapes import CONTAINERS
from stitch.signatures.replies import names_of

_LEAST_FIELDS = 2
"""How many fields an object has that is told from talk."""
_MOST_WORDS = 8
"""Of a heading that is a name."""
_DECORATION = "*_`\"'# "
_FENCE = re.compile(r"\s*(?:```|~~~)|\s*-{3,}\s*$")
_BULLET = re.compile(r"\s*(?:[-*•+>#]+\s+)*")
_HEAD = re.compile(
    r"(?P<word>[^\W\d_]{1,12})?[\s*_.#:]{0,3}(?P<number>\d{1,4})[*_]{0,2}(?P<end>[.):\]]|\s*$|\s+[-–—:])"
)
"""What begins an object: `Step 3:`, `3.`, `**3**`."""
_ARROW = re.compile("->|=>|→|⇒|=")
_RULE = re.compile(r"[\s:|+=-]+")
_DELIMITERS = "|\t;,"
_TAGGED = re.compile(r"<[A-Za-z][^<>]{0,400}>")
_WORD = re.compile(r"[^\W_]+")
_PAIRS = ('""', "''", "“”", "()", "[]")
_LONE_AMPERSAND = re.compile(r"&(?!\w{1,8};|#\d{1,6};)")


def objects_written(text: str, item: type[BaseModel], *, others: Collection[str] = ()) -> list[dict[str, Any]]:
    """The objects that a text without JSON writes down, their fields under their names; empty if it writes none.

    Args:
        text: A reply.
        item: What they are.
        others: Names of what may stand beside them.
    """
    names = {**dict.fromkeys(others, ""), **names_of(item)}
    for read in (_called, _marked_up, _table, _outline, _pairs):
        found = [one for one in read(text, item, names) if len(one) >= _LEAST_FIELDS]
        if found:
            return found
    return []


def _called(text: str, item: type[BaseModel], names: Mapping[str, str]) -> list[dict[str, Any]]:
    """The objects of a list as Python writes them: `[StepReading(n=1, scope='...'), ...]`."""
    start, end = text.find(f"{item.__name__}("), text.rfind(")")
    if not 0 <= start < end:
        return []
    try:
        tree = ast.parse(f"[{text[start : end + 1]}]", mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    return [own for own in _evaluated(tree.body) if isinstance(own, dict)]


def _evaluated(node: ast.AST) -> Any:
    """A literal; of a call its arguments by name; None for anything else. Nothing is run."""
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, (ast.List, ast.Tuple)):
        return [_evaluated(own) for own in node.elts]
    if isinstance(node, ast.Call):
        return {own.arg: _evaluated(own.value) for own in node.keywords if own.arg}
    return None


def _outline(text: str, item: type[BaseModel], names: Mapping[str, str]) -> list[dict[str, Any]]:
    """Objects of `name: value`; one begins with a number, or where a name comes again."""
    outline = _Outline(item, names)
    for line in text.splitlines():
        outline.read(line)
    return outline.objects()


class _Outline:
    """Reads the lines of an outline."""

    def __init__(self, item: type[BaseModel], names: Mapping[str, str]) -> None:
        self._item = item
        self._names = names
        fields = item.model_fields.items()
        self._naming = next((name for name, own in fields if own.annotation is str and own.is_required()), None)
        """The field that heads an object where it does not say its name."""
        spelled = "|".join(re.escape(name).replace("_", "[ _-]") for name in sorted(names, key=len, reverse=True))
        self._field = re.compile(
            rf"(?:^|(?<=[;,|.(])\s{{0,4}}|\s[-–—]\s|\s(?=\*\*))[*_`\"']{{0,3}}(?P<name>{spelled})[*_`\"']{{0,3}}\s{{0,3}}[:=]"
            rf"(?:\s|[*_`]{{1,3}}|$)",
            re.IGNORECASE,
        )
        self._found: list[dict[str, list[str]]] = [{}]
        self._heads: list[str] = [""]
        self._last: str | None = None
        """The field whose value goes on in the lines behind."""
        self._group = ""
        """What objects that say no name are grouped under."""
        self._begun = False
        """Whether a number has just begun an object, so that what follows heads it."""

    def read(self, line: str) -> None:
        if _FENCE.match(line):
            return
        body = line[_BULLET.match(line).end() :].strip() if line.strip() else ""  # type: ignore[union-attr]
        if not body:
            self._last = None if not line.strip() else self._last
            return
        whole, body = body, self._after_head(body)
        marks = list(self._field.finditer(body))
        told = body[: marks[0].start()] if marks else body
        headed = body is whole and line[:1].strip() and (line.startswith("#") or body.endswith(":"))
        if headed and not marks and self._is_name(body):
            self._last, self._group = None, _plain(body.rstrip(":"))
        elif told.strip(_DECORATION + ";,:-–—"):
            self._go_on(told, unnamed=not marks)
        ends = [*(mark.start() for mark in marks), len(body)][1:]
        for mark, end in zip(marks, ends, strict=True):
            self._take(self._names.get(_folded(mark["name"]), ""), body[mark.end() : end].strip(" ;,|"))

    def _after_head(self, body: str) -> str:
        """What stands behind a number that begins an object; the whole of a line that begins none."""
        head = _HEAD.match(body.lstrip("*_# ["))
        numbering = "n" in self._item.model_fields
        if head is None:
            return body
        rest = body.lstrip("*_# [")[head.end() :].lstrip(" *_:-–—>")
        word = head["word"]
        if word is not None and rest and (not numbering or self._names.get(_folded(word)) != "n"):
            return body
        if word is not None and _folded(word) in self._names and self._names[_folded(word)] != "n":
            return body
        if word is None and not rest and self._last is not None:
            return body  # a number in a list of values
        self._begin()
        self._last, self._begun = None, True
        if numbering:
            self._found[-1]["n"] = [head["number"]]
        return rest

    def _is_name(self, said: str) -> bool:
        """Whether a heading may be a name, not talk about the list."""
        words = _folded(said).split("_")
        return len(words) <= _MOST_WORDS and not any(word in self._names or word in CONTAINERS for word in words)

    def _begin(self) -> None:
        if self._found[-1]:
            self._found.append({})
            self._heads.append(self._group)
        else:
            self._heads[-1] = self._group

    def _take(self, name: str, value: str) -> None:
        if not name:  # what stands beside the objects
            self._last = None
            return
        if name in self._found[-1]:
            self._begin()
        self._found[-1][name] = [value] if value else []
        self._last = name

    def _go_on(self, told: str, *, unnamed: bool) -> None:
        """A line without a name: it goes on with the value before, or is what an object is headed by."""
        if self._last is not None and unnamed:
            self._found[-1][self._last].append(told)
        elif self._begun:
            self._heads[-1] = told if self._is_name(told) else ""
        self._begun = False

    def objects(self) -> list[dict[str, Any]]:
        found = []
        for one, head in zip(self._found, self._heads, strict=True):
            read = {name: _value(lines, self._item.model_fields[name].annotation) for name, lines in one.items()}
            if head and self._naming and self._naming not in read:
                read[self._naming] = _plain(head.rstrip(" (;,:-–—"))
            found.append(read)
        return found


def _value(lines: Sequence[str], annotation: Any) -> Any:
    """What lines say as the value of a field: a list if it is to be one, and they are several."""
    if annotation is str or get_origin(annotation) is not list:
        return _plain(" ".join(lines))
    inner = get_args(annotation)[0]
    if isinstance(inner, type) and issubclass(inner, BaseModel):
        if nested := objects_written("\n".join(lines), inner):
            return nested
        return [_plain(part) for line in lines for part in line.split(";") if _plain(part)]
    if len(lines) == 1:
        return [_plain(part) for part in re.split("[,;]", lines[0].strip().strip("[]")) if _plain(part)]
    return [_plain(line) for line in lines if _plain(line)]


def _pairs(text: str, item: type[BaseModel], names: Mapping[str, str]) -> list[dict[str, Any]]:
    """Lines such as `the first one -> Zephyr Mill`, for objects that are a pair of texts."""
    required = [name for name, field in item.model_fields.items() if field.is_required() and field.annotation is str]
    pairs = [[_plain(part) for part in _ARROW.split(line[_BULLET.match(line).end() :])] for line in text.splitlines()]  # type: ignore[union-attr]
    return [dict(zip(required, pair, strict=True)) for pair in pairs if len(required) == len(pair) == 2 and all(pair)]


def _table(text: str, item: type[BaseModel], names: Mapping[str, str]) -> list[dict[str, Any]]:
    """The rows of a table whose head has the names of fields."""
    lines = [line.strip(" \r") for line in text.splitlines() if not _RULE.fullmatch(line)]
    for delimiter in _DELIMITERS:
        if rows := _rows([_cells(line, delimiter) for line in lines], item, names):
            return rows
    return []


def _rows(cells: Sequence[Sequence[str]], item: type[BaseModel], names: Mapping[str, str]) -> list[dict[str, Any]]:
    """What stands under the first row that has names of fields, as long as rows have as many cells as it."""
    for place, row in enumerate(cells):
        heads = [names.get(_folded(cell), "") for cell in row]
        if len({head for head in heads if head}) >= min(3, len(item.model_fields)):
            widths = takewhile(len(row).__eq__, map(len, cells[place + 1 :]))
            under = cells[place + 1 : place + 1 + sum(1 for _ in widths)]
            return [_of_strings(dict(zip(heads, own, strict=True)), item) for own in under]
    return []


def _of_strings(told: Mapping[str, Any], item: type[BaseModel]) -> dict[str, Any]:
    """Fields whose values are read where they are text; what has no name is left out."""
    return {
        name: _value([value], item.model_fields[name].annotation) if isinstance(value, str) else value
        for name, value in told.items()
        if name
    }


def _cells(line: str, delimiter: str) -> list[str]:
    if delimiter not in line:
        return []
    return next(csv.reader([line.strip("|")], delimiter=delimiter, skipinitialspace=True), [])


def _marked_up(text: str, item: type[BaseModel], names: Mapping[str, str]) -> list[dict[str, Any]]:
    """The elements, or attributes, of a text in marks that have the names of fields."""
    from defusedxml.common import DefusedXmlException
    from defusedxml.ElementTree import fromstring

    opens, end = _TAGGED.search(text), text.rfind(">")
    if opens is None:
        return []
    try:
        root = fromstring(f"<_>{_LONE_AMPERSAND.sub('&amp;', text[opens.start() : end + 1])}</_>")
    except (ParseError, DefusedXmlException):
        return []
    found = []
    for element in root.iter():
        told = {**element.attrib, **{own.tag: _said_by(own) for own in element}}
        read = _of_strings({names.get(_folded(tag), ""): value for tag, value in told.items()}, item)
        if len(read) >= _LEAST_FIELDS:
            found.append(read)
    return found or _rows([["".join(own.itertext()) for own in row] for row in root.iter() if len(row)], item, names)


def _said_by(element: Element) -> Any:
    """The text of an element; of one that holds others a list of what they say."""
    if len(element) == 0:
        return (element.text or "").strip()
    parts = [_said_by(own) for own in element]
    if len({own.tag for own in element}) == len(element) > 1:
        return [{own.tag: part for own, part in zip(element, parts, strict=True)}]
    return parts


def _plain(said: str) -> str:
    """A value without the signs that set it off."""
    bare = said.strip().strip("*_`").strip()
    if len(bare) > 1 and bare[0] + bare[-1] in _PAIRS:
        bare = bare[1:-1].strip()
    if bare.endswith(")") and "(" not in bare:  # of a remark that began before the name of the field
        bare = bare[:-1].strip()
    return bare if _WORD.search(bare) else ""


def _folded(name: str) -> str:
    """A name in small letters: `Event(s)` as `events`, `Step #` as `step`."""
    return "_".join(_WORD.findall(name.casefold().replace("(s)", "s")))
