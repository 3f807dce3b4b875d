"""Who said it, and how far it may be believed."""

from __future__ import annotations

import re
import unicodedata
from enum import Enum

from stitch.core.text_cache import text_cache


class Origin(str, Enum):
    """Where the text of a step comes from."""

    USER = "user"
    """The person, or whoever runs the agent."""
    AGENT = "agent"
    """The agent, another agent, or a speaker whom nothing marks as the user."""
    TOOL = "tool"
    """What a tool answered: a page, a file, a reply of a program."""
    DOCUMENT = "document"
    """A text that was given to read."""

    @property
    def trust(self) -> Trust:
        """What a text from there is trusted with before anything else is known."""
        if self is Origin.USER:
            return Trust.HIGH
        return Trust.MEDIUM if self is Origin.AGENT else Trust.LOW


class Trust(Enum):
    """How far a text may be believed; classes compare by it. Trust only falls: see `stitch.ingest.lineage`."""

    LOW = "low"
    """Whoever wrote the page, file or mail may have meant it for the agent."""
    MEDIUM = "medium"
    HIGH = "high"

    def __init__(self, name: str) -> None:
        self.level = ("low", "medium", "high").index(name)
        """0 for low to 2 for high."""

    def __lt__(self, other: Trust) -> bool:
        return self.level < other.level

    def __le__(self, other: Trust) -> bool:
        return self.level <= other.level

    def __gt__(self, other: Trust) -> bool:
        return self.level > other.level

    def __ge__(self, other: Trust) -> bool:
        return self.level >= other.level

    def and_above(self) -> tuple[Trust, ...]:
        """The classes that meet this one as a minimum."""
        return tuple(trust for trust in Trust if trust >= self)


_USERS = frozenset({"user", "human", "customer", "client", "system", "developer", "operator"})
_TOOLS = frozenset(
    {"tool", "tools", "function", "observation", "environment", "env", "terminal", "shell", "executor", "interpreter",
     "ipython", "computer", "sandbox", "browser", "api", "stdout", "stderr"}
)  # fmt: skip
_DOCUMENTS = frozenset({"document", "documents", "doc", "file", "page", "web", "webpage", "email", "attachment",
                        "retrieved", "search", "knowledge", "source"})  # fmt: skip
_TOOL_WORDS = _TOOLS | frozenset(
    {"bash", "zsh", "sh", "cmd", "powershell", "console", "python", "jupyter", "repl", "runtime", "docker",
     "container", "http", "curl", "webhook", "mcp", "server", "plugin", "sql", "database", "db", "git", "grep",
     "crawler", "scraper", "kernel", "calculator", "compiler", "sensor", "exec", "execution", "result", "results",
     "output", "outputs", "response", "observations", "log", "logs", "toolmessage", "toolresult",
     "toolresponse", "tooloutput", "functionmessage", "functionresponse", "functions"}
)  # fmt: skip
"""Words that mean a tool where nothing says that somebody of that trade speaks."""
_DOCUMENT_WORDS = _DOCUMENTS | frozenset(
    {"docs", "files", "pages", "website", "websites", "site", "url", "html", "pdf", "mail", "inbox", "rag",
     "retriever", "retrieval", "context", "passage", "passages", "chunk", "chunks", "snippet", "snippets",
     "searchresult", "google", "bing", "wikipedia", "wiki", "news", "article", "articles", "kb", "corpus",
     "sources", "citation", "citations", "feed", "rss", "ocr", "reference", "references",
     "external", "untrusted", "internet", "fetched", "clipboard", "memory", "memories", "recalled"}
)  # fmt: skip
_SPEAKERS = frozenset(
    {"agent", "assistant", "expert", "engineer", "developer", "programmer", "coder", "analyst", "scientist",
     "specialist", "planner", "critic", "reviewer", "manager", "lead", "editor", "writer", "reporter", "worker",
     "surfer", "navigator", "bot", "ai", "llm", "model", "user", "person", "speaker"}
)  # fmt: skip
"""Words of a role that mean somebody who speaks: an expert of Python is no Python."""
_LETTERS = re.compile(r"[a-z]+")
_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
"""The words of a name in which each may begin with a capital."""


_ALIKE = str.maketrans("аеорсухіѕјԁһкмтвνοαρτυικАЕОРСУХТВКМН", "aeopcyxisjdhkmtbvoaptuikAEOPCYXTBKMH")
"""Cyrillic and Greek letters that look like Latin ones."""
_UNSEEN = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff]"
)


def _as_seen(role: str) -> str:
    """A role as a reader takes it: without signs that are not seen, with Latin letters for what looks like them."""
    return unicodedata.normalize("NFKC", _UNSEEN.sub("", role)).translate(_ALIKE)


@text_cache(maxsize=1024)
def origin_of(role: str, *, answers_tool: bool) -> Origin:
    """Say where a text comes from by who said it; in doubt, what is trusted less.

    Only a role that is just a name of the user is the user: a name nobody knows is an agent's.

    Args:
        role: As the source says it.
        answers_tool: Whether the text is the result of a tool.
    """
    seen = role if role.isascii() else _as_seen(role)
    parts = set(_LETTERS.findall(seen.casefold()))
    if answers_tool or parts & _TOOLS:
        return Origin.TOOL
    if parts & _DOCUMENTS:
        return Origin.DOCUMENT
    words = {word.lower() for word in _WORDS.findall(seen)}
    if not (words | parts) & _SPEAKERS:
        if (words | parts) & _TOOL_WORDS:
            return Origin.TOOL
        if (words | parts) & _DOCUMENT_WORDS:
            return Origin.DOCUMENT
    return Origin.USER if role.strip().casefold() in _USERS else Origin.AGENT


def origin_of_name(name: str) -> Origin | None:
    """`TOOL` or `DOCUMENT` if a name that stands beside a role is that of one; None for the name of a speaker.

    A name of several words is a person's, unless all of them mean a tool or a document.
    """
    words = [word.casefold() for word in name.split()]
    if len(words) > 1 and not set(words) <= _TOOL_WORDS | _DOCUMENT_WORDS:
        return None
    found = origin_of(name, answers_tool=False)
    return found if found in (Origin.TOOL, Origin.DOCUMENT) else None


def less_trusted(*origins: Origin | None) -> Origin:
    """The origin among several that is believed least, the first of equals: what is claimed can lower trust alone."""
    return min((origin for origin in origins if origin is not None), key=lambda origin: origin.trust.level)
