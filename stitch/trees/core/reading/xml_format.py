"""Trees as XML: an element is a node, its name the type, its attributes the fields, its text the field `text`.

What XML can do beyond this is refused: entities, external documents, and whatever else a document type declares.
"""

from __future__ import annotations

import re
from io import BytesIO
from xml.sax import SAXParseException
from xml.sax.handler import ContentHandler, ErrorHandler
from xml.sax.saxutils import escape
from xml.sax.xmlreader import AttributesImpl, InputSource

from defusedxml import DefusedXmlException, sax

from stitch.core.text_cache import text_cache
from stitch.errors import InputError
from stitch.trees.core.making import Said, too_deep, too_large
from stitch.trees.core.names import MAX_DEPTH, MAX_NODES, made_name
from stitch.trees.core.nodes import TEXT_FIELD, Node, Tree

_BLANKS = re.compile(r"\s+")
_ESCAPED = re.compile(r"_x([0-9A-F]{4,6})_")
_IN_ATTRIBUTE = {'"': "&quot;", "\n": "&#10;", "\t": "&#9;", "\r": "&#13;"}


def read_xml(text: str) -> Said:
    """What XML says. Text between elements is their parent's; its blanks at the ends are not.

    Raises:
        InputError: It is malformed, declares entities or another document, or is too deep or too large.
    """
    reader = _Reader()
    source = InputSource()
    source.setByteStream(BytesIO(text.encode("utf-8", "replace")))
    source.setEncoding("utf-8")  # whatever the document declares: it was read before it came here
    try:
        sax.parse(
            source, reader, errorHandler=ErrorHandler(), forbid_dtd=False, forbid_entities=True, forbid_external=True
        )
    except DefusedXmlException as error:
        raise InputError(
            f"this XML is refused: it declares {_declared(error)}",
            hint="write what the entity stands for instead of it",
        ) from None
    except SAXParseException as error:
        raise InputError(
            f"this is no XML: {error.getMessage()}, line {error.getLineNumber()} column {_column(error)}"
        ) from None
    assert reader.root is not None
    return reader.root


def _column(error: SAXParseException) -> int:
    return (error.getColumnNumber() or 0) + 1


def _declared(error: DefusedXmlException) -> str:
    kind = type(error).__name__
    return {"EntitiesForbidden": "entities", "ExternalReferenceForbidden": "an external document"}.get(kind, kind)


class _Reader(ContentHandler):
    """Makes nodes of elements as they come."""

    def __init__(self) -> None:
        super().__init__()
        self.root: Said | None = None
        self._open: list[tuple[Said, list[str]]] = []
        self._count = 0

    def startElement(self, name: str, attrs: AttributesImpl) -> None:  # noqa: N802 - the name in the standard library
        """Begin a node."""
        self._count += 1
        if len(self._open) >= MAX_DEPTH:
            raise too_deep()
        if self._count > MAX_NODES:
            raise too_large()
        said = Said(_name(name))
        for key, value in attrs.items():
            if key == "id":
                said.id = value
            else:
                said.say(_name(key), value)
        if self._open:
            self._open[-1][0].children.append(said)
            self._open[-1][1].append(" ")
        else:
            self.root = said
        self._open.append((said, []))

    def characters(self, content: str) -> None:
        """Take in a piece of text."""
        self._open[-1][1].append(content)

    def endElement(self, name: str) -> None:  # noqa: N802 - the name in the standard library
        """End a node: all its text is known."""
        said, pieces = self._open.pop()
        text = "".join(pieces).strip()
        if text:
            said.say(TEXT_FIELD, text if not said.children else _BLANKS.sub(" ", text))


def _name(written: str) -> str:
    """The name that an element or attribute has; `_x0149_` stands for a letter that XML does not allow in names."""
    return (
        made_name(_ESCAPED.sub(lambda found: chr(int(found[1], 16)), written))
        if "_x" in written
        else made_name(written)
    )


@text_cache(maxsize=1024)
def _written(name: str) -> str:
    """A name as XML can hold it."""
    name = _ESCAPED.sub(lambda found: f"_x005F{found.group()}", name)
    try:
        sax.parseString(f"<{name}/>".encode(), ContentHandler(), errorHandler=ErrorHandler())
    except SAXParseException:
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
