"""Names of goals, from what states them: what follows a heading, a name, the wish without courtesies.

"Task: find the cheapest hotel in Rome." is named by what follows the heading, "Hi! I'd like to book a flight from New
York to Seattle on May 20th." by "book a flight from New York to Seattle". What an agent is told to be names nothing.
"""

from __future__ import annotations

import re

from stitch.core.intent import clean_label
from stitch.text.sentences import sentence_spans
from stitch.text.words import FUNCTION_WORDS, word_set

_MOST_WORDS, _MOST_CHARS, _READ_CHARS, _WISH_CHARS = 11, 76, 4_000, 1_500

_HEAD = re.compile(
    r"^\W*(?:[^\n:<>]{0,60}[ _])?(?:description|issue|task|problem|ticket|request|question|goal|instruction|objective"
    r"|bug|title|subject|query|assignment)(?:\W*[:>]\W*|\W*\n)(?P<rest>[^\n]*)",
    re.IGNORECASE | re.MULTILINE,
)
_TOLD = re.compile(
    r"\b(?:your|the|my) (?:task|goal|objective|question|instruction|request) is(?: to)?:?\s(?P<rest>[^\n]{8,400})",
    re.IGNORECASE,
)
_NAMED = re.compile(r"\b(?:named|called|titled)[ :]+(?:[\"“'`*]+)(?P<name>[^\"”'`*\n]{2,60})[\"”'`*]")
_TAGS = re.compile(r"</?[A-Za-z_]+>|<!--[\s\S]*?(?:-->|$)")
_POLITE = re.compile(
    r"(?:[\W_]*\b(?:hi|hello|hey|good (?:morning|afternoon|evening)|there|thanks?|thank you|so|ok(?:ay)?|yes|now|also"
    r"|sure|please|(?:could|can|would|will) (?:you|we|i)(?: please| also| help me(?: to| with)?)?"
    r"|i(?:'d| would)(?: also| rather)? (?:like|have|prefer)(?: to)?|i(?:'m| am) (?:looking|trying|hoping)(?: to| for)?"
    r"|i(?: also)? (?:need|want|have)(?: to)?|help me(?: to| with)?|let(?:'s| us)|tell me|show me|list|give me"
    r"|what(?:'s| is| are)|how (?:do|can) i|which|where is|the|an?|some|my|our|to)\b)+",
    re.IGNORECASE,
)
_SPEAKER = re.compile(
    r"(?:(?i:this is|i am|i'm|my name is|it's) [A-Z][\w'-]+(?: [A-Z][\w'-]+){0,2}(?: here)?(?:[.,;:!]|$)"
    r"|[A-Z][\w'-]+(?: [A-Z][\w'-]+){0,2} (?:writes|says|asks|reports|wrote)[:,]|Consider [^\n:]*(?:[:.]|$)) *"
)
"""Who speaks or is quoted, and what is only looked at: a goal is named by what is wanted."""
_CUT = re.compile(
    r"[.;?!](?=\s|$)|, (?:and|but|please|so|which|who|as)\b| (?:because|since|so that|but|if)\b| [-–—] |: "
)
_NOT_ALONE = word_set("situation bit help question questions change changes issue problem thing things something few")


def goal_title(text: str) -> str:
    """The name of the goal that a text states, of a few words; empty if it states none."""
    text = _TAGS.sub(lambda tag: "\n" if tag.group()[1] not in "/!" else " ", text[:_READ_CHARS])
    if len(text) > 200 and (named := _NAMED.search(text[:_WISH_CHARS])) is not None:
        return _fit(named["name"])
    # What comes last is the task, what comes first may be a role.
    for told in (*_HEAD.finditer(text), *reversed(list(_TOLD.finditer(text)))):
        line = told["rest"].strip() or text[told.end() :].strip().partition("\n")[0]
        if (title := _wish(line)) and len(title.split()) > 1:
            return title
    return _wish(text)


def _wish(text: str) -> str:
    """The first telling sentence of a text, without greetings and courtesies."""
    fallback = ""
    for start, end in sentence_spans(text[:_WISH_CHARS])[:12]:
        wanted = _SPEAKER.sub("", " ".join(text[start:end].split()), count=1)
        polite = _POLITE.match(wanted)
        wanted = wanted[polite.end() if polite else 0 :].strip(" ,.!?\"'“”#*`–—-")
        cut = _CUT.search(wanted, 12)
        title = _fit(wanted[: cut.start()] if cut else wanted)
        telling = [word for word in title.lower().split() if word not in FUNCTION_WORDS and word not in _NOT_ALONE]
        if len(telling) > 1:
            return title
        fallback = fallback or (title if telling else "")
    return fallback


def _fit(title: str) -> str:
    """The first words of a title that are not too many, the last of them one that carries something."""
    words = clean_label(title.strip(" .,:;\"'“”*#`")).split()
    kept = words[:_MOST_WORDS]
    while len(kept) > 1 and (
        len(" ".join(kept)) > _MOST_CHARS or (kept[-1].lower() in FUNCTION_WORDS and kept != words)
    ):
        kept.pop()
    return " ".join(kept).strip(" ,.:;")
