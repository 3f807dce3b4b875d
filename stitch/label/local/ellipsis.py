"""Fills in what an utterance leaves out because earlier ones supply it: "that part", "a Thai one", "I don't care".

More than 400 lines because the patterns of each kind of gap, which are data, stand beside the code that fills it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from stitch.core import ReferenceRewrite
from stitch.core.text_cache import text_cache
from stitch.label.local.antecedents import Referent
from stitch.text.names import NOT_NAMES, RELATIONAL_NOUN, NameMention
from stitch.text.phrases import noun_phrases
from stitch.text.words import FUNCTION_WORDS, fold_case, is_verb, singular, word_set

MAX_REMEMBERED = 6
"""How many earlier steps are searched for what an utterance leaves out."""
_MAX_SAID_CHARS = 400
_MAX_TAIL_CHARS = 200
_MAX_ASK_CHARS = 240

_I = re.IGNORECASE
_SENTENCE = re.compile(r"[^.!?\n]*(?:[.!?](?!\s)[^.!?\n]*)*[.!?\n]*")
_REQUEST = re.compile(r"\b(?:could|can|would|will) you\b|\b(?:tell|give|show|help|find|let) (?:me|us)\b")
_REQUEST_SIGNS = (" you", " me", " us")
"""One of these stands where the pattern before is found."""
_REQUEST_BEGINS = re.compile(r"(?:please|compare|show|find|list|what|how|which|who|where|when)\b")
_ASKED = re.compile(
    r"\b(?:(?:what|which) (?P<np>(?!(?:is|are|was|were|would)\b)[\w' /]+?) "
    r"(?:are|is|do|does|would|will|did|can|could|should|were|was|you|they)\b|"
    r"what (?:is|are|would be) (?:the|your) (?P<what>[\w' /]+?) (?:that |you |do )|"
    r"(?:a|any|have|your) (?:particular |certain |specific )?preferences? "
    r"(?:on|for|of|in|to|regarding|about|as to) (?:the |an? )?(?P<pref>[\w' /,]+?)(?=\?|$)|"
    r"(?:an?|any) (?:particular|certain|specific|preferred) (?P<part>[\w' /]+?)(?=\?|$| that\b| you\b| in\b)|"
    r"(?:like|want|need|have) (?P<offer>(?:the|their|its|more|some) [\w' ]+?)(?=\?|$| for\b| of\b| on\b| about\b)|"
    r"(?:prefer|like|want|desire) (?P<choice>[\w']+(?: [\w']+)? or [\w' ]+?)(?=\?|$))"
)
_NOT = r"(?:do(?:n['’]?t| not)|does(?:n['’]?t| not))"
_INDIFFERENT = re.compile(
    rf"\b(?:{_NOT} (?:really |particularly )?(?:care|mind)|"
    r"(?:no|have a|have any) (?:particular |specific |real )?preferences?)"
    r"(?P<tail> (?:about|on|for|of) (?:it|that|them)| that)?(?=\s*(?:[.,!?;]|but\b|$))",
    _I,
)
_NO_MATTER = re.compile(
    rf"(?:^|[.,;!] ?|\bno,? |\band |\bbut )(?P<it>it|that) (?:really )?{_NOT} (?:really )?matter\b", _I
)
_WHICHEVER = re.compile(
    r"(?:^|[.,;!] ?|\bno,? )(?P<any>any(?:thing|one)?)(?= (?:is|will|would|works|sounds|of them)\b)", _I
)
_ACCEPTED = re.compile(
    r"\b(?:like|want|need|love|got|appreciate) (?P<it>it|that|them)\b"
    r"(?=\s*(?:[.,!;]|please\b|too\b|thanks?\b|$))",
    _I,
)
_OWN_ARTICLE = re.compile(r"(?:the|your|their|its|more|some|an?) ", _I)

_DEMONSTRATIVE = re.compile(
    r"(?:^|[.,?!;] ?|(?P<lead>[\w']+) )(?P<which>that|this|the same) (?P<noun>[a-z]{3,}(?: [a-z]{3,})?)\b", _I
)
_DEMONSTRATIVES = ("that ", "this ", "the same ")
_TIMES = word_set("time times year season period day week month night point way case moment era decade age")
_VAGUE = word_set(
    """price specific particular certain different new good best great nice special big same other
    upcoming next previous current final second third fourth fifth sixth seventh eighth ninth tenth"""
)

_TITLE = r"(\"[^\"]{2,60}\"|(?:[A-Z][\w'&-]*(?: (?:of|the|a|in|and|to|for|&) (?=[A-Z]))? ?)+)"
_NOT_TITLES = NOT_NAMES | {"i"}
_THERE = re.compile(r"(?P<before>[a-z]+) (?P<there>there)(?=\s*(?:[.,?!;]|and\b|$))")
_NAMED = re.compile(r"[\w,] [A-Z][a-z]")
_MAX_PLACED_AGO = 4
_NOT_BEFORE_THERE = word_set("still is are was were in out up over back hi hey hello being been get getting got from")
_WITH = re.compile(
    r"\b(?:in|on|at|near|within|around) (?:the |an? )?[\w'-]+(?: [\w'-]+){0,2}?(?: of (?:the )?[\w-]+)?"
    r"(?=\s*[,.?!;]|\s*$| (?:that|which|and|serving|with|in|on|please|i|we|but|is|are|has|for|else)\b)",
    _I,
)
_SPATIAL = re.compile(
    r"\b(?:part|side|area|section|district|region|city|town|village|country|cent(?:er|re)|downtown|north|south|east|"
    r"west|street|neighbou?rhood)\b|"
    r"\s(?!(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec|Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*\b)[A-Z]"
)

_ONE = re.compile(r"(?P<before>[\w'-]+) (?P<one>ones?)\b(?! (?:of|more|day|time)\b)", _I)
_ARTICLE = re.compile(r"\b(?:an?|the|any|some|another|other|his|her|your|my)\b(?: [\w'-]+){0,2}$", _I)
_ANY_ONE = word_set("any specific particular")
_BEFORE_ONE = word_set("any another other")
_NOT_BEFORE_ONE = word_set("two three four five six seven eight nine ten day numeral number")
_NOT_BARE = word_set("a an the that this their your any")

_SEEKS = re.compile(
    r"\b(?:look\w* for|search\w* for|want|need|(?:would|['’]d) (?:like|prefer)|find|recommend|suggest|show me|get|"
    r"(?:is|are) there|do you have|(?:how|what) about|interested in|direct me to\w*|serv(?:es?|ing))\b"
)
_PREPOSITIONS = word_set("in on at of about from near to")
_ANYTHING = re.compile(
    r"\b(?:is|are) there (?P<any>anything|something|anywhere)"
    r"(?= else(?! (?:i|we|you|on|that (?:i|we|you))\b)| (?:in|on|with|serving)\b|\s*\?)|"
    r"\b(?:are there|do you have) (?P<bare>any)(?= (?:in|on|that|with|serving)\b)",
    _I,
)
_ANYTHING_SIGNS = ("there any", "there something", "have any")
_HOW_ABOUT = re.compile(
    r"\b(?:(?:how|what) about|(?:is|are) there (?:an?|any|some)|do you have (?:an?|any|some)) "
    r"(?P<np>[\w' -]+?)(?=,? please|,? then|\s*[?.!]|$)",
    _I,
)
_HOW_ABOUT_SIGNS = ("how about ", "what about ", "there a", "there some", "have a", "have some")
"""One of these stands in lower case where the pattern before is found, and is found itself far quicker."""
_NOT_IN_KIND = FUNCTION_WORDS - word_set("a an some other")
_NOUN = r"(?!(?:please|too|as|then|thanks|thank|again|also|and)\b)[a-z]+"
_NOUNS = rf"(?:the |their |its )?{_NOUN}(?: {_NOUN}){{0,2}}"
_ATTRIBUTES = re.compile(
    r"\b(?:what(?:['’]?s| is| are)|"
    r"(?:may|can|could) (?:i|you) (?:please )?(?:also )?(?:have|get|give me|tell me|send me|provide)|"
    r"(?:i|i['’]d|i would) (?:also )?(?:need|want|like)(?: to (?:know|have|get))?|(?:give|tell|send|get) me|"
    r"provide|know|"
    r"what about|how about|and|also|^)(?: me)?(?: also)?(?: just)? ?"
    rf"(?P<list>{_NOUNS}(?:(?:,? and|,| &) {_NOUNS})*)"
    r"(?=,? (?:please|too|as well|then|thanks|thank|again)\b|\s*[.?!;]|,? ?$)",
    _I,
)
_NOT_ATTRIBUTES = FUNCTION_WORDS - word_set("the their its and also kind of just")


class Ask(NamedTuple):
    """A question or request that waits for an answer."""

    role: str
    text: str
    about: str
    """What it asks for ("price range"); empty if that is not plain."""


class Said(NamedTuple):
    """An earlier step."""

    role: str
    text: str
    """Its beginning."""
    tail: str
    """Its last two sentences."""
    counted: str = ""
    """How it counted what it names: "the second restaurant I raised"."""


class Wish(NamedTuple):
    """What somebody asked for: "a cheap restaurant in the south"."""

    noun: str
    modifiers: str
    conditions: str
    """The phrases behind the noun that narrow it down."""


def read_ask(text: str, *, role: str) -> Ask | None:
    """Return the last question in the text, or the text if it is a request; None if it asks for nothing."""
    end = text.rfind("?") + 1
    if end:
        begin = max(text.rfind(mark, 0, end - 1) for mark in ".?!\n") + 1
        sentence = text[begin:end].strip()[-_MAX_ASK_CHARS:]
    elif _requests(text.lower()):
        sentence = text.strip()[-_MAX_ASK_CHARS:]
    else:
        return None
    about = ""
    for match in _ASKED.finditer(fold_case(sentence)):
        about = sentence[slice(*match.span(match.lastgroup or 0))].strip()
    return Ask(role, sentence, about)


def _requests(lowered: str) -> bool:
    """Whether a text without a question asks somebody to do something."""
    may_ask = any(map(lowered.__contains__, _REQUEST_SIGNS))
    return _REQUEST_BEGINS.match(lowered) is not None or (may_ask and _REQUEST.search(lowered) is not None)


def remember(said: list[Said], text: str, *, role: str, counted: str = "") -> list[Said]:
    """Return what was said with one more step, bounded."""
    end = text.rstrip()[-_MAX_TAIL_CHARS:]
    tail = "".join([part for part in _SENTENCE.findall(end) if part.strip()][-2:]).strip()
    return [*said, Said(role, text[:_MAX_SAID_CHARS], tail, counted)][-MAX_REMEMBERED:]


def answer(text: str, ask: Ask | None) -> list[ReferenceRewrite]:
    """Return what names the thing that the question asked for, where the answer only points at it."""
    if ask is None or not ask.about:
        return []
    about = ask.about
    the_thing = about if _OWN_ARTICLE.match(about) or " or " in about else f"the {about}"
    if match := _INDIFFERENT.search(text):
        start = match.end() if match["tail"] is None else match.start("tail")
        return [_rewrite(start, match.end(), f" about {the_thing}", 0.7)]
    if "matter" in text.lower() and (match := _NO_MATTER.search(text)):
        return [_rewrite(*match.span("it"), the_thing, 0.7)]
    if match := _WHICHEVER.search(text):
        return [_rewrite(*match.span("any"), f"{match['any'][:3]} {about}", 0.7)]
    match = _ACCEPTED.search(text)
    return [_rewrite(*match.span("it"), about, 0.7)] if match and _OWN_ARTICLE.match(about) else []


def complete(
    text: str,
    role: str,
    *,
    ask: Ask | None,
    said: Sequence[Said],
    names: Sequence[NameMention],
    focus: Referent | None,
    taken: Sequence[ReferenceRewrite],
    area: bool,
) -> list[ReferenceRewrite]:
    """Return replacements and insertions for what the text leaves out; none where that is unsure.

    Args:
        text: What was said.
        role: Who said it.
        ask: The question of somebody else that it may answer.
        said: Earlier steps, oldest first.
        names: The names in the text.
        focus: The one thing that is spoken of.
        taken: What is replaced already; nothing here overlaps it.
        area: Whether "there" may be an area that was named.
    """
    found: list[ReferenceRewrite] = []
    for rewrite in (
        *_demonstratives(text, said, role, focus),
        *(_places(text, said) if area else ()),
        *_ones(text, said, role, ask),
        *_anything(text, said, role),
        *(_carried(text, said, role) if not names else ()),
    ):
        if not any(rewrite.start < other.end and other.start < rewrite.end for other in (*taken, *found)):
            found.append(rewrite)
    if focus is not None and not names and not taken and not found:
        found += _owners(text, focus)
    return found


def _demonstratives(text: str, said: Sequence[Said], role: str, focus: Referent | None) -> Iterator[ReferenceRewrite]:
    """Names "that hotel", and tells "that part" as it was told before ("the south part")."""
    lowered = text.lower()
    if not any(map(lowered.__contains__, _DEMONSTRATIVES)):
        return
    for match in _DEMONSTRATIVE.finditer(text):
        first = match["noun"].split()[0]
        if not _points((match["lead"] or "the").lower(), first):
            continue
        start, end = match.start("which"), match.start("noun") + len(first)
        if focus is not None and _is_wished(focus, first, said, role):
            yield _rewrite(start, end, focus.name, 0.7, antecedent=focus.step)
        elif title := _title(first, said):
            yield _rewrite(start, end, f"the {first} {title}", 0.7)
        elif modifiers := _modifiers(match["noun"].lower(), said) or _modifiers(first, said):
            yield _rewrite(*match.span("which"), f"the {modifiers}", 0.7)


def _points(lead: str, noun: str) -> bool:
    """Whether "that" between two words points at a thing: after a noun it opens a clause, before a plural, too."""
    opens_clause = lead not in FUNCTION_WORDS and not is_verb(lead)
    if opens_clause or (noun.endswith("s") and not noun.endswith("ss")):
        return False
    return noun.islower() and noun not in FUNCTION_WORDS and not is_verb(noun) and noun not in _TIMES


def _is_wished(focus: Referent, noun: str, said: Sequence[Said], role: str) -> bool:
    """Whether a noun is that of the last wish, after which the thing was named."""
    wish = None if focus.heading else _wish(said, role)
    return wish is not None and singular(noun) == singular(wish.noun) and _is_new(focus, said, role)


def _is_new(focus: Referent, said: Sequence[Said], role: str) -> bool:
    """Whether the thing was named after the wish for one of its kind."""
    for place in range(len(said) - 1, -1, -1):
        if said[place].role == role and _SEEKS.search(fold_case(said[place].text)):
            return any(focus.name.lower() in later.text.lower() for later in said[place:])
    return False


def _title(noun: str, said: Sequence[Said]) -> str:
    """What the thing of this kind that was last spoken of is called: "their fifth album, Light Years"."""
    for earlier in reversed(said):
        if f" {noun}" not in earlier.text:
            continue
        titles: list[str] = re.findall(rf" {noun},? (?:called |named |titled |entitled )?{_TITLE}", earlier.text)
        names = [title.strip() for title in titles if title.split("'")[0].strip().lower() not in _NOT_TITLES]
        if names:
            return names[-1]
    return ""


def _modifiers(noun: str, said: Sequence[Said]) -> str:
    """The words with which the noun was last told from others of its kind; empty if it never was."""
    for earlier in reversed(said):
        text = earlier.text
        place = text.rfind(f" {noun}")
        while place > 0:
            words = text[max(0, place - 40) : place].split()[-2:]
            while words and (words[0].lower() in FUNCTION_WORDS or is_verb(words[0].lower())):
                words = words[1:]
            whole = not text[place + 1 + len(noun) : place + 2 + len(noun)].isalpha()
            if words and whole and not any(_tells_nothing(word) for word in words):
                return " ".join(words)
            place = text.rfind(f" {noun}", 0, place)
    return ""


def _tells_nothing(word: str) -> bool:
    low = word.lower()
    return not word.replace("-", "").isalnum() or low in FUNCTION_WORDS or low in _VAGUE or low.endswith("ly")


def _places(text: str, said: Sequence[Said]) -> Iterator[ReferenceRewrite]:
    match = _THERE.search(text) if " there" in text else None
    if match is None or match["before"] in _NOT_BEFORE_THERE or _NAMED.search(text, 0, match.start()):
        return
    for earlier in reversed(said[-_MAX_PLACED_AGO:]):
        places = [
            place
            for place in _WITH.findall(earlier.text)
            if place[0].islower() and " one " not in place and _SPATIAL.search(" " + place.split()[-1])
        ]
        if places:
            yield _rewrite(*match.span("there"), places[-1], 0.6)
            return


def _wish(said: Sequence[Said], role: str) -> Wish | None:
    """What this speaker last asked for."""
    wishes = (_wish_in(earlier.text) for earlier in reversed(said) if earlier.role == role)
    return next(filter(None, wishes), None)


@text_cache(maxsize=32)  # of a step it is asked as long as that is remembered
def _wish_in(text: str) -> Wish | None:
    """What a text asks for."""
    seeks = _SEEKS.search(fold_case(text))
    if seeks is None:
        return None
    rest = text[seeks.end() :]
    for phrase in noun_phrases(rest):
        before = ["", "", *rest[: phrase.start].lower().split()]
        inside = before[-1] in _PREPOSITIONS or (before[-1] == "the" and before[-2] in _PREPOSITIONS)
        if RELATIONAL_NOUN.match(phrase.head) or inside:
            continue
        modifiers = phrase.text.split()[:-1]
        if before[-1].endswith("ly"):
            modifiers = [before[-1], *modifiers]
        conditions = filter(_narrows, _WITH.findall(rest[phrase.start :]))
        return Wish(phrase.head, " ".join(modifiers), " ".join(dict.fromkeys(conditions)))
    return None


def _narrows(phrase: str) -> bool:
    return _SPATIAL.search(phrase) is not None or any(RELATIONAL_NOUN.match(word) for word in phrase.split())


def _ones(text: str, said: Sequence[Said], role: str, ask: Ask | None) -> Iterator[ReferenceRewrite]:
    """What "one" is in "a Thai one"."""
    if " one" not in text.lower():
        return
    for match in _ONE.finditer(text):
        before = match["before"].lower()
        if _counts_nobody(before):
            continue
        if any(not RELATIONAL_NOUN.match(phrase.head) for phrase in noun_phrases(text[: match.start()])):
            # The noun most likely stands in the text itself.
            return
        several = match["one"].lower() == "ones"
        bare = not several and _ARTICLE.search(text[: match.start("one")].rstrip()) is None
        noun = _asked_noun(before, ask) or (_bare_noun(said) if bare else "") or _wished_noun(said, role)
        if not noun or noun == before:
            return
        yield _rewrite(*match.span("one"), _plural(noun) if several else singular(noun), 0.6)


def _counts_nobody(before: str) -> bool:
    """Whether "one" behind this word stands for no noun."""
    return is_verb(before) or before in _NOT_BEFORE_ONE or (before in FUNCTION_WORDS and before not in _BEFORE_ONE)


def _wished_noun(said: Sequence[Said], role: str) -> str:
    wish = _wish(said, role)
    return wish.noun if wish is not None else ""


def _asked_noun(before: str, ask: Ask | None) -> str:
    """What the question asked for, if "any one" answers it or it offered what stands before "one"."""
    if ask is None:
        return ""
    if before in _ANY_ONE:
        return ask.about
    asked = ask.text.lower()
    if " or " not in asked or before not in asked.replace(",", " ").split():
        return ""
    last = noun_phrases(asked)[-1:]
    if not last:
        return ""
    return " ".join(last[0].text.split()[-2:]) if RELATIONAL_NOUN.match(last[0].head) else last[0].head


def _bare_noun(said: Sequence[Said]) -> str:
    """The last noun that stood with one modifier and without an article ("vegetarian food")."""
    for earlier in reversed(said):
        for phrase in reversed(noun_phrases(earlier.text)):
            before = earlier.text[: phrase.start].lower().split()[-1:]
            told = len(phrase.text.split()) == 2 and not phrase.head.endswith("s")
            if told and before and before[0] not in _NOT_BARE and not RELATIONAL_NOUN.match(phrase.head):
                return phrase.head
    return ""


def _anything(text: str, said: Sequence[Said], role: str) -> Iterator[ReferenceRewrite]:
    """What "is there anything else?" asks for: the same as before."""
    match = _ANYTHING.search(text) if any(map(text.lower().__contains__, _ANYTHING_SIGNS)) else None
    wish = _wish(said, role) if match else None
    if match is None or wish is None:
        return
    if match["bare"]:
        yield _rewrite(match.end("bare"), match.end("bare"), f" {_plural(wish.noun)}", 0.6)
        return
    conditions = "" if _WITH.search(text) else wish.conditions
    yield _rewrite(*match.span("any"), " ".join(filter(None, ["any", wish.modifiers, wish.noun, conditions])), 0.6)


def _carried(text: str, said: Sequence[Said], role: str) -> Iterator[ReferenceRewrite]:
    """What "how about Thai food?" keeps of the request that it changes: its conditions."""
    match = _HOW_ABOUT.search(text) if any(map(text.lower().__contains__, _HOW_ABOUT_SIGNS)) else None
    if match is None or _WITH.search(text) or _THERE.search(text):
        return
    phrases = noun_phrases(match["np"])
    if len(phrases) != 1 or RELATIONAL_NOUN.match(phrases[0].head) or _NOT_IN_KIND & set(match["np"].lower().split()):
        return
    wish = _wish(said, role)
    if wish is None:
        return
    modifiers = wish.modifiers.split()
    if wish.conditions:
        yield _rewrite(match.end("np"), match.end("np"), f" {wish.conditions}", 0.6)
    elif len(modifiers) > 1 and len(phrases[0].text.split()) > 1 and not _VAGUE & set(modifiers):
        start = match.start("np") + phrases[0].start
        yield _rewrite(start, start, " ".join(modifiers[:-1]) + " ", 0.6)


def _owners(text: str, focus: Referent) -> Iterator[ReferenceRewrite]:
    """Whose address "what is the address?" asks for."""
    for match in _ATTRIBUTES.finditer(text):
        words = match["list"].lower().replace(",", " ").split()
        if RELATIONAL_NOUN.fullmatch(words[-1]) and not _NOT_ATTRIBUTES & set(words):
            yield _rewrite(match.end("list"), match.end("list"), f" of {focus.name}", 0.8, antecedent=focus.step)
            return


def _rewrite(
    start: int, end: int, replacement: str, confidence: float, *, antecedent: str | None = None
) -> ReferenceRewrite:
    return ReferenceRewrite(start=start, end=end, replacement=replacement, antecedent=antecedent, confidence=confidence)


def _plural(noun: str) -> str:
    return noun if noun.endswith("s") or noun == "food" else noun + "s"
