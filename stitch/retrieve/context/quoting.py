"""Texts of a memory as data in a prompt: nothing in them can begin or end what stands around them."""

from __future__ import annotations

import re
import unicodedata
from datetime import datetime, timezone
from html import escape

from stitch.core.text_cache import text_cache

_INVISIBLE = re.compile("[\u00ad\u061c\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
                        "\U000e0000-\U000e01ef]")  # fmt: skip
"""Signs that a person does not see and a model reads: tags, turned directions, fillers."""

_OPENER = re.compile("[<\ufe64\uff1c]([^<\ufe64\uff1c]*)")
_ELEMENTS = ("memory", "step")
_LOOKALIKES = str.maketrans("аеорсуѕтмгһοερτυμ", "aeopcystmrhoeptym")
_LONGEST = 16

_EARLIEST_S, _LATEST_S = 1e8, 1e11
"""Between these, a number is taken for Unix seconds."""


def quote(text: str) -> str:
    """Return `text` so that it cannot open or close an element of a context, and without what nobody can see.

    A sign that reads as `<` is written as `&lt;` where the next word reads as the name of such an element, whatever
    stands between them.
    """
    if not text.isascii():
        text = _INVISIBLE.sub("", text)
        if _OPENER.search(text) is None:
            return text
    elif "<" not in text:
        return text
    return _OPENER.sub(lambda found: "&lt;" + found[1] if _names_element(found[1]) else found[0], text)


@text_cache(maxsize=4096)
def quote_attribute(value: str) -> str:
    """Return a value for an attribute in double quotes, on one line."""
    return escape(" ".join(_INVISIBLE.sub("", value).split()))


@text_cache(maxsize=4096)
def clock(moment: float | str) -> str:
    """A moment as a person reads it, in UTC to the minute; a text as it is."""
    if isinstance(moment, str) or not _EARLIEST_S <= moment < _LATEST_S:
        return str(moment)
    return datetime.fromtimestamp(moment, timezone.utc).strftime("%Y-%m-%d %H:%M")


def _names_element(text: str) -> bool:
    """Whether the first word of a text reads as the name of an element."""
    word = ""
    for sign in text:
        if sign in "\u200c\u200d":
            continue
        if sign.isalnum() or unicodedata.combining(sign):
            word += sign
            if len(word) > _LONGEST:
                return False
        elif word:
            break
    plain = unicodedata.normalize("NFKD", word).casefold().translate(_LOOKALIKES)
    return "".join(sign for sign in plain if not unicodedata.combining(sign)) in _ELEMENTS
