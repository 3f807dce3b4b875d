"""A question taken apart: where to look, what is asked for, when, in which order, and in what form.

Closed lists of words of the language; nothing here knows a domain.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum

from stitch.core import SearchRequest
from stitch.core.text_cache import text_cache
from stitch.text.dates import (
    MONTH,
    WEEKDAY,
    Span,
    day_of,
    find_moments,
    months_abroad,
    spans_of,
    without_relative_times,
)
from stitch.text.languages import content_stems, content_words, is_foreign, language_of
from stitch.text.phrases import noun_phrases
from stitch.text.words import FUNCTION_WORDS, stem, word_set, words

READ_CHARS = 4_000
"""So much of a text is read, from its beginning."""
_MAX_FORM_CHARS = 2_000


class QuestionForm(str, Enum):
    """The kind of answer a question asks for."""

    FACTS = "facts"
    ORDER = "an order"
    SUMMARY = "a summary"

    @property
    def wide(self) -> bool:
        """Whether what was said over a stretch is asked for, and not things that are told here and there."""
        return self is QuestionForm.SUMMARY

    @property
    def of_many_steps(self) -> bool:
        """Whether much is said of what is asked for, in many steps."""
        return self is not QuestionForm.FACTS


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


def form_of(question: str) -> QuestionForm:
    """Read the form of a question; of a very long one, its beginning and end. Facts, if it tells nothing else."""
    half = _MAX_FORM_CHARS // 2
    text = question if len(question) <= _MAX_FORM_CHARS else f"{question[:half]} {question[-half:]}"
    for form, way in (
        (QuestionForm.ORDER, _ORDER),
        (QuestionForm.SUMMARY, _SUMMARY),
    ):
        if way.search(text):
            return form
    return QuestionForm.FACTS


_SPAN = (
    r"(?:(?:\d+|few|couple of|two|three|four|five|six|seven|eight|nine|ten|twelve) )?"
    r"(?:minute|hour|day|night|week|weekend|fortnight|month|quarter|half|year|decade)s?"
)
"""What "the first" and "the last" count off a calendar: "in the first 30 days" asks for no first of several."""
_LAST = re.compile(
    r"\b(?:in the end|finally|final|finished|eventually|ultimately|latest|most recent(?:ly)?|after all changes"
    rf"|last(?! (?:{_SPAN}|spring|summer|autumn|fall|winter|semester|{WEEKDAY}|{MONTH}"
    r"|names?|resort)\b)"
    r"|settled? on|end(?:ed|ing)? up|at last|after all)\b"
    r"|\b(?:now|currently|nowadays|still|valid|in (?:force|use|effect)|at (?:present|the moment)|these days|by then"
    r"|(?:the )?current)\b(?! that\b)"
    r"|\b(?:once|after|since)\b[^?.!]{0,60}\bhad\b"
    r"|\b(?:(?:at|by) the (?:very )?end(?! of\b)|(?:is|are) left"
    r"|jetzt|inzwischen|mittlerweile|zuletzt|schließlich|am ende|aktuell|derzeit|zurzeit|momentan|künftig"
    r"|ahora|al final|finalmente|actualmente|por último)\b",
    re.IGNORECASE,
)
"""Ways to ask for the end of something, or for what holds: what was said of it last."""
_FIRST = re.compile(
    r"\b(?:(?:(?<!\bat )(?<!\bat the )(?<!\bon the )first|first(?! (?:try|attempt|go|sight|glance)\b))"
    rf"(?! (?:{_SPAN}|names?|class|aid|hand|lady|floor|place)\b)"
    r"|initially|initial|originally|original|earliest|to (?:begin|start) with"
    r"|zuerst|zunächst|anfangs|ursprünglich|primero|al principio|inicialmente|originalmente"
    r"|at the (?:start|outset|beginning)|before any (?:other|of))\b",
    re.IGNORECASE,
)
_EVERY = re.compile(
    r"\b(?:at (?:any|some|one) (?:time|point|stage)|(?:final\w* )?or not|intermediate"
    r"|(?:all|every) (?:decision|choice)s?|(?:revised|earlier|previous|replaced) (?:\w+ )?included)\b",
    re.IGNORECASE,
)
"""Ways to ask for the earlier ones too."""
_ASKING = r"what|which|when|where|who|whom|whose|how|why"
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
        ("place", "city town village country state region location place venue"),
        ("place", "destination origin station airport stop"),
        ("price", "price cost fare fee rent charge amount total bill"),
        ("rating", "rating score review star"),
        ("phone", "phone telephone"),
        ("address", "address"),
        ("email", "email"),
        ("url", "website link url"),
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
_STANDS = word_set(
    """
    do does am is are have has can i'm i've what's where's who's
    ich mein meine meinem meinen meiner yo mi mis je mon ma mes
    """
)
"""Words of a question for what is so; in other languages, for what is so of who asks."""
_NOW = word_set(
    """
    now current currently nowadays recently latest newest still moment present
    jetzt inzwischen mittlerweile aktuell derzeit zurzeit momentan ahora actualmente
    """
)
_ONCE = word_set(
    """
    initially originally previous previously first before earlier ago last did days weeks months between passed
    total recommend suggest advice think used was were had
    war waren wurde hatte wann zuerst früher vorher fue era estaba primero antes cuándo était avait premier avant quand
    """
)
"""Words of a question for what was once so, for a time that passed, or for advice."""
_OF_ANY_DAY = word_set(
    "say said says tell told talk talked speak spoke happen happened discuss discussed do did go went mentioned day"
    " passiert geschah besprochen erzählt pasó ocurrió hice hicimos hablamos passé arrivé"
)
"""Words of a question for whatever there was on a day."""
_DAY_WORD = re.compile(rf".*\d.*|{MONTH}|{WEEKDAY}")
_NUMBER = stem("number")
NAMES = frozenset(("name", "organization", "person", "place"))
"""Classes of names, of which one is often taken for another."""
_TAKEN_FOR = {
    **dict.fromkeys(NAMES, NAMES),
    "place": NAMES | {"address"},
    "date": frozenset(("date", "day")),
    "quantity": frozenset(("quantity", "number")),
    **dict.fromkeys(("phone", "address", "email"), frozenset(("contact",))),
}
"""The classes under which a step may carry what is asked for, by its kind."""


@dataclass(frozen=True)
class Question:
    """A question, taken apart."""

    text: str
    folded: str
    """Its words in lower case, one blank between them."""
    moments: tuple[str, ...]
    """See `find_moments`."""
    clause: str
    """The clause that says where to look ("In the request where the city is Oslo"); empty if it has none."""
    asked: str
    """What stands beside that clause; empty if there is none."""
    clues: str
    """The part that may say where to look: that clause, or all of it; without relative times ("two weeks ago")."""
    clue_stems: frozenset[str]
    classes: frozenset[str]
    """Neutral classes of values that would answer it, by its form and by the noun it asks with."""
    form_classes: tuple[str, ...]
    """Those by its form alone."""
    lists: bool
    """Whether it asks for all things of a class ("List the sources ...", "Which ...? List every name.")."""
    asks_for_names: bool
    """Whether it is to be answered by names, or by filling the gaps of a form."""
    spans: tuple[Span, ...] = ()
    """Days of which it asks."""
    of_a_day: bool = False
    """Whether it asks for a time, and for nothing else ("What was said on 8 May?", "What happened last week?")."""
    stands: bool = False
    """Whether it asks how things stand ("Where do I work?", "Where am I now?"), not for a time nor for the first."""
    order: int = 0
    """1 if it asks for the last of something, -1 for the first, 0 for neither."""


def read_request(request: SearchRequest) -> Question:
    """Read the question of a request; times in it are read against the moment at which it was asked."""
    return read_question(request.query, asked=day_of(request.asked_at))


def _stands(said: frozenset[str]) -> bool:
    return not said.isdisjoint(_STANDS) and said.isdisjoint(_ONCE)


@text_cache(maxsize=256)
def read_question(text: str, asked: int | None = None) -> Question:
    """Read a question; of a very long one, its beginning.

    Args:
        text: The question.
        asked: The day on which it was asked, as `date.toordinal` counts.
    """
    text = text[:READ_CHARS]
    foreign = is_foreign(language_of(text))
    clause, rest = _split(text)
    clues = without_relative_times(clause or text)
    order = 0 if _EVERY.search(text) else bool(_LAST.search(text)) - bool(_FIRST.search(text))
    spans, said = tuple(spans_of(text, asked=asked)), frozenset(words(text))
    lists, by_name = _LISTS.match(rest), _ASKS_FOR_NAMES.search(text) is not None
    asking = f"the {rest[lists.end() :]}" if lists else _from_asking_word(rest)
    form_classes = () if foreign else _classes_of_form(asking)
    return Question(
        text=text,
        folded=" ".join(words(text)),
        moments=find_moments(text),
        clause=clause,
        asked=rest if clause else "",
        clues=clues,
        clue_stems=frozenset(content_stems(clues)),
        classes=_classes(asking, form_classes, a_thing=lists is not None, named=bool(clause or lists) or by_name),
        form_classes=form_classes,
        lists=lists is not None or _ASKS_FOR_ALL.search(rest) is not None,
        asks_for_names=by_name,
        spans=spans,
        of_a_day=bool(spans) and _says_no_more_than_a_day(without_relative_times(text)),
        stands=not spans and (_stands(said) if not order else order > 0 and not said.isdisjoint(_NOW)),
        order=order,
    )


_WHO_DID = re.compile(r"\b(?:did|has|had) (?:[A-Z][\w'’-]*,? (?:and )?)+(?=[a-z])")
"""Those of whom it is asked what they did, by name: the speakers are known only where it is ranked."""


def _says_no_more_than_a_day(text: str) -> bool:
    said = {*content_words(_WHO_DID.sub(" ", text))} - FUNCTION_WORDS - _OF_ANY_DAY - months_abroad().keys()
    return all(map(_DAY_WORD.fullmatch, said))


def _split(text: str) -> tuple[str, str]:
    """The clause that says where to look, empty if there is none, and the rest of the question."""
    leading = _LEADING.match(text)
    if leading and not _ASKS_ITSELF.match(leading["body"]):
        clause = leading.group().rstrip(" ,")
        return clause, text[len(clause) :]
    if trailing := _TRAILING.search(text):
        return trailing["clause"], text[: trailing.start()].rstrip(" ,\t\n") + text[trailing.end("clause") :]
    return "", text


def _from_asking_word(rest: str) -> str:
    asking = _ASKED.search(rest)
    return rest[asking.start() :] if asking else rest


def _classes(asking: str, form_classes: tuple[str, ...], *, a_thing: bool, named: bool) -> frozenset[str]:
    """The classes of what is asked for; where names may be asked for, any other thing has a name."""
    phrases = noun_phrases(asking) if a_thing or _ASKS_FOR_A_THING.match(asking) else []
    stems = tuple(map(stem, phrases[0].text.split())) if phrases else ()
    kind = _kind(stems)
    if not (kind or form_classes):
        return NAMES if stems and named else frozenset()
    return frozenset((*filter(None, (kind,)), *form_classes, *_TAKEN_FOR.get(kind, ())))


def _kind(stems: tuple[str, ...]) -> str:
    """The class of a thing: "phone" of "contact number"."""
    if not stems:
        return ""
    if stems[-1] == _NUMBER:  # of something that is counted, or by which somebody is called
        return "phone" if {"phone", stem("telephone"), "contact", "mobil"}.intersection(stems) else "quantity"
    return "email" if "email" in stems else _KINDS_OF_NOUNS.get(stems[-1], "")


def _classes_of_form(asked: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(kind for form, kinds in _CLASSES_OF_FORM if form.match(asked) for kind in kinds))


_TURN = re.compile(
    r"^[ \t]*(?:\[[^\]\n]{1,40}\][ \t]*)?(?P<who>[^\W\d_][\w .'’-]{0,30}?)[ \t]*:[ \t]+(?=\S)", re.MULTILINE
)
_MAX_TURNS_CHARS = 20_000
_LEAST_TURN_WORDS = 3
"""Turns with fewer words that carry subject matter ("Yes, please.") say nothing without the one before."""


@text_cache(maxsize=64)
def last_turn(query: str) -> str:
    """The last turn, where a query is turns of a conversation, each "who: what" on a line; else empty.

    As many turns from the end as it takes to say something, without their speakers.
    """
    text = query[-_MAX_TURNS_CHARS:].strip()
    turns = list(_TURN.finditer(text))
    if len(turns) < 2 or (turns[0].start() and len(query) <= _MAX_TURNS_CHARS):
        return ""
    ends = [*(turn.start() for turn in turns[1:]), len(text)]
    said = [text[turn.end() : end].strip() for turn, end in zip(turns, ends, strict=True)]
    last = said.pop()
    while said and len(content_stems(last)) < _LEAST_TURN_WORDS:
        last = f"{said.pop()}\n{last}"
    return last if said else ""


_COURTESY = word_set(
    """hi hello hey ok okay thanks thank thx cheers bye goodbye cool nice great good fine perfect lovely awesome sure
    alright right yes yeah yep no nope please welcome morning evening night sorry wow"""
)


def is_courtesy(query: str) -> bool:
    """Whether somebody greets, thanks or agrees, and asks for nothing: "Thanks, that is all."."""
    said = words(query[:READ_CHARS])
    return "?" not in query and not _COURTESY.isdisjoint(said) and _COURTESY.issuperset(set(said) - FUNCTION_WORDS)
