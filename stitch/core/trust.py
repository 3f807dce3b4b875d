"""Origin and trust of a text."""

from __future__ import annotations

import json
import re
import unicodedata
from enum import Enum
from functools import total_ordering
from pathlib import Path

from stitch.core.text_cache import text_cache


class Origin(str, Enum):
    """Origin of the text of a step."""

    USER = "user"
    """The person, or whoever runs the agent."""
    AGENT = "agent"
    """The agent, another agent, or a speaker whom nothing marks as the user."""
    TOOL = "tool"
    """The answer of a tool: a page, a file, a reply of a program."""
    DOCUMENT = "document"
    """A text that was given to read."""

    @property
    def trust(self) -> Trust:
        """The trust of a text from there before anything else is known."""
        if self is Origin.USER:
            return Trust.HIGH
        return Trust.MEDIUM if self is Origin.AGENT else Trust.LOW


@total_ordering
class Trust(Enum):
    """Trust in a text; classes compare by it. It only falls: see `stitch.ingest.lineage`."""

    LOW = "low"
    """Whoever wrote the page, file or mail may have meant it for the agent."""
    MEDIUM = "medium"
    HIGH = "high"

    def __init__(self, name: str) -> None:
        self.level = ("low", "medium", "high").index(name)
        """0 for low to 2 for high."""

    def __lt__(self, other: Trust) -> bool:
        return self.level < other.level


_LISTS = json.loads((Path(__file__).parent / "role_words.json").read_text(encoding="utf-8"))
"""Words by which a role, a name or a type of message says that a tool or a text speaks, and not somebody."""


def _listed(*names: str) -> frozenset[str]:
    return frozenset(word for name in names for line in _LISTS[name] for word in line.split())


USERS = _listed("users")
TOOLS, DOCUMENTS = _listed("tools"), _listed("documents")
"""Mean a tool or a text beside any other word, unless the last word is somebody who speaks."""
RECORDS = _listed("records")
"""Mean a tool alone, and nothing beside other words or as the type of a message."""
TOOL_WORDS = _listed("tools", "records", "programs", "products", "other languages")
DOCUMENT_WORDS = _listed("documents", "texts")
"""Mean a tool or a text where nothing says that somebody of that trade speaks."""
WITH_DIGITS = _listed("with digits")
"""Names of tools that a digit parts: their letters alone mean nothing, or somebody."""
SPEAKERS = _listed("speakers")
"""Mean somebody who speaks: an expert of Python is no Python."""
COMMANDS = _listed("commands")
"""Begin the name of a function, and no name of somebody: `get_weather`, `list_users`."""
TRADES = _listed("trades")
"""Begin the name of a function or of somebody: `call_center_agent`."""

_TOKENS = re.compile(r"[^\W_]+")
_RUNS = re.compile(r"[^\W\d_]+")
_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
"""The words of a run of letters in which each may begin with a capital."""

_ALIKE = str.maketrans("аеорсухіѕјԁһкмтвνοαρτυικАЕОРСУХТВКМН", "aeopcyxisjdhkmtbvoaptuikAEOPCYXTBKMH")
"""Cyrillic and Greek letters that look like Latin ones."""
_UNSEEN = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff]"
)


@text_cache(maxsize=1024)
def origin_of(role: str, *, answers_tool: bool) -> Origin:
    """Say where a text comes from by who said it; in doubt, what is trusted less.

    Only a role that is just a name of the user is the user: a name nobody knows is an agent's.
    """
    if answers_tool:
        return Origin.TOOL
    if (found := _not_somebody(role, kind=False)) is not None:
        return found
    return Origin.USER if role.strip().casefold() in USERS else Origin.AGENT


def origin_of_name(name: str) -> Origin | None:
    """`TOOL` or `DOCUMENT` if a name that stands beside a role is that of one; None for the name of a speaker.

    A name of several words is a person's, unless all of them mean a tool or a document.
    """
    words = [word.casefold() for word in name.split()]
    if len(words) > 1 and not set(words) <= TOOL_WORDS | DOCUMENT_WORDS:
        return None
    return _not_somebody(name, kind=False)


def origin_of_kind(kind: str) -> Origin | None:
    """The same of the type of a message, where words for any record (`event`, `update`) mean nothing."""
    return _not_somebody(kind, kind=True)


@text_cache(maxsize=1024)
def _not_somebody(name: str, *, kind: bool) -> Origin | None:
    """`TOOL` or `DOCUMENT` if a name is none of somebody who speaks."""
    plain = unicodedata.normalize("NFKC", _UNSEEN.sub("", name))
    seen = plain.translate(_ALIKE)
    words = _words_of(seen)
    parts = {run.casefold() for reading in {plain, seen} for run in _RUNS.findall(reading)}
    speaks = bool(words) and words[-1] in SPEAKERS
    if not kind and _is_of_a_function(seen, words, but=TRADES if speaks else frozenset()):
        return Origin.TOOL
    if not speaks:
        if parts & TOOLS:
            return Origin.TOOL
        if parts & DOCUMENTS:
            return Origin.DOCUMENT
    meant = parts.union(words)
    if meant & SPEAKERS:
        return None
    if kind or not meant <= TOOL_WORDS | DOCUMENT_WORDS:
        meant -= RECORDS
    if meant & TOOL_WORDS:
        return Origin.TOOL
    return Origin.DOCUMENT if meant & DOCUMENT_WORDS else None


def _words_of(name: str) -> list[str]:
    """The words of a name in their order, in small letters: `WebSurfer` and `web_surfer` have two."""
    runs = _RUNS.findall(name)
    return [word.lower() for run in runs for word in (_WORDS.findall(run) if run.isascii() else [run])]


def _is_of_a_function(name: str, words: list[str], *, but: frozenset[str]) -> bool:
    """Whether a name is written like that of a function and begins like one, is a command, or a tool with digits."""
    if not WITH_DIGITS.isdisjoint(_TOKENS.findall(name.casefold())):
        return True
    written = not any(sign.isspace() for sign in name.strip())
    return written and bool(words) and words[0] in (COMMANDS | TRADES) - but


def less_trusted(*origins: Origin | None) -> Origin:
    """The origin among several that is believed least, the first of equals: what is claimed can lower trust alone."""
    return min((origin for origin in origins if origin is not None), key=lambda origin: origin.trust.level)
