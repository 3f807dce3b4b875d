"""Moves of a conversation: what a question asks for, and what a step leaves open for the next one.

"When do you want to leave?" leaves a time open, "Thanks, bye" nothing. It is a matter of conversation, not of a domain.
"""

from __future__ import annotations

from collections.abc import Sequence

from stitch.text.forms import SentenceForm
from stitch.text.words import whole_words

_ASKS = {
    "more": whole_words(
        """anything else|something else|what else|(?:any )?other (?:help|assistance)|further (?:help|assistance)
        |else (?:i|we) can|(?:how )?(?:can|may) i (?:help|assist)"""
    ),
    "check": whole_words(
        r"""(?:correct|right|okay|ok|confirm\w*|sound good|look good)\W*$|(?:please|can you|could you) confirm
        |is (?:that|this|it|everything) (?:correct|right|okay|ok|accurate)"""
    ),
    "number": whole_words("how (?:many|much|long|far|old|large|big)"),
    "time": whole_words(r"when|(?:what|which) (?:time|day|date|month|year|hour|week)\w*|how soon"),
    "place": whole_words(r"where|(?:what|which) (?:city|area|town|place|location|part|address|country|region|side)\w*"),
    "person": whole_words("who|whom|whose|your name"),
    "reason": whole_words("why|how (?:do|does|did|can|could|should|is|are|was|to)|how's"),
    "choice": whole_words("what|which|what's"),
}
_OFFER = whole_words("(?:would|do|did|can|could|should|shall|may) (?:you|i|we)|want|wish|interested|like (?:me )?to")
_PLAIN = {
    SentenceForm.THANKS: "thanks",
    SentenceForm.FAREWELL: "farewell",
    SentenceForm.GREETING: "greeting",
}


def asked_for(sentence: str) -> str:
    """What a question asks for: a time, a place, a number ..., or a yes or no."""
    for kind, pattern in _ASKS.items():
        if pattern.search(sentence):
            return kind
    return "offer" if _OFFER.search(sentence) else "yes or no"


def left_open(parts: Sequence[str], forms: Sequence[SentenceForm], asks: Sequence[str]) -> str:
    """What a step leaves open for the next speaker: what its last question asks for, else how it ends.

    Sentences are in lower case.
    """
    for part, form in zip(reversed(parts), reversed(forms), strict=True):
        if form is SentenceForm.QUESTION:
            return asks[-1]
        if form is SentenceForm.REQUEST and _ASKS["check"].search(part):
            return "check"
    for form in reversed(forms):
        if form in _PLAIN:
            return _PLAIN[form]
    return "request" if SentenceForm.REQUEST in forms else "told"


AWAITED = ("check", "number", "time", "place", "person", "reason", "choice", "offer", "yes or no", "more", "request")
"""What is left open and waits for an answer."""
