"""Bounds of the sentences of a text."""

from __future__ import annotations

import re

_SENTENCE_END = re.compile(r"[.!?\n](?:(?<=\n)\n*|(?<!\n)[\"')\]]*\s+(?=[^\s]))")
"""Begins with the last sign of a sentence: a set of signs is found far quicker than a place behind one."""
_END_IN_ANY_SCRIPT = re.compile(
    r"[.!?؟।。！？\n](?:(?<=\n)\n*|(?<=[.!?؟।])[\"')\]”’»]*\s+(?=[^\s])"
    r"|(?<=[。！？])[」』”’）]*\s*(?=[^\s」』”’）。！？]))"
)
_ABBREVIATIONS = (
    "mr|mrs|ms|dr|st|no|vs|etc|e\\.g|i\\.e|al|fig|eq|approx|dept|inc|ltd|jr|sr|sra|ave|blvd|rd|mt|tel"
    "|nr|bzw|ca|ggf|vgl|evtl|inkl|zzgl|núm"
)
_ABBREVIATION = re.compile(rf"(?:\b(?:{_ABBREVIATIONS})|\b[A-Z]|str)\.$", re.IGNORECASE)
"""Streets are written in one word with their names: "Lindenstr."."""
_ABBREVIATION_CHARS = 8
"""No abbreviation is longer, with the period behind it."""


def sentence_spans(text: str) -> list[tuple[int, int]]:
    """The spans of the sentences of a text, in characters; line breaks end sentences, abbreviations do not."""
    spans: list[tuple[int, int]] = []
    start = 0
    for end in (_SENTENCE_END if text.isascii() else _END_IN_ANY_SCRIPT).finditer(text):
        last = end.start() + (text[end.start()] != "\n")
        ends_line = "\n" in end.group()
        if not ends_line and _ABBREVIATION.search(text, max(start, last - _ABBREVIATION_CHARS), last):
            continue
        if text[start:last].strip():
            spans.append((start, last))
        start = end.end()
    if text[start:].strip():
        spans.append((start, len(text)))
    return spans


def sentences(text: str) -> list[str]:
    """The sentences of a text, without outer blanks."""
    return [text[start:end].strip() for start, end in sentence_spans(text)]
