"""Queries that are no question: the last turns of a conversation, as a memory is asked before each reply."""

from __future__ import annotations

import re

from stitch.core.text_cache import text_cache
from stitch.text.languages import content_stems

_TURN = re.compile(
    r"^[ \t]*(?:\[[^\]\n]{1,40}\][ \t]*)?(?P<who>[^\W\d_][\w .'’-]{0,30}?)[ \t]*:[ \t]+(?=\S)", re.MULTILINE
)
_MAX_READ_CHARS = 20_000
_LEAST_WORDS = 3
"""Turns with fewer words that carry subject matter ("Yes, please.") say nothing without the one before."""


@text_cache(maxsize=64)
def last_turn(query: str) -> str:
    """What was said last, where a query is turns of a conversation, each "who: what" on a line; else empty.

    So many turns from the end as it takes to say something. Who speaks is left out.
    """
    text = query[-_MAX_READ_CHARS:].strip()
    turns = list(_TURN.finditer(text))
    if len(turns) < 2 or (turns[0].start() and len(query) <= _MAX_READ_CHARS):
        return ""
    ends = [*(turn.start() for turn in turns[1:]), len(text)]
    said = [text[turn.end() : end].strip() for turn, end in zip(turns, ends, strict=True)]
    last = said.pop()
    while said and len(content_stems(last)) < _LEAST_WORDS:
        last = f"{said.pop()}\n{last}"
    return last if said else ""
