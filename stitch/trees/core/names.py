"""Rules for types, fields, ids and texts of a tree: the same in every format that is read."""

from __future__ import annotations

import re
from hashlib import blake2b

from stitch.core.steps import MAX_NAME_CHARS, clean_name, clean_text
from stitch.errors import InputError

MAX_NODES = 500_000
"""The largest tree."""
MAX_DEPTH = 100
"""The most levels of a tree, its root included: whatever is deeper is no document that a person or an agent made."""
MAX_FIELD_CHARS = 1_000_000
"""The longest value of a field."""
MAX_FILE_BYTES = 256 << 20
"""The largest file of a tree."""

_NAME = re.compile(r"[^\W\d][\w.-]*")
_NO_NAME_MARK = re.compile(r"[^\w.-]")
_NO_CHARACTER = re.compile("[\ufffe\uffff]")
_ID_DIGITS = 8


def type_name(value: str, *, what: str = "type") -> str:
    """A name of a type or a field: a Unicode word, which may have points and hyphens inside.

    Raises:
        InputError: It is none.
    """
    if not _NAME.fullmatch(value) or len(value) > MAX_NAME_CHARS:
        raise InputError(
            f"{what} {value[:60]!r} is no name",
            hint="names begin with a letter and go on with letters, digits, _ - .",
        )
    if what == "field" and value == "id":
        raise InputError("a field cannot be called 'id': that names the node", hint="call it otherwise")
    return value


def made_name(given: str) -> str:
    """The nearest name to what a file says, such as `due_date` for `due date`; `_` for nothing."""
    name = _NO_NAME_MARK.sub("_", clean_text(given).strip())
    if not _NAME.match(name):
        name = f"_{name}"
    return name[:MAX_NAME_CHARS]


def node_id(value: str) -> str:
    """An id of a node, without control characters and outer blanks.

    Raises:
        InputError: Nothing is left, or it is too long.
    """
    try:
        cleaned = clean_name(str(value), what="the id of a node")
        cleaned.encode()
    except UnicodeEncodeError:
        raise InputError(f"id {value!r} of a node is no text") from None
    except ValueError as error:
        raise InputError(str(error)) from None
    return cleaned


def field_text(value: object, *, field: str) -> str:
    """The text of a field: without control characters, numbers and truth values as JSON writes them.

    Raises:
        InputError: It is neither, or too long.
    """
    if isinstance(value, bool):
        value = "true" if value else "false"
    if not isinstance(value, str | int | float):
        raise InputError(
            f"the value of field {field!r} is a {type(value).__name__}",
            hint="a field holds a text, a number or a truth value",
        )
    text = _NO_CHARACTER.sub("", clean_text(str(value))).replace("\r\n", "\n").replace("\r", "\n")
    if len(text) > MAX_FIELD_CHARS:
        raise InputError(f"the value of field {field!r} has {len(text)} characters, at most {MAX_FIELD_CHARS} are kept")
    return text


def made_id(type_: str, *told: str) -> str:
    """A short id that is made of where a node stands and what it is called: the same for the same file.

    Args:
        type_: Of the node; the id begins with it, so that a person knows what it names.
        told: The id of its parent, its name, and whatever tells it from others of the same name.
    """
    digest = blake2b("\x1f".join(told).encode("utf-8", "replace"), digest_size=8).hexdigest()[:_ID_DIGITS]
    return f"{type_.lower()}-{digest}"
