"""Whether a text is a task as somebody gives it, or a question about what was done; what is asked but for courtesies.

"I want my money back" is a task: what is looked for are earlier tasks of its kind. "I'd like to know why the refund was
refused" and "which of my edits failed?" are questions: they ask about the past, whoever asks.
"""

from __future__ import annotations

import re

from stitch.text.words import fold_case, whole_words

_ASKING = r"(?:what|which|who|whom|whose|where|when|why|how)"
_GREETING = r"(?:(?:please|hey|hi|hello|ok|okay|so|and|also|now|well|thanks|quick question|a question)[ ,:!.-]+)*"
_FRAME = re.compile(
    rf"\s*{_GREETING}(?:(?:can|could|would|will) (?:you|we|someone|anybody) (?:please |kindly |perhaps )?)?"
    r"(?:(?:tell|remind|inform) (?:me|us)(?: again| please| of| about)?|let (?:me|us) know(?: about)?"
    r"|i(?:'d| would) (?:like|love|want) to (?:know|hear|learn|remember|recall|understand)"
    r"|i(?:'m| am) (?:wondering|curious|asking myself|trying to (?:remember|recall|find out|understand))"
    r"|i (?:want|need|have|wish|try) to (?:know|remember|recall|find out|understand)"
    r"|i (?:was wondering|wonder|forget|forgot|(?:can't|cannot|don't|do not) (?:remember|recall|know))"
    r"|(?:do|does|did) (?:you|we|anyone|anybody|somebody|someone) (?:still )?(?:remember|know|recall)"
    r"|(?:what )?i(?:'d| would) like to know(?: is)?|help me (?:to )?(?:remember|recall)"
    rf"|(?:show|give) (?:me|us)(?= (?:{_ASKING}|all|every|each|whether)\b)"
    r"|(?:show|give) (?:me|us)(?= (?:the |its |their |his |her )?(?:\w+ )?(?:commands?|errors?|outputs?|calls?|results?"
    r"|steps?|logs?|messages?|reasons?|causes?|files?|tools?|quer(?:y|ies)|answers?|values?|outcomes?|edits?)\b))"
    r"(?: this| something| please| the following)?[\s,:-]*",
    re.IGNORECASE,
)
"""Ways to say that something is asked of whoever remembers; "give me the hub" is none."""
_OWN = whole_words("i|i'm|i'd|i've|i'll|my|mine|me|myself|we need|our new|we'd like")
_PAST = (
    r"(?:did|didn't|was|wasn't|were|weren't|had|hadn't|\w+ed|went|came|gave|made|ran|got|found|took|said|told|wrote|left"
    r"|sent|broke|began|brought|bought|chose|kept|led|lost|met|paid|put|saw|sold|thought|threw|caught|built)"
)
_AUXILIARY = r"(?:did|didn't|was|wasn't|were|weren't|had|hadn't|couldn't|could not)"
_ABOUT_THE_PAST = re.compile(
    rf"(?:^|, |: |; )(?:and |so |but |(?:by|with|on|in|for|from|to|at|after|before|under) )?{_ASKING}\b"
    rf"(?:(?! (?:is|am|are|do|does|can|will)\b)(?: [\w'’-]+){{0,3}} {_PAST}|[^?.!]{{0,60}}? {_AUXILIARY}"
    r"| (?:\w+ )?calls?)\b"
)
"""How a sentence asks about the past, or for calls, which are of the past."""
_WENT = re.compile(r"(?:did|was|were|had|have|has|didn't|wasn't|weren't)\b[^.!]*$")
"""A question for yes or no about the past, alone: behind a sentence that tells something it asks what may be done."""
_LOOKS_UP = re.compile(
    r"(?:find|show|list|name|give|describe|explain|summari[sz]e|recall|compare|count|enumerate|quote|identify|report"
    r"|provide|retrieve|look up|search)\b"
)
"""How a memory is told to look something up."""
_ASKS_NOW = re.compile(r"(?:is|are|am|can|could|will|would|may|might|should|do|does|shall)\b")
_SENTENCE = re.compile(r"[^.!?]+[.!?]*")
_LEAST_WORDS = 4
"""Of fewer words nothing is said that a task would need."""


def asked_of_memory(text: str) -> str:
    """The text without the courtesies that say that something is asked; the same where there are none."""
    framed = _FRAME.match(text)
    return text[framed.end() :] if framed is not None and len(text) - framed.end() > 1 else text


def is_task(text: str) -> bool:
    """Whether a text is a task: a wish, a complaint, or an order, and no question about what was done."""
    rest = asked_of_memory(text)
    folded = " ".join(fold_case(rest).split())
    framed = rest != text
    sentences = [one.strip() for one in _SENTENCE.findall(folded) if one.strip()]
    if any(_ABOUT_THE_PAST.search(one) and (framed or not one.endswith((".", "!"))) for one in sentences):
        return False
    if len(sentences) == 1 and _WENT.match(sentences[0]):
        return False
    if _OWN.search(folded):
        return True
    if framed or _LOOKS_UP.match(folded) or len(folded.split()) < _LEAST_WORDS:
        return False
    return all(_states(one) for one in sentences)


def _states(sentence: str) -> bool:
    """Whether a sentence that names nobody tells or orders something, or asks what may be done now."""
    return sentence.endswith((".", "!")) or (sentence.endswith("?") and _ASKS_NOW.match(sentence) is not None)
