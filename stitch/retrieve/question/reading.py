"""A question as the filter selection reads it: the context it names, and what it asks for."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from stitch.core.text_cache import text_cache
from stitch.text.dates import find_moments, without_relative_times
from stitch.text.languages import content_stems, is_foreign, language_of
from stitch.text.phrases import NounPhrase, noun_phrases
from stitch.text.values import find_mentions
from stitch.text.words import is_verb, singular, stem, whole_words, words

_ASKING = r"what|which|when|where|who|whom|whose|how|why"
_MAX_READ_CHARS = 4_000

_LEADING = re.compile(
    r"\s*(?:in|for|during|at|on|from|within|about|regarding|concerning|as for)\s+"
    r"(?=(?:the|this|that|these|those|our|one|[\w-]+['’]s)\b|(?-i:[A-Z])|\d)"
    rf"(?P<body>[^?]*?),\s*(?=(?:{_ASKING}|did|do|does|was|were|is|are|can|could|has|have|had|will|would|list|name|tell"
    r"|give)\b)",
    re.IGNORECASE,
)
_TRAILING = re.compile(
    r"(?<=[\s,])(?P<clause>(?:in|for|during|at|on|from|within|about|regarding|concerning)\s+"
    r"(?:the|this|that|those|our|my|an?|one)\s+(?:[\w'’-]+\s+){1,4}?"
    r"(?:where|whose|when|with|that|(?:in|for|with|of|to) which)\s[^?.!]+)(?:\?|$)",
    re.IGNORECASE,
)
"""The same clause behind the question ("What was the fare in the request where the city is Oslo?")."""
_ASKS_ITSELF = re.compile(rf"\s*(?:{_ASKING})\b", re.IGNORECASE)
_ASKED = re.compile(rf"\b(?:{_ASKING})\b", re.IGNORECASE)
_ASKS_FOR_A_THING = re.compile(
    r"(?:how many|(?:what|which|whose)(?!\s+(?:did|do|does|has|have|had|would|will|can|could|should)\b))\b",
    re.IGNORECASE,
)
_LISTS = re.compile(r"\s*(?:please\s+)?(?:list|enumerate|name)\s+(?:all|each|every|the)\b", re.IGNORECASE)
_ASKS_FOR_ALL = re.compile(
    r"[.?!]\s*(?:please\s+)?(?:list|enumerate|name)\s+(?:all|each|every|its|their|the (?:\w+ )?names)\b"
    r"|\b(?:semicolons?|commas)\b|\bsep(?:arated?|\.)? by\b|\bdivided by\b"
    r"|\ball (?:the |of |their )*(?:names|them|'em)\b"
    r"|\[[^\]]+\][^\[]*\[",
    re.IGNORECASE,
)
"""Ways to say, after the question, that its answer has many parts; a form with several gaps is one."""
_ASKS_FOR_NAMES = re.compile(r"\bname(?:s|d)?\b|\[[^\]]+\][^\[]*\[", re.IGNORECASE)
_CAPITALIZED = re.compile(r"(?<!\w)[A-Z\d][\w'’.-]*(?: [A-Z\d][\w'’.-]*)+")

_OPERATIONS = (
    (
        whole_words("chosen|chose|choose|picked|selected|settled|decided|final|finally|finished|in the end|went with"),
        "decide",
    ),
    (whole_words("why|cause|caused|causes|reasons?"), "explain"),
    (whole_words("suggested|suggestions?|proposed|proposals?|recommended|recommendations?|ideas?"), "propose"),
    (whole_words("compared|comparison|differences?"), "compare"),
    (whole_words("booked|reserved"), "book"),
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
        (
            r".*\b(?:evidence|sources?|stud(?:y|ies)|research|papers?|works|authorit(?:y|ies)|cit(?:es?|ed)|quoted?)\b",
            ("citation",),
        ),
        (r"how many\b", ("quantity", "number")),
    )
)
"""Classes for which the form of a question asks, whatever its words."""

_KINDS_OF_NOUNS = {
    stem(noun): kind
    for kind, nouns in (
        (
            "place",
            "city town village country state region location place destination origin station airport stop venue",
        ),
        ("price", "price cost fare fee rent charge amount total bill"),
        ("rating", "rating score review star"),
        ("phone", "phone telephone"),
        ("address", "address"),
        ("date", "date"),
        ("time", "time hour"),
        ("quantity", "quantity count size"),
        ("person", "person artist author actor director singer"),
        ("organization", "company airline organization employer"),
        ("name", "name title"),
    )
    for noun in nouns.split()
}
"""Which neutral class a thing belongs to by the noun it is asked for with."""

_DIGIT = re.compile(r"\d")
_NUMBER = stem("number")
NAMES = frozenset(("name", "organization", "person", "place"))
"""Classes of names, of which one is often taken for another."""


@dataclass(frozen=True)
class Question:
    """What a question says, taken apart."""

    text: str
    words: tuple[str, ...]
    said: str
    """The stems of all its words, each between two blanks."""
    names: frozenset[str]
    """Values it names, by their form: folded, words joined by one blank."""
    moments: tuple[str, ...]
    """See `find_moments`."""
    context: str
    """The clause that says where to look ("In the request where the city is Oslo"); empty if it has none."""
    asked_beside_context: str
    """What stands beside that clause; empty if there is none."""
    clues: str
    """Where it may say where to look: in that clause, or anywhere if it has none; not when ("two weeks ago")."""
    clue_stems: frozenset[str]
    asked_stems: tuple[str, ...]
    """Stems of the thing it asks for ("fare" of "what was the fare per ticket"); none of "what did it cost"."""
    classes: tuple[str, ...]
    """Classes of things for which its form asks."""
    lists: bool
    """Whether it asks for all things of a class ("List the sources ...", "Which ...? List every name.")."""
    several: bool
    """Whether the thing it asks for stands in the plural ("Which hotels ...?")."""
    asks_for_names: bool
    """Whether what it asks for is to be answered by names, or by filling the gaps of a form."""
    operations: frozenset[str]
    """Operations that it asks for in so many words."""
    verbs: frozenset[str]
    """Stems of what was done: after "did", or in the past."""
    kind: str
    """The neutral class of the thing it asks for, by the noun; empty if the noun tells none."""


@text_cache(maxsize=256)
def read_question(text: str) -> Question:
    """Take a question apart; of a very long one, its beginning."""
    text = text[:_MAX_READ_CHARS]
    language = language_of(text)
    context, rest = _split(text)
    clues = without_relative_times(context or text)
    lists, asked, thing = _what_is_asked(rest)
    asked_stems = tuple(map(stem, thing.text.split())) if thing else ()
    return Question(
        text=text,
        words=tuple(words(text)),
        said=f" {' '.join(map(stem, words(text)))} ",
        names=_names(without_relative_times(text), language),
        moments=find_moments(text),
        context=context,
        asked_beside_context=rest if context else "",
        clues=clues,
        clue_stems=frozenset(content_stems(clues)),
        asked_stems=asked_stems,
        classes=() if is_foreign(language) else _classes_of_form(asked),
        lists=lists or _ASKS_FOR_ALL.search(rest) is not None,
        several=thing is not None and not lists and _plural(asked, thing),
        asks_for_names=_ASKS_FOR_NAMES.search(text) is not None,
        operations=frozenset(act for way, act in _OPERATIONS if way.search(rest)),
        verbs=frozenset(map(stem, _done(rest))),
        kind=_kind(asked_stems),
    )


def _split(text: str) -> tuple[str, str]:
    """The clause that says where to look, empty if there is none, and the rest of the question."""
    leading = _LEADING.match(text)
    if leading and not _ASKS_ITSELF.match(leading["body"]):
        context = leading.group().rstrip(" ,")
        return context, text[len(context) :]
    if trailing := _TRAILING.search(text):
        return trailing["clause"], text[: trailing.start()].rstrip(" ,\t\n") + text[trailing.end("clause") :]
    return "", text


def _what_is_asked(rest: str) -> tuple[bool, str, NounPhrase | None]:
    """Whether it begins as a list does, what it asks from the asking word on, and the thing that it asks for."""
    if lists := _LISTS.match(rest):
        asked = f"the {rest[lists.end() :]}"
    else:
        asking = _ASKED.search(rest)
        asked = rest[asking.start() :] if asking else rest
    phrases = noun_phrases(asked) if lists or _ASKS_FOR_A_THING.match(asked) else []
    return lists is not None, asked, phrases[0] if phrases else None


def _names(text: str, language: str | None) -> frozenset[str]:
    said = (*(mention.value for mention in find_mentions(text)), *_CAPITALIZED.findall(text))
    names = frozenset(" ".join(words(name)) for name in said)
    # The forms of names are English: elsewhere nouns have capitals, or what opens a question ("¿Cuánto").
    return frozenset(name for name in names if _DIGIT.search(name)) if is_foreign(language) else names


def _classes_of_form(asked: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(kind for form, kinds in _CLASSES_OF_FORM if form.match(asked) for kind in kinds))


def _done(text: str) -> Iterator[str]:
    """The verbs of a question: "report" of "What did the tests report?", "decided"; not "the last report"."""
    did = False
    for word in words(text):
        if word.endswith("ed") or (did and is_verb(word, base=True)):
            yield word
        did = did or word in ("did", "do", "does")


def _plural(asked: str, thing: NounPhrase) -> bool:
    marked = asked.startswith("(s)", thing.start + len(thing.text))
    return not asked.lower().startswith("how many") and (marked or singular(thing.head) != thing.head)


def _kind(asked: tuple[str, ...]) -> str:
    if not asked:
        return ""
    if asked[-1] == _NUMBER:  # of something that is counted, or by which somebody is called
        return next((kind for word in asked if (kind := _KINDS_OF_NOUNS.get(word)) == "phone"), "quantity")
    return _KINDS_OF_NOUNS.get(asked[-1], "")
