"""Names of goals, from what states them: the title of an issue, what is named, the wish without its courtesies.

"<pr_description> Consider the following PR description: Rule L060 could give a specific error message ..." is named by
its title, "a web security problem named "I Got Id"" by the name, "Hi! I'd like to book a flight from New York to
Seattle on May 20th." by "book a flight from New York to Seattle". What an agent is told to be names nothing.
"""

from __future__ import annotations

import re

from stitch.core.intent import clean_label
from stitch.text.sentences import sentence_spans
from stitch.text.words import FUNCTION_WORDS, word_set

MAX_TITLE_WORDS = 11
_MAX_TITLE_CHARS = 76
_READ_CHARS = 6_000

_HEADS = re.compile(
    r"^[ \t]*(?:#{1,4}[ \t]*|\*\*|<)?[ \t]*(?P<head>[^\n:<>]{0,100}?\b(?:issue|issue text|(?:pr|issue|bug|task"
    r"|problem|ticket|"
    r"feature)[ _]?description|task|general task|problem|ticket|request|question|goal|instruction|objective|bug|title|"
    r"subject|intent|user query|query|assignment|mission))\b[ \t]*(?P<mark>[:>]\**|\*\*|\n)[ \t]*(?P<rest>[^\n]*)",
    re.IGNORECASE | re.MULTILINE,
)
_NAMED = re.compile(
    r"\b(?:named|called|titled|entitled)[ :]+(?:[\"“'`](?P<quoted>[^\"”'`\n]{2,60})[\"”'`]"
    r"|\*\*(?P<bold>[^*\n]{2,60})\*\*)"
)
_TOLD = re.compile(
    r"(?:\b(?:your|the|my) (?:task|goal|objective|question|instruction|request|mission|problem) is(?: to)?\b:?"
    r"|\binstruction:)[ \t]*(?:\[SEP\])?\s*(?P<rest>[^\n]{8,400})",
    re.IGNORECASE,
)
_NO_TITLE = re.compile(
    r"^\W*$|^(?:consider|here(?:'s| is)|we(?:'re| are)|you(?:'re| are| will| must| should)|your |please (?:note"
    r"|continue)"
    r"|note|the following|i(?:'ve| have) uploaded|collect information|from your|and suggestions"
    r"|suggestions? from|advises"
    r"|interact with|in this|describe the bug|now|for each|each|every|if )\b",
    re.IGNORECASE,
)
_TAGS = re.compile(r"</?[A-Za-z_]+>|<!--[\s\S]*?(?:-->|$)")
_POLITE = re.compile(
    r"^(?:[\s,.!–—-]*(?:hi|hello|hey|good (?:morning|afternoon|evening)|dear \w+|there|thanks?|thank you|well"
    r"|so|ok(?:ay)?|oh"
    r"|yes|now|also|actually|sure|sorry|really|please|just|kindly|first|then|next|again|urgent|quickly"
    r"|solve the following"
    r"|i was wondering if|i wonder if|is it possible to|would it be possible to|(?:could|can|would|will) (?:you|we|i)"
    r"(?: please| also| help me(?: to)?| assist me (?:with|in))?"
    r"|i(?:'d| would) (?:also )?like(?: you)?(?: to)?|i(?:'d| would) (?:rather|prefer)(?: to)?(?: have)?"
    r"|i(?:'m| am) (?:also )?(?:looking|trying|hoping|calling"
    r"|writing|here|having)"
    r"(?: to| for| about)?|i (?:also )?(?:need|want|have|wish)(?: you)?(?: to)?|we (?:need|want|have)(?: to)?"
    r"|i(?:'ve| have) (?:got )?|help me(?: to| with)?|let(?:'s| us)|my (?:question|task|request|instruction) is"
    r"|your (?:task|goal|job|mission) is(?: to)?|you (?:need|have|must|should|are asked|are required)(?: to)?"
    r"|tell me|show me|what(?:'s| is| are| was| were)(?: the)?|who (?:is|are|was|were)(?: the)?|the (?:names?"
    r"|number) of the"
    r"|how (?:do i|can i)|which(?: of the)?|where(?: is| are)?|when(?: is| are| did)?"
    r"|list|give(?: me)?|find out|(?:make|do) (?:a|an|some|a few) changes? to|the|a|an|some"
    r"|my|our|to)\b)+",
    re.IGNORECASE,
)
_INTRO = re.compile(
    r"^(?:(?:as of|based on|according to|given|in|on|for|after|before|during|since|when|if|using)\b[^,?.!]{3,80}, )",
    re.IGNORECASE,
)
_SPEAKER = re.compile(
    r"(?:(?:(?i:this is|i am|i'm|my name is|it's)) [A-Z][\w'-]+(?: [A-Z][\w'-]+){0,2}(?: here| speaking)?(?:[.,;:!]|$)"
    r"|[A-Z][\w'-]+(?: [A-Z][\w'-]+){0,2} (?:writes|says|asks|reports|wrote|calls|requests)[:,])[ ]*"
)
"""Who speaks or is quoted: a goal is named by what is wanted."""
_CUT = re.compile(r"[.;?!](?=\s|$)|\n|, (?:and|but|please|so|which|who|because|since|where|if)\b| (?:because"
    r"|since|so that|but|if)\b"
                  r"| (?:and )?(?:could|can|would) you\b|, please| - | [–—] |(?<=\w{3}\s\w{3}) \(|: ")  # fmt: skip
_STOPS = frozenset(
    ("and", "or", "the", "a", "an", "to", "of", "in", "on", "at", "for", "with", "from", "by", "is", "that")
)
_COPULAS = frozenset(("is", "are", "was", "were"))
"""What is left at the end of "where the pump is"."""
_NOT_ALONE = word_set(
    """
    situation bit help question questions change changes issue problem thing things something assistance few
    favor
    """
)


def goal_title(text: str) -> str:
    """The name of the goal that a text states, at most `MAX_TITLE_WORDS` words; empty if it states none."""
    text = _TAGS.sub(lambda tag: tag.group() if tag.group()[1:2] not in "!/" else " ", text[:_READ_CHARS])
    if len(text) > 200 and (named := _NAMED.search(text[:1_500])) is not None:
        return _fit(named["quoted"] or named["bold"])
    if (len(text) > 250 or "\n" in text.strip()) and (title := _headed(text)):
        return title
    for told in reversed(list(_TOLD.finditer(text))):  # what comes last is the task, what comes first may be a role
        if title := _wish(told["rest"]):
            return title
    return _wish(text)


def _headed(text: str) -> str:
    """The first line below a heading that announces a task, an issue or a question."""
    best = ""
    for match in _HEADS.finditer(text[:4_000]):
        if match["mark"] == "\n" and len(match["head"].split()) > 4:
            continue
        for line in (match["rest"], *text[match.end() :].split("\n", 6)[:6]):
            line = _TAGS.sub(" ", line).strip().strip("*#`-_ ").strip()
            if len(line) < 4 or _NO_TITLE.match(line) or line.endswith(":") or _HEADS.match(f"{line}\n"):
                continue
            title = _wish(line) if len(line.split()) > MAX_TITLE_WORDS or line.endswith(("?", ".")) else _fit(line)
            if title and len(title.split()) > 1:
                best = title
            break
        if best:
            return best
    return best


def _wish(text: str) -> str:
    """What the first telling sentence of a text wishes for, without greetings and courtesies."""
    plain = _TAGS.sub(" ", text)
    spans = sentence_spans(plain[:1_500])[:12]
    fallback = ""
    for start, end in spans:
        sentence = " ".join(plain[start:end].split())
        wanted = _POLITE.sub("", _INTRO.sub("", _SPEAKER.sub("", sentence))).strip(" ,.!?\"'“”–—-")
        cut = _CUT.search(wanted, 12) if len(wanted) > 14 else None
        wanted = wanted[: cut.start()] if cut is not None else wanted
        title = _fit(wanted)
        telling = [word for word in title.lower().split() if word not in FUNCTION_WORDS and word not in _NOT_ALONE]
        if len(telling) >= 2:
            return title
        if not fallback and telling:
            fallback = title
    return fallback


def _fit(title: str) -> str:
    parts = clean_label(title.strip(" .,:;\"'“”*#`").replace(" / ", "/")).split()
    kept: list[str] = []
    for part in parts[:MAX_TITLE_WORDS]:
        if len(" ".join((*kept, part))) > _MAX_TITLE_CHARS:
            break
        kept.append(part)
    if sum(part.count('"') for part in kept) % 2:
        kept = [part.replace('"', "") for part in kept]
    while len(kept) > 1 and len(kept) < len(parts) and kept[-1].lower().strip(",") in _STOPS:
        kept.pop()
    while len(kept) > 1 and kept[-1].lower().strip(",.:;") in _COPULAS:
        kept.pop()
    return " ".join(kept).strip(" ,.:;")
