"""Fills in what an utterance leaves out because the question before it, or the thing spoken of, supplies it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from stitch.core import ReferenceRewrite
from stitch.label.local.antecedents import RELATIONAL_NOUN, NameMention, Referent

_QUESTION = re.compile(r"[^.?!\n]*\?")
_REQUEST = re.compile(
    r"\b(?:could|can|would|will) you\b|\b(?:tell|give|show|help|find|let) (?:me|us)\b|"
    r"^(?:please|compare|show|find|list|what|how|which|who|where|when)\b",
    re.IGNORECASE,
)
_ASKED = re.compile(
    r"\b(?:(?P<wh>what|which) (?P<np>[\w' /]+?) (?:are|is|do|does|would|will|did|can|could|should|were|was)\b|"
    r"(?:a|any|have) (?:particular |certain |specific )?preferences? "
    r"(?:on|for|of|in|to|regarding|about|as to) (?P<pref>[\w' /,]+?)(?=\?|$))",
    re.IGNORECASE,
)
_INDIFFERENT = re.compile(
    r"\b(?:do(?:n['’]?t| not)|does(?:n['’]?t| not)) (?:really |particularly )?care\b(?=\s*(?:[.,!?;]|$))", re.IGNORECASE
)
_MAX_ASK_CHARS = 240


class Ask(NamedTuple):
    """A question or request that waits for an answer."""

    role: str
    text: str
    about: str
    """What it asks for ("the price range"); empty if that is not plain."""


def read_ask(text: str, *, role: str) -> Ask | None:
    """Return the last question or request in the text, or None."""
    questions = _QUESTION.findall(text)
    if not questions and not _REQUEST.search(text):
        return None
    sentence = (questions[-1] if questions else text).strip()[-_MAX_ASK_CHARS:]
    about = ""
    for match in _ASKED.finditer(sentence):
        about = (match["np"] or match["pref"] or "").strip()
        if about and match["np"]:
            about = f"{match['wh'].lower()} {about}"
    return Ask(role, sentence, about)


_NOUNS = r"(?:the |their |its )?[a-z]+(?: [a-z]+){0,2}"
_ATTRIBUTES = re.compile(
    r"\b(?:what(?:['’]?s| is| are)|"
    r"(?:may|can|could) (?:i|you) (?:please )?(?:also )?(?:have|get|give me|tell me|send me|provide)|"
    r"(?:i|i['’]d|i would) (?:also )?(?:need|want|like)(?: to (?:know|have|get))?|(?:give|tell|send) me|provide|"
    r"what about|how about|and)(?: me)?(?: also)?(?: just)? "
    rf"(?P<list>{_NOUNS}(?:(?:,? and|,| &) {_NOUNS})*?)"
    r"(?=,? (?:please|too|as well|then|thanks|thank)\b|\s*[.,?!;]|\s*$)",
    re.IGNORECASE,
)


def complete(
    text: str,
    *,
    rewrites: Sequence[ReferenceRewrite],
    names: Sequence[NameMention],
    ask: Ask | None,
    focus: Referent | None,
) -> list[ReferenceRewrite]:
    """Return insertions for what the text leaves out; none where that is unsure."""
    added: list[ReferenceRewrite] = []
    if ask is not None and ask.about:
        match = _INDIFFERENT.search(text)
        if match:
            added.append(
                ReferenceRewrite(start=match.end(), end=match.end(), replacement=f" about {ask.about}", confidence=0.8)
            )
    if focus is not None and not names and not rewrites:
        for match in _ATTRIBUTES.finditer(text):
            last = re.split(r",? and |, | & ", match["list"])[-1].split()
            if (
                last
                and RELATIONAL_NOUN.fullmatch(last[-1].lower())
                and " of " not in text[match.end() : match.end() + 4]
            ):
                end = match.end("list")
                added.append(
                    ReferenceRewrite(
                        start=end, end=end, replacement=f" of {focus.name}", antecedent=focus.step, confidence=0.8
                    )
                )
                break
    return added
