"""Moves of a conversation: what a step leaves open, and what a step gives. Adjacency pairs without a model.

"When do you want to leave?" leaves a time open; "Next Tuesday" gives one, "Yes, please" does not. Which move follows
which is a matter of conversation, not of a domain, and tells to which of several open scopes a step belongs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

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
_DONE = whole_words(
    """(?:that(?:'s| is| will be| would be|'ll be)|it(?:'s| is)) (?:all|everything|it|enough)|nothing (?:else|more)?
    |no more|all (?:i|set|good|done)|not (?:right )?now|no,? (?:thanks|thank)"""
)
_KINDS = {
    "price": "number", "quantity": "number", "number": "number", "rating": "number", "percentage": "number",
    "phone": "number", "date": "time", "day": "time", "time": "time", "place": "place", "address": "place",
    "organization": "name", "name": "name", "person": "name",
}  # fmt: skip
_PLAIN = {
    SentenceForm.AGREEMENT: "yes",
    SentenceForm.REFUSAL: "no",
    SentenceForm.THANKS: "thanks",
    SentenceForm.FAREWELL: "farewell",
    SentenceForm.GREETING: "greeting",
    SentenceForm.APOLOGY: "apology",
}


def asked_for(sentence: str) -> str:
    """What a question asks for: a time, a place, a number ..., or a yes or no."""
    for kind, pattern in _ASKS.items():
        if pattern.search(sentence):
            return kind
    return "offer" if _OFFER.search(sentence) else "yes or no"


def left_open(parts: Sequence[str], forms: Sequence[SentenceForm], asks: Sequence[str], gives: Sequence[str]) -> str:
    """What a step leaves open for the next speaker: what its last question asks for, else how it ends.

    Sentences are in lower case.
    """
    for part, form in zip(reversed(parts), reversed(forms), strict=True):
        if form is SentenceForm.QUESTION:
            return asks[-1]
        if form is SentenceForm.REQUEST and _ASKS["check"].search(part):
            return "check"
    for form in reversed(forms):
        if form in (SentenceForm.FAREWELL, SentenceForm.THANKS, SentenceForm.GREETING):
            return _PLAIN[form]
    if SentenceForm.REQUEST in forms:
        return "request"
    return next((f"told {kind}" for kind in gives if kind in ("number", "time", "place", "name")), "told")


def given(
    parts: Sequence[str], forms: Sequence[SentenceForm], asks: Sequence[str], values: Mapping[str, str]
) -> tuple[str, ...]:
    """What a step gives to what was open: yes, no, thanks, values by their kind, a question, a request.

    Sentences are in lower case; values have their classes.
    """
    moves: dict[str, None] = {}
    asked = iter(asks)
    for part, form in zip(parts, forms, strict=True):
        if form is SentenceForm.QUESTION:
            moves[f"asks {next(asked)}"] = None
        elif form is SentenceForm.REQUEST:
            moves["request"] = None
        elif form in _PLAIN:
            moves[_PLAIN[form]] = None
            if form is SentenceForm.REFUSAL and _DONE.search(part):
                moves["done"] = None
        elif _DONE.search(part):
            moves["done"] = None
    for kind in values.values():
        if kind in _KINDS:
            moves[_KINDS[kind]] = None
    return tuple(moves)[:6] or ("statement",)


AWAITED = ("check", "number", "time", "place", "person", "reason", "choice", "offer", "yes or no", "more", "request")
"""What is left open and waits for an answer."""

_ANSWERS: Mapping[str, frozenset[str]] = {
    "number": frozenset({"number"}),
    "time": frozenset({"time"}),
    "place": frozenset({"place", "name"}),
    "person": frozenset({"name"}),
    "choice": frozenset({"name", "number", "time", "place", "statement"}),
    "offer": frozenset({"yes", "no", "thanks", "done", "request"}),
    "yes or no": frozenset({"yes", "no", "name"}),
    "check": frozenset({"yes", "no"}),
    "more": frozenset({"no", "done", "request", "thanks"}),
    "reason": frozenset({"statement"}),
}


def answers(gives: Sequence[str], opens: str) -> bool:
    """Whether what a step gives answers what was left open."""
    return opens not in _ANSWERS or not _ANSWERS[opens].isdisjoint(gives)
