"""Trees as XML: an element is a node, its name the type, its attributes the fields, its text the field `text`.

Entities that a document type declares are refused; an external document type is not fetched.
"""

from __future__ import annotations

import re
from xml.etree.ElementTree import Element, ParseError
from xml.sax.saxutils import escape

from defusedxml import DefusedXmlException
from defusedxml.ElementTree import fromstring

from stitch.core.text_cache import text_cache
from stitch.errors import InputError
from stitch.trees.core.making import Said, made_name
from stitch.trees.core.nodes import TEXT_FIELD, Node, Tree

_BLANKS = re.compile(r"\s+")
_ESCAPED = re.compile(r"_x([0-9A-F]{4,6})_")
_IN_ATTRIBUTE = {'"': "&quot;", "\n": "&#10;", "\t": "&#9;", "\r": "&#13;"}


def read_xml(text: str) -> Said:
    """The tree of XML. Text between elements is their parent's; its blanks at the ends are not."""
    try:
        root = fromstring(text.encode("utf-8", "replace").decode())  # a text: read whatever encoding it declares
    except DefusedXmlException as error:
        raise InputError(
            "this XML is refused: it declares entities", hint="write what the entity stands for instead of it"
        ) from error
    except ParseError as error:
        line, column = error.position
        reason = str(error).partition(": line")[0]
        raise InputError(f"this is no XML: {reason}, line {line} column {column + 1}") from None
    whole = Said(_name(root.tag))
    waiting: list[tuple[Element, Said]] = [(root, whole)]
    while waiting:
        element, said = waiting.pop()
        for key, value in element.attrib.items():
            if key == "id":
                said.id = value
            else:
                said.say(_name(key), value)
        pieces = [element.text or "", *(below.tail or "" for below in element)]
        if spoken := " ".join(pieces).strip():
            said.say(TEXT_FIELD, _BLANKS.sub(" ", spoken) if len(element) else spoken)
        said.children = [Said(_name(below.tag)) for below in element]
        waiting.extend(zip(element, said.children, strict=True))
    return whole


def _name(written: str) -> str:
    """The name of an element or attribute without namespace; `_x0149_` stands for a letter that XML forbids."""
    name = written.rpartition("}")[2]
    return made_name(_ESCAPED.sub(lambda found: chr(int(found[1], 16)), name) if "_x" in name else name)


@text_cache(maxsize=1024)
def _written(name: str) -> str:
    """A name as XML can hold it."""
    name = _ESCAPED.sub(lambda found: f"_x005F{found.group()}", name)
    try:
        fromstring(f"<{name}/>")
    except ParseError:
        return "".join(mark if mark.isascii() else f"_x{ord(mark):04X}_" for mark in name)
    return name


def write_xml(tree: Tree) -> str:
    """A tree as XML."""
    lines = ['<?xml version="1.0" encoding="UTF-8"?>']
    waiting: list[tuple[Node | None, str, str]] = [(tree.root, "", "")]
    while waiting:
        node, indent, end = waiting.pop()
        if node is None:
            lines.append(end)
            continue
        fields = dict(node.fields)
        text = fields.get(TEXT_FIELD, "")
        if node.children or text != text.strip() or not text or "\r" in text:
            text = ""  # it stands among the attributes, where its blanks are kept
        else:
            del fields[TEXT_FIELD]
        said = [("id", node.id), *((_written(name), value) for name, value in fields.items())]
        told = "".join(f' {name}="{escape(value, _IN_ATTRIBUTE)}"' for name, value in said)
        type_ = _written(node.type)
        if node.children:
            lines.append(f"{indent}<{type_}{told}>")
            waiting.append((None, "", f"{indent}</{type_}>"))
            waiting.extend((child, indent + "  ", "") for child in reversed(node.children))
        elif text:
            lines.append(f"{indent}<{type_}{told}>{escape(text)}</{type_}>")
        else:
            lines.append(f"{indent}<{type_}{told}/>")
    return "\n".join(lines) + "\n"
