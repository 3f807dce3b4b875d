"""Texts of a memory as data in a prompt: nothing in them can begin or end what stands around them.

Three things in a text could: an element of the context, a marker by which chat templates tell turns apart, and signs
that nobody sees. What they are is in `text.markers`.
"""

from __future__ import annotations

import re
from datetime import datetime, timezone

from stitch.core.text_cache import text_cache
from stitch.text.markers import entity, escape_markers, folded, seen

_ENDING = str.maketrans({'"': "'", "<": "\u2039", ">": "\u203a"})
_PLAIN = re.compile(r"[a-zA-Z0-9 .,'_/-]*")
_HEADS = re.compile("^([^\n:\u2236\ua789\ufe55\uff1a]{1,80})[:\u2236\ua789\ufe55\uff1a]", re.MULTILINE)
_TURN = re.compile(
    r"[ \t>*#]*(?:gpt[\w.-]*[ ]\w+[ ])?<?"
    r"(?:human|assistant|user|system|instruct(?:ion)?|response|bot|ai|model)>?[ *]*"
)
"""A turn as templates without markers begin it: "### Instruction:", "Human:", "GPT4 Correct User:"."""

_EARLIEST_S, _LATEST_S = 1e8, 1e11
"""Between these, a number is taken for Unix seconds."""


def quote(text: str) -> str:
    """Return `text` so that it neither opens nor closes what stands around it, and without what nobody can see.

    Of what reads as an element of a context or as the marker of a chat template, the first sign (of a turn its colon)
    is written as an HTML entity: `&lt;`, `&#91;`, `&#58;`. All else stays as it is, markup and code included.
    """
    # Most texts have nothing that could begin any of these: to see that takes a third of the time.
    if text.isascii() and text.isprintable() and not (":" in text or "<" in text or "[" in text or "]" in text):
        return text
    return _defuse(seen(text))


@text_cache(maxsize=4096)
def quote_attribute(value: str) -> str:
    """Return a value for an attribute in double quotes, on one line: as written, but for what could end it."""
    line = " ".join(seen(value).split())
    return line if _PLAIN.fullmatch(line) else _defuse(line.translate(_ENDING))


def clock(moment: float | str) -> str:
    """A moment as a person reads it, in UTC to the minute; a text as it is."""
    return str(moment) if isinstance(moment, str) else _clock(moment)


@text_cache(maxsize=4096)
def _clock(moment: float) -> str:
    if not _EARLIEST_S <= moment < _LATEST_S:
        return str(moment)
    return datetime.fromtimestamp(moment, timezone.utc).strftime("%Y-%m-%d %H:%M")


def _defuse(text: str) -> str:
    text = escape_markers(text, escape=entity)
    return text if text.isascii() and ":" not in text else _HEADS.sub(_escape_turn, text)


def _escape_turn(head: re.Match[str]) -> str:
    return f"{head[1]}&#{ord(head[0][-1])};" if _TURN.fullmatch(folded(head[1])) else head[0]
