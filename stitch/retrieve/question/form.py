"""What kind of answer a question asks for, by its form: one fact, several things, or what was said over a stretch."""

from __future__ import annotations

import re
from enum import Enum

_MOST_READ = 2_000


class QuestionForm(str, Enum):
    """What kind of answer is asked for."""

    FACT = "one fact"
    LIST = "several things"
    COUNT = "a number of things"
    COMPARISON = "a comparison"
    ORDER = "an order"
    SUMMARY = "a summary"

    @property
    def wide(self) -> bool:
        """Whether what was said over a stretch is asked for, and not things that are told here and there."""
        return self is QuestionForm.SUMMARY

    @property
    def several(self) -> bool:
        """Whether the answer stands in several places."""
        return self is not QuestionForm.FACT


_SUMMARY = re.compile(
    r"\b(?:summar(?:y|ies|i[sz]e[sd]?|i[sz]ing)|overview|recap|outline|gist|walk me through"
    r"|what (?:did|does|do|was|were|is|are) [^?.]{0,80}\b(?:think|thought|discuss(?:ed)?|say|said|talk(?:ed)?"
    r"|opinions?|views?|attitudes?|discussions?)\b"
    r"|(?:opinions?|views?|attitudes?|discussions?|thoughts?|conclusions?|perspectives?)"
    r" (?:on|of|about|towards?|regarding)"
    r"|(?:what|why|how|who)\b[^?.]{0,120}\b(?:(?:dis)?agree(?:d|ment)?|comment(?:ed|s)?|debat(?:e|ed|es)|respond(?:ed)?"
    r"|react(?:ed|ion)?|argu(?:e|ed|ment)|decided? (?:on|about|to)|decisions?|discuss(?:ing|ed|ion))\b"
    r"|(?:how|why) did [^?.]{0,60}\b(?:progress|evolve|develop|change|think|feel))",
    re.IGNORECASE,
)
_ORDER = re.compile(
    r"\b(?:in (?:what|which|the) order|order in which|chronolog\w*|sequence|timeline|step by step"
    r"|one after (?:the )?(?:other|another)|from (?:first|earliest|oldest) to"
    r"|(?:came|happened|come) (?:first|last|before|after))\b",
    re.IGNORECASE,
)
_COUNT = re.compile(
    r"\bhow (?:many|often)\b|\b(?:total|overall) (?:number|amount|cost|count|time)\b|\bin total\b"
    r"|\bhow much\b[^?]*\b(?:in total|altogether|all together|combined|so far)\b",
    re.IGNORECASE,
)
_COMPARISON = re.compile(
    r"\b(?:compar\w+|differ\w*|in common|both|versus|vs\.?|similar\w*|more (?:\w+ )?than|less (?:\w+ )?than|rather than"
    r"|which of)\b",
    re.IGNORECASE,
)
_LIST = re.compile(
    r"\b(?:list|enumerate|name (?:all|some|the|every|each)"
    r"|(?:all|every|each of|some) (?:of )?(?:the |my |our |his |her |their )?\w+"
    r"|(?:what|which) (?:(?:kinds?|types?|sorts?) of|(?:\w+ ){0,2}?(?!(?:was|has|does|this|his|always)\b)\w{3,}s)\b)",
    re.IGNORECASE,
)


def form_of(question: str) -> QuestionForm:
    """Read the form of a question; of a very long one, its beginning and end. One fact, if it tells nothing else."""
    text = question if len(question) <= _MOST_READ else f"{question[: _MOST_READ // 2]} {question[-_MOST_READ // 2 :]}"
    for form, way in (
        (QuestionForm.ORDER, _ORDER),
        (QuestionForm.SUMMARY, _SUMMARY),
        (QuestionForm.COUNT, _COUNT),
        (QuestionForm.COMPARISON, _COMPARISON),
        (QuestionForm.LIST, _LIST),
    ):
        if way.search(text):
            return form
    return QuestionForm.FACT
