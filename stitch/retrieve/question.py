"""A question as the filter selection reads it: the context it names, and what it asks for."""

from __future__ import annotations

import re
from dataclasses import dataclass

from stitch.embed.lexical import stem, words
from stitch.label.local.language import content_stems, cue, noun_phrases
from stitch.label.local.mentions import find_mentions
from stitch.retrieve.moments import find_moments

_ASKING = r"what|which|when|where|who|whom|whose|how|why"
_LEADING = re.compile(
    r"\s*(?:in|for|during|at|on|from|within|about|regarding|concerning|as for)\s+"
    r"(?=(?:the|this|that|these|those|our|one|[\w-]+['’]s)\b|(?-i:[A-Z])|\d)"
    rf"(?P<body>[^?]*?),\s*(?=(?:{_ASKING}|did|do|does|was|were|is|are|can|could|has|have|had|will|would|list|name|tell"
    r"|give)\b)",
    re.IGNORECASE,
)
_ASKS_ITSELF = re.compile(rf"\s*(?:{_ASKING})\b", re.IGNORECASE)
_ASKED = re.compile(rf"\b(?:{_ASKING})\b", re.IGNORECASE)
_ASKS_FOR_A_THING = re.compile(
    r"(?:how many|(?:what|which|whose)(?!\s+(?:did|do|does|has|have|had|would|will|can|could|should)\b))\b",
    re.IGNORECASE,
)
_LISTS = re.compile(r"\s*(?:please\s+)?(?:list|enumerate|name)\s+(?:all|each|every|the)\b", re.IGNORECASE)
_CAPITALIZED = re.compile(r"(?<!\w)[A-Z\d][\w'’.-]*(?: [A-Z\d][\w'’.-]*)+")
_OPERATIONS = (
    (cue("chosen|chose|choose|picked|selected|settled|decided|final|finally|in the end|went with"), "decide"),
    (cue("why|cause|caused|causes|reasons?"), "explain"),
    (cue("suggested|suggestions?|proposed|proposals?|recommended|recommendations?|ideas?"), "propose"),
    (cue("compared|comparison|differences?"), "compare"),
    (cue("booked|reserved|bookings?|reservations?"), "book"),
)
"""Ways to ask for what was done, and the act they ask for."""

_CLASSES_OF_FORM = tuple(
    (re.compile(pattern, re.IGNORECASE), kinds)
    for pattern, kinds in (
        (r"(?:at )?what time\b", ("time",)),
        (r"(?:what|which) day\b", ("date", "day")),
        (r"when\b", ("date", "time", "day")),
        (r"where\b", ("place", "address", "location")),
        (r"(?:whom?|whose)\b", ("person", "name")),
        (r"how much\b|.*\b(?:costs?|expensive|pay|paid|spend|spent)\b", ("price",)),
        (r".*\b(?:rates?|rated|stars?|reviews?|reviewed)\b", ("rating",)),
        (r".*\b(?:evidence|sources?|cites?|cited)\b", ("citation",)),
        (r"how many\b", ("quantity", "number")),
    )
)
"""Classes for which the form of a question asks, whatever its words."""


@dataclass(frozen=True)
class Question:
    """What a question says, taken apart."""

    text: str
    words: tuple[str, ...]
    said: str
    """The stems of all its words, each between two blanks."""
    names: frozenset[str]
    """Values it names, by their form: folded, words joined by one blank."""
    moments: dict[str, bool]
    """See `find_moments`."""
    context: str
    """The leading clause that says where to look ("In the request where the city is Oslo"); empty if it has none."""
    context_stems: frozenset[str]
    asked_stems: tuple[str, ...]
    """Stems of the thing it asks for ("fare" of "what was the fare per ticket"); none of "what did it cost"."""
    other_stems: frozenset[str]
    """Stems outside the context."""
    classes: tuple[str, ...]
    """Classes of things for which its form asks."""
    lists: bool
    """Whether it asks for all things of a class ("List the sources ...")."""
    operations: frozenset[str]
    """Acts that it asks for in so many words."""


def read_question(text: str) -> Question:
    """Take a question apart."""
    leading = _LEADING.match(text)
    context = leading.group().rstrip(" ,") if leading and not _ASKS_ITSELF.match(leading["body"]) else ""
    rest = text[len(context) :]
    lists = _LISTS.match(rest)
    asking = _ASKED.search(rest)
    asked = rest[lists.end() :] if lists else rest[asking.start() :] if asking else rest
    phrases = noun_phrases(asked) if lists or _ASKS_FOR_A_THING.match(asked) else []
    return Question(
        text=text,
        words=tuple(words(text)),
        said=f" {' '.join(map(stem, words(text)))} ",
        names=frozenset(
            " ".join(words(name))
            for name in (*(mention.value for mention in find_mentions(text)), *_CAPITALIZED.findall(text))
        ),
        moments=find_moments(text),
        context=context,
        context_stems=frozenset(content_stems(context)),
        asked_stems=tuple(stem(word) for word in phrases[0].text.split()) if phrases else (),
        other_stems=frozenset(content_stems(rest)),
        classes=tuple(dict.fromkeys(kind for form, kinds in _CLASSES_OF_FORM if form.match(asked) for kind in kinds)),
        lists=lists is not None,
        operations=frozenset(act for way, act in _OPERATIONS if way.search(rest)),
    )
