"""Identifiers: words that people do not say and programs hand on: paths, addresses, names in code, keys, numbers.

What one step of an agent names and another names again, letter by letter, ties the two together, whatever the words
around it. Kinds come from shape alone.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from stitch.core.text_cache import text_cache

MAX_IDENTIFIERS = 96
"""The most that are read of a text."""
MAX_IDENTIFIER_CHARS = 160

FORMS = r"""(?P<url>https?://[^\s<>"'`)\]}\\,]+)
    |(?P<email>(?<![\w.+-])[\w.+-]{1,80}@[\w-]{1,80}(?:\.[\w-]{1,80})+)
    |(?P<path>(?<![<\w])(?:~|\.{1,2})?(?:/[\w.+@-]+)+/?|(?<![\w-])[\w-]{1,120}(?:/[\w.+-]+)+)
    |(?P<exception>\b(?:[a-z_]{1,60}\.){0,8}[A-Z]\w{0,80}(?:Error|Exception|Warning|Fault|Interrupt|Timeout)\b)
    |(?P<file>(?<![\w-])[\w-]{1,120}(?:\.[\w-]{1,80}){0,8}\.[A-Za-z][A-Za-z0-9]{0,5}\b(?!\())
    |(?P<function>(?<![\w.])[A-Za-z_][\w.]{0,160}(?=\(\)))
    |(?P<name>\b(?:_*[A-Za-z]+\d*(?:_+[A-Za-z\d]+)+_*|_{1,2}[A-Za-z]\w+|[a-z]+(?:[A-Z][a-z\d]*)+
      |[A-Z][a-z\d]+(?:[A-Z][a-z\d]*)+|[A-Z]{2,}[a-z]+[A-Z]\w*))
    |(?P<key>\b(?=[\w-]{0,100}\d)(?=[\w-]{0,100}[A-Za-z])[A-Za-z\d]{1,100}(?:-[A-Za-z\d]{1,100}){0,12}\b|\#\d+\b)
    |(?P<number>\b\d{4,}\b)"""
"""Form of identifiers (a verbose pattern)."""
_PASSED = r"""(?<!\w)(?:(?:[A-Z]?[a-z]+|[A-Z]+|\d{1,3})?(?:[\s,;!?"')\]\[{}=|]|[.:](?=\s)|(?<=\s)\())+"""
"""Plain words and what stands between: no identifier begins there, and passed over at once they take half the time."""
FINDER = re.compile(f"{_PASSED}|{FORMS}", re.VERBOSE)
"""Finds what has these forms, each a group; what is passed over is a match of no group."""
_SMALL = re.compile(r"\d{1,3}(?:st|nd|rd|th|[smhdgkx%]|ms|kb|mb|gb|px|am|pm)|v?\d+|[a-z]\d", re.IGNORECASE)
"""Keys that are quantities, ordinals and the like, and tell nothing apart."""
_PLAIN_EXTENSIONS = frozenset(("e.g", "i.e", "etc", "vs", "u.s"))


class Identifier(NamedTuple):
    """A name that programs hand on."""

    kind: str
    """`path`, `file`, `url`, `email`, `function`, `exception`, `name` in code, `key` with digits, `number`."""
    value: str
    """As it is written."""


@text_cache(maxsize=512)
def identifiers(text: str) -> tuple[Identifier, ...]:
    """The identifiers of a text, each once, at most `MAX_IDENTIFIERS`, in order."""
    found: dict[Identifier, None] = {}
    for match in FINDER.finditer(text):
        kind, value = match.lastgroup, match.group()
        if kind is None or len(value) > MAX_IDENTIFIER_CHARS:
            continue
        if kind == "key" and (len(value) < 3 or _SMALL.fullmatch(value)):
            continue
        if kind == "file" and value.lower() in _PLAIN_EXTENSIONS:
            continue
        found[Identifier(kind, value.rstrip(".-/:;") or value)] = None
        if len(found) >= MAX_IDENTIFIERS:
            break
    return tuple(found)


def handles(found: Identifier) -> tuple[str, ...]:
    """The forms, folded, under which an identifier is known again: a path also by its folder and by its last part."""
    value = found.value.lower()
    if found.kind == "path":
        parts = [part for part in value.split("/") if part not in ("", ".", "..", "~")]
        if len(parts) < 2:
            return tuple(dict.fromkeys((value, *parts)))
        return (value, "/".join(parts[:2]) + "/", parts[-1])
    host = re.split("[/?]", value.partition("://")[2])[0] if found.kind == "url" else ""
    return (value, host) if host else (value,)
