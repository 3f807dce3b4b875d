"""What a thing is for, as those who plan say it: "for dinner", "the morning meal", "somewhere to sleep"."""

from __future__ import annotations

import re
from collections.abc import Collection

from stitch.text.words import FUNCTION_WORDS, fold_case

_EATING = r"(?:meals?|food|feed|feeding|bites?|eats?|eating|dining|snacks?|table)"
_SAID_PURPOSE = re.compile(
    rf"\b(?:(?P<breakfast>breakfasts?|morning {_EATING})|(?P<brunch>brunch)"
    rf"|(?P<lunch>lunch(?:es|eon)?|(?:noon|midday|afternoon) {_EATING})"
    rf"|(?P<dinner>dinners?|suppers?|(?:evening|night) {_EATING})"
    r"|(?P<stay>stays?(?! (?:in|inside|within|below|under|out|off|on|away|up|put|open|calm|quiet|dry|switched)\b)"
    r"|(?<!last )(?<!every )(?<!final )(?<!other )nights?|overnight|accommodations?|lodgings?|sleep(?:ing)?|hotels?"
    r"|(?<!dining )rooms?|(?<!\bin )beds?|kip\w*)"
    r"|(?P<outing>outings?|sightseeing|sights?|excursions?|attractions?|activit(?:y|ies)|visit(?:s|ing)?|tours?"
    r"|(?:what|(?:some|any)?things?) to see))\b"
)
_NOT_THIS = re.compile(
    r"\b(?:not|no|instead of|rather than|typed|wrote)(?: (?:the|our|my|for|about|where we|a))* $", re.IGNORECASE
)
"""Before a purpose that somebody takes back: "lunch (not the bed)"."""
_OWN_WORD = re.compile(
    r"\b(?:for|as|thinking|at) (?:the |our |my |an? |some )?(?:[a-z]+ )?(?P<for>[a-z']{3,})(?= *(?:$|[.,;:?!)–—-]))"
    r"|\((?:the |our |my |an? )?(?:[a-z]+ )?(?P<within>[a-z']{3,})\)"
    r"|(?:^|[–—-] )(?:the |our |my |an? )?(?:[a-z]+ )?(?P<before>[a-z']{3,}): "
    r"|[–—-] (?:the |our |my |an? )?(?:[a-z]+ )?(?P<after>[a-z']{3,})(?= *[.,;?!]|$)",
    re.IGNORECASE,
)
"""A word that may say what something is for, whatever it is: "for tea", "X (tea)", "tea: X?"."""
_KNOWN = frozenset(("", "stay", "outing", "breakfast", "brunch", "lunch", "dinner"))
_WORD = re.compile(r"[a-z']{3,}", re.IGNORECASE)


def said_purposes(text: str, own: Collection[str] = ()) -> list[tuple[int, str]]:
    """The purposes that a text names in any words, with their places; not those that it takes back.

    Args:
        text: The text.
        own: Purposes of which things were spoken before, by words of the speaker.
    """
    found = [(match.start(), match.lastgroup or "") for match in _SAID_PURPOSE.finditer(fold_case(text))]
    if not _KNOWN.issuperset(own):
        found += [(match.start(), match[0].lower()) for match in _WORD.finditer(text) if match[0].lower() in own]
    return [one for one in sorted(found) if not taken_back(text, one[0])]


def taken_back(text: str, at: int) -> bool:
    """Whether a purpose that is named here is said not to be meant."""
    return _NOT_THIS.search(text, max(0, at - 24), at) is not None


def own_word(sentence: str) -> str:
    """The speaker's own word for what a thing is for; empty if none stands where it would."""
    for match in _OWN_WORD.finditer(sentence):
        word = (match[match.lastgroup or 0]).lower()
        if word not in FUNCTION_WORDS:
            return word
    return ""
