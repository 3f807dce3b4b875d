"""Who said it, and how far it may be believed."""

from __future__ import annotations

import re
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
_LETTERS = re.compile(r"[a-z]+")


@text_cache(maxsize=1024)
def origin_of(role: str, *, answers_tool: bool) -> Origin:
    """Say where a text comes from by who said it; in doubt, what is trusted less.

    Only a role that is just a name of the user is the user: a name nobody knows is an agent's.

    Args:
        role: As the source says it.
        answers_tool: Whether the text is the result of a tool.
    """
    words = set(_LETTERS.findall(role.casefold()))
    if answers_tool or words & _TOOLS:
        return Origin.TOOL
    if words & _DOCUMENTS:
        return Origin.DOCUMENT
    return Origin.USER if role.strip().casefold() in _USERS else Origin.AGENT
