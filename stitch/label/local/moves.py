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

    Args:
        parts: The sentences of the step, in lower case.
        forms: Their forms.
        asks: What its questions ask for, in their order.
        gives: What `given` says of them.
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

    Args:
        parts: The sentences of the step, in lower case.
        forms: Their forms.
        asks: What its questions ask for, in their order.
        values: The values it names, with their classes.
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
_PROPOSED = whole_words(
    r"""(?:how|what) about|there(?:'s| is| are| was)
    |i(?:'ve| have| did|'d)? (?:found|find|have|see|got|suggest|recommend|propose)
    |you (?:might|may|could|would|should) (?:like|try|enjoy|want|consider)
    |(?:one|another|other) (?:option|choice|idea|possibility)|(?:is|are) (?:also )?available
    |(?:maybe|perhaps|why don't|why not)|(?:it|that|which|this) (?:is|'s) an?"""
)
_CHECKED = whole_words(
    r"""confirm\w*|(?:is|are|was|does|did) (?:that|this|it|these|everything|i)
[ ](?:all )?(?:correct|right|okay|ok|accurate|sound|look|get|understand)
    |(?:so,? )?(?:you|you'd|you would|you're|you want|we|i'll|i will|i'm) [^?]{10,}"""
)
_SUCCEEDED = whole_words(
    r"""(?:has|have|had|was|were|is|are|been|'s|i've|'ve) (?:\w+ )?(?:been )?(?:successful\w*|confirmed|booked|reserved
    |scheduled|completed|fixed|resolved|made|done|set|started|paid|purchased|added|sent|transferred|complete|ready
    |placed)|successfully|all set|enjoy"""
)
_FAILED = whole_words(
    r"""sorry|unfortunately|unable|failed|could ?n[o']t|cannot|can't|wasn't|not (?:available|possible|successful)
    |afraid"""
)
_TAKES_UP = (
    (
        "accepts",
        whole_words(
            r"""(?:sounds?|looks?|seems?|works?|that's|it's|that is|this is|it is|that'd be|that would be|that will be
            |will be|would be) (?:\w+ )?(?:good|great|perfect|nice|fine|wonderful|awesome|cool|ok|okay|excellent|amazing
            |interesting|lovely|for me)|i (?:\w+ )?(?:like|love) (?:it|that|this|the|to)
            |(?:works|fine|good|great|perfect) (?:for|with|by) (?:me|us)|the right one|i'll take|go (?:with|for)"""
        ),
    ),
    (
        "affirms",
        whole_words(
            """correct|that's right|right|exactly|precisely|that is right|absolutely|go ahead|please do|of course|i do
            |it is|yes please"""
        ),
    ),
    (
        "wants others",
        whole_words(
            """(?:any|some)(?:thing|one|where)? (?:else|other|different|more)|(?:an)?other|others|what else|keep looking
            |alternatives?|instead|different|no,? i|don't (?:like|want)"""
        ),
    ),
    (
        "points",
        whole_words("(?:this|that|these|those|the (?:first|second|third|last|other|same|previous)) ?(?:one|ones)?"),
    ),
    (
        "seeks",
        whole_words(
            r"""(?:i(?:'d| would)? (?:\w+ )?(?:like|need|want|wish|love|have|am looking|'m looking)|help me|looking
            |search|find|can you|could you|let's|please)(?: \w+){0,4} (?:an?|some|any|me)"""
        ),
    ),
)


def answers(gives: Sequence[str], opens: str) -> bool:
    """Whether what a step gives answers what was left open."""
    return opens not in _ANSWERS or not _ANSWERS[opens].isdisjoint(gives)


def stands(parts: Sequence[str], forms: Sequence[SentenceForm], opens: str) -> str:
    """How a step leaves the matter: proposed, to be confirmed, done, failed; else as `left_open` says.

    Args:
        parts: The sentences of the step, in lower case.
        forms: Their forms.
        opens: What `left_open` says of them.
    """
    for part, form in zip(reversed(parts), reversed(forms), strict=True):
        if form in (SentenceForm.QUESTION, SentenceForm.REQUEST):
            if form is SentenceForm.REQUEST or opens in ("check", "yes or no", "offer"):
                if _PROPOSED.match(part):
                    return "proposed"
                if opens == "check" or _CHECKED.match(part):
                    return "check"
            return opens
    if opens in _PLAIN.values():
        return opens
    text = " ".join(parts[:12])
    if _FAILED.search(text):
        return "failed"
    if _SUCCEEDED.search(text):
        return "done"
    if "confirm" in text and _CHECKED.match(text):
        return "check"
    return "proposed" if _PROPOSED.search(text) else opens


def takes_up(parts: Sequence[str]) -> tuple[str, ...]:
    """How a step takes up what was there: accepts, affirms, wants others, points at it, seeks something new."""
    text = " . ".join(parts[:6])
    return tuple(name for name, way in _TAKES_UP if way.search(text)) or ("plain",)
