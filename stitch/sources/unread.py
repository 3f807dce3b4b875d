"""Texts of a record that none of its steps says: kept beside the first of them, so that nothing of a log is lost."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from stitch.core import ToolCall
from stitch.sources.attachments import payload_in
from stitch.sources.parts import unwritten

UNREAD = "unread"
"""Where the metadata of a step keep it: texts by their places in the record."""
_LEAST_CHARS = 12
_TELLING_CHARS = 3
_DEEPEST = 80
_NO_WORDS = re.compile(
    r"[0-9a-fA-F]{8}-[0-9a-fA-F-]{27}|[0-9a-fA-F]{12,}"  # UUIDs, digests
    r"|[a-zA-Z]{1,12}[_-](?=[^\s]*\d)[\w.=-]{4,}"  # call_8f2a, msg-01HX
    r"|[\d\s:.,TZ+/_-]+"  # times and numbers
    r"|\w{3}, \d\d? \w{3} \d{4} [\d:]+ \S+"
    r"|gen_ai\.[a-z_.]+"  # what OpenTelemetry calls an attribute or an event
)
_NAMING = re.compile(
    r"(?i:(?:.*[_.:-])?(?:ids?|uuid|guid|hash|digest|sha256|fingerprint|signature|timestamp|time|ts|date|created|updated|at"
    r"|cursor|etag|nonce|key|type|kind|object|class|event|encrypted_content))_?"
    r"|.*[a-z](?:Ids?|ID|UUID|Uuid|Hash|Signature|Timestamp|Time|Date|At|Cursor|Key|Type|Kind)|[$_]*(?:schema|type|typename|lc)"
)
"""Fields whose values, if they are one word, name, date or sign something, or say of which kind it is."""
_NOTATION = re.compile(r"\[/?INST\]|</?s>|[\n\"'`()\[\]{}<>=|/\\]+|^\s*\w+:\s", re.MULTILINE)
"""What notations put between words: a text that was taken apart is read if all between these is said."""

_WORD = re.compile(r"\w")


class Said:
    """The words of steps, by which it is seen whether they say a text."""

    def __init__(self) -> None:
        self._texts: set[str] = set()
        self._whole: str | None = None

    def take_in(self, value: Any) -> None:
        """Take in all texts of a value, those of names and numbers among them."""
        self._whole = None
        waiting = [value]
        while waiting:
            inner = waiting.pop()
            if isinstance(inner, str):
                self._texts.add(inner)
            elif isinstance(inner, ToolCall):
                waiting += (inner.name, inner.arguments)
            elif isinstance(inner, Mapping):
                waiting.extend(inner)
                waiting.extend(inner.values())
            elif isinstance(inner, Iterable):
                waiting.extend(inner)
            else:
                self._texts.add(str(inner))

    def says(self, text: str) -> bool:
        """Whether the steps say a text: as it is, or all of it in parts."""
        if text in self._texts:
            return True
        if self._whole is None:
            self._whole = "\n".join(map(_spaced, self._texts))
        if _spaced(text) in self._whole:
            return True
        if not isinstance(inner := unwritten(text), str):
            return all(self.says(each) for _, each in texts_in(inner))
        return all(map(self._whole.__contains__, _parts_of(text)))


def _spaced(text: str) -> str:
    return " ".join(text.split())


def _parts_of(text: str) -> list[str]:
    """Texts between the signs of a notation; short pieces tell nothing where there are longer ones."""
    pieces = [_spaced(piece).strip(" ,;:") for piece in _NOTATION.split(text) if _WORD.search(piece)]
    return [piece for piece in pieces if len(piece) >= _TELLING_CHARS] or pieces


def texts_in(value: Any, place: str = "", *, depth: int = 0, least: int = _LEAST_CHARS) -> Iterator[tuple[str, str]]:
    """The texts of a value that say something, each with its place: no names, dates, kinds, signatures or bytes."""
    if depth > _DEEPEST:
        return
    if isinstance(value, str):
        if len(value.strip()) >= least and not _NO_WORDS.fullmatch(value.strip()) and (
                payload_in(value, sure=False) is None):  # fmt: skip
            yield place, value
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            if not (isinstance(inner, str) and " " not in inner.strip() and _NAMING.fullmatch(str(key))):
                yield from texts_in(inner, f"{place}.{key}" if place else str(key), depth=depth + 1, least=least)
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            yield from texts_in(inner, f"{place}[{number}]", depth=depth + 1, least=least)


def unread_in(record: Any, said: Said) -> dict[str, str]:
    """The texts of a record that its steps do not say, by their places."""
    return {place: text for place, text in texts_in(record) if not said.says(text)}
