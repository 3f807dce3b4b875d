"""Standing instructions and preferences: who asks for help or advice shall have them, whatever their words.

"Always show the units when I ask about measures" and "I prefer trains" say nothing of what is asked today, and are
meant for it. They count where a question asks for something to be done, explained or recommended; a question for what
was said or done is answered by that.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from stitch.core import MemorySnippet, Origin
from stitch.retrieve.rank.pool import Pool

_READ_CHARS = 1_000
_ASSISTANTS = frozenset(("assistant", "agent", "ai", "bot", "model", "llm", "system", "developer"))
"""Who repeats what he was told to do, or is told it beforehand; anybody else may be meant."""
_ASKS_FOR_HELP = re.compile(
    r"\bhow (?:should|can|could|do|would|might) (?:i|we|one)\b|\bhow to\b|\b(?:can|could|would|will) you\b"
    r"|\b(?:what|which|where|who|when)\b[^.?!]{0,60}\b(?:should|could|can|would) (?:i|we)\b|\bshould (?:i|we)\b"
    r"|\b(?:any|some|more|a few|your) (?:\w+ ){0,2}(?:tips?|ideas?|advice|suggestions?|recommendations?)\b"
    r"|\bwhat(?:'s| is| are| would be) (?:some|the best|a good|the different ways|good)\b"
    r"|\b(?:recommend|suggest|advise)\b|\bhelp (?:me|us)\b"
    r"|\bplease (?:explain|show|write|give|make|create|list|draft|tell|help|find|check|plan)\b"
    r"|\b(?:i'm|i am|we're|we are) (?:planning|trying|thinking|looking|going|working)\b"
    r"|\b(?:i|we) (?:want|need|would like|'d like) to\b|\b(?:i'd|we'd) like to\b|\blet's\b|\bdo you think\b",
    re.IGNORECASE,
)
_INSTRUCTS = re.compile(
    r"(?:^|[.!?:;\n,]\s{0,3}|\b(?:please|and|but|so|also|to)\s{1,3})"
    r"(?:always|never|from now on|going forward|whenever)\b"
    r"|\bwhen(?:ever)? (?:i|we) (?:ask|mention|talk|say|request|discuss|want|need)\b"
    r"|\b(?:remember|make sure|be sure) (?:to always|to never|you always|you never)\b",
    re.IGNORECASE,
)
_PREFERS = re.compile(
    r"\b(?:i|we)(?:'d| would| do)? (?:(?:really|generally|usually|personally|much|strongly|also|always|definitely) )*"
    r"(?:prefer|rather|favou?r)\b"
    r"|\bmy (?:\w+ )?(?:favou?rite|preferences?|preferred)\b",
    re.IGNORECASE,
)


def standing(pool: Pool) -> Sequence[float] | None:
    """Whether somebody said in it how things shall be done, or what he likes, where help or advice is asked for."""
    if not _ASKS_FOR_HELP.search(_plain(pool.request.query)):
        return None
    return [_worth(one.snippet, pool) for one in pool.candidates]


def _worth(snippet: MemorySnippet, pool: Pool) -> float:
    if snippet.origin in (Origin.TOOL, Origin.DOCUMENT) or _ASSISTANTS.intersection(snippet.role.casefold().split()):
        return 0.0
    said = _plain(snippet.text)
    if _INSTRUCTS.search(said):
        return pool.constants.standing
    return pool.constants.preference if _PREFERS.search(said) else 0.0


def _plain(text: str) -> str:
    return text[:_READ_CHARS].replace("’", "'")
