"""The speakers that a question names, and whether it is of matters of who asks it."""

from __future__ import annotations

import re
from collections.abc import Collection

from stitch.retrieve.question import form_of
from stitch.text.words import stem

_PART = re.compile(r"[^\W_]+")
_AGENT = (
    r"(?:\b(?:did|does|do|has|have|had|was|were|could|would|should|by|from"
    r"|hat|hatte|haben|sagte|von|dijo|dicho|dit)|^)"
    r" (?:the |our |my |your )?{who}\b(?!'s\b)"
)


def named_speakers(text: str, roles: Collection[str]) -> frozenset[str]:
    """Roles that the question names as who did or said something; none if it names all of them.

    A role is named by words that tell it from the others ("the pro side" of "pro-side-debater").
    """
    parts = {role: frozenset(map(stem, _PART.findall(role.lower()))) for role in roles}
    if len(parts) < 2:
        return frozenset()
    named: set[str] = set()
    said = frozenset(text.split())
    for role in parts:
        own = _name_in(role, parts, said)
        if own and re.search(_AGENT.format(who=own), text):
            named.add(role)
    return frozenset(named) if len(named) < len(parts) else frozenset()


def called_roles(name: str, roles: Collection[str]) -> frozenset[str]:
    """Roles that a name means: "the pro side" of "pro-side-debater"."""
    said = frozenset(map(stem, _PART.findall(name.lower()))) - {"the"}
    found = [role for role in roles if said and said <= frozenset(map(stem, _PART.findall(role.lower())))]
    return frozenset(found) if len(found) < len(roles) else frozenset()


USERS = frozenset(("user", "human", "customer", "client"))
"""Roles, in lower case, of who asks an assistant."""
REPLIES = frozenset(("assistant", "system", "tool"))
"""Those of what answers them."""
_OF_OWN_MATTERS = re.compile(r"\b(?:i|my|me|mine|myself)\b")
_OF_BEING_TOLD = re.compile(
    r"\bour (?:\w+ ){0,2}(?:conversations?|chats?|discussions?|talks?|sessions?)\b"
    r"|\b(?:did|had|were|was|what have) you\b"
    r"|\byour (?:\w+ )?(?:suggest|recommend|advi[cs]e|answer|list|repl|explanation|response)"
    r"|\byou (?:(?:had|have|ve|just|also|once|previously|earlier|already|kindly) )*"
    r"(?:\w{2,}ed|told|said|gave|given|made|wrote|written|found|sent|brought|put|chose|did|done|meant|showed|shown)\b"
)


def asks_of_own_matters(text: str) -> bool:
    """Whether a question is of who asks it ("Where did I park?"): not of what they were told, nor for a summary."""
    return names_who_asks(text) and not (_OF_BEING_TOLD.search(text) or form_of(text).wide)


def names_who_asks(text: str) -> bool:
    """Whether a question names who asks it."""
    return _OF_OWN_MATTERS.search(text) is not None


def _name_in(role: str, parts: dict[str, frozenset[str]], said: frozenset[str]) -> str:
    """A pattern for those words said that tell the role from the others; empty if there are none."""
    own = [word for word in _PART.findall(role.lower()) if word in said]
    if not own:
        return ""
    others = frozenset().union(*(theirs for other, theirs in parts.items() if other != role))
    own = [word for word in own if stem(word) not in others]
    return f"(?:{'|'.join(map(re.escape, own))})" if own else ""
