"""Names in a text, with how the text brings them up, and numbered units ("day 2").

More than 400 lines because what is a name shows in many ways in which a text ends before it and goes on behind it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from stitch.core.text_cache import text_cache
from stitch.text.dates import CALENDAR_WORDS
from stitch.text.words import FUNCTION_WORDS, MAX_READ_CHARS, is_verb, word_set

MAX_NAMES = 24
"""How many names of one step are read."""
_MAX_TYPED_CHARS = 400
_BEFORE_CHARS = 40

NOT_NAMES = FUNCTION_WORDS | word_set(
    """absolutely additionally bummer certainly else ever finally free great however indeed instead likewise meanwhile
    moreover overall possibly soon today together tomorrow unfortunately yesterday two three four five six seven eight
    nine ten wait cause uh um wow ugh aw aww woah whoa congrats lol"""
)
"""Function words and the words that open sentences with a capital: never a name by themselves."""
_TOLD_OF = word_set("Ate Booked Bought Chose Found Got Heard Liked Loved Met Saw Took Tried Visited")  # without "I"
_OPEN_NAMES = word_set(
    "first last good great nice cool perfect fine never always once forever every all just still one two three"
)
"""Words of `NOT_NAMES` with which a name may begin in the middle of a sentence ("play Good Years")."""
_AUXILIARIES = word_set("is was has had does did will would can could may might should")
_STRAIGHT = str.maketrans("\u2018\u2019\u201c\u201d", "''\"\"")

_CAPITAL = r"[A-Z\u00c0-\u00de][\w&'-]*"
_JOIN = r"(?<=\b[A-Z])\. ?|(?<=Mr|Ms|Dr|St)\. |(?<=Mrs)\. | of the | of | de la | de | la | du | van | von | & | "
# A capital is looked for far quicker than a place before one.
_NAME = re.compile(rf"[A-Z\u00c0-\u00de](?<![\w-].)[\w&'-]*(?:(?:{_JOIN}){_CAPITAL})*")
_SAYS_WHAT = (
    r"(?:(?:is|was) (?:an?|in|at|on|located|situated|the)\b|serves|offers|has an?\b|would (?:fit|be)\b|"
    r"(?:phone number|address|number|postcode|price) is\b)"
)
_TYPED = r"(?:the )?[a-zA-Z][a-z\d']+(?: (?:and )?[a-z\d']+){0,3}?"
# Names that are typed without capitals, where the sentence says what they are or that they are names.
_TYPED_NAME = re.compile(
    rf"(?:^|[.!?;:\n] *|\band |\b[Yy]es,? |\b[Ss]ure,? )(?P<subject>{_TYPED}) {_SAYS_WHAT}|"
    rf"\b(?:called|named|recommend|suggest) (?P<called>{_TYPED})(?=[,.?!;\n]|$| (?:which|is|in|at|for)\b)|"
    r"\b[Tt]here(?: is|'s) (?P<there>[a-z\d']+(?: (?:and )?[a-z\d']+){0,3}?)"
    r"(?=[,.?!;\n]|$| (?:which|that|in|at|with|serving|located)\b)"
)
_SAYS_WHAT_AFTER = re.compile(rf" {_SAYS_WHAT}")
_TYPED_SIGNS = ("called ", "named ", "recommend ", "suggest ", "here is ", "here's ")
"""One of these stands in all that `_TYPED_NAME` finds, or what `_SAYS_WHAT_AFTER` does, and is found far quicker."""


class _Ending(NamedTuple):
    """A way in which a text ends."""

    pattern: re.Pattern[str]
    last: tuple[str, ...]
    """With one of these ends each text that `pattern` finds so: far quicker to look for."""

    def of(self, text: str) -> bool:
        """Whether a text ends so; one in lower case, unless what ends so is never written otherwise."""
        return text.endswith(self.last) and self.pattern.search(text) is not None


_PRESENTS = _Ending(re.compile(
    r"(?:\b(?:called|named|recommend|suggest|try|trying|visit|visiting|consider|considering|found|read|reading|watch|"
    r"watching|saw|play|playing|use|using|bought|got|booked|chose|pick|how about|what about|about)|"
    r"\b(?:idea|option|choice|place|one|it|there)(?: \w+ \w+)? (?:is|could be|would be|might be|is at)|there's|"
    r"\bat|\bacross)(?: the| a)?$"
), (
    " the", " a", "called", "named", "recommend", "suggest", "try", "trying", "visit", "visiting", "consider",
    "considering", "found", "read", "reading", "watch", "watching", "saw", "play", "playing", "use", "using", "bought",
    "got", "booked", "chose", "pick", "about", " is", " be", "at", "there's", "across",
))  # fmt: skip
_PLACED = _Ending(
    re.compile(r"\b(?:in|into|to|from|near|towards?|through|around|outside)(?: the)?$"),
    (" the", "in", "to", "from", "near", "toward", "towards", "through", "around", "outside"),
)
_PLACE = re.compile(
    r"\b(?:Airport|Station|Terminal|City|County|Island|Lake|River|Mountain|Square|Plaza|Bridge|Harbou?r)$"
)
_LOCATED = _Ending(
    re.compile(r"(?:located|situated|address is|they are|live[sd]?)(?: (?:at|on|in))?(?: the)?$"),
    (" the", " at", " on", " in", "located", "situated", " is", " are", "live", "lives", "lived"),
)
_STREET = re.compile(r"\b(?:Road|Street|Avenue|Lane|Drive|Boulevard|Rd|St|Ave)\b")
_STREET_NUMBER = re.compile(r"\d[a-zA-Z]? $")
_PEOPLE = (
    "ese", "nish", "lish", "wish", "tish", "rish", "kish", "dish", "lian", "rian", "sian", "dian", "nian", "bian",
    "ean", "ican", "Thai", "Greek", "French", "Dutch",
)  # fmt: skip
_NUMBERED = re.compile(r" #?\d")
_NEXT_WORD = re.compile(r" ([a-z][\w']*)")

_DOES = re.compile(
    r"(?: \([^()]{1,40}\))?,?(?: who| which)?(?: (?:also|then|later|first|soon|always|often|again|once|still|just|"
    r"has|had|have|[a-z]+ly))* (?P<verb>[a-z]+)\b(?! by\b)"
)
_ASKED_OF = _Ending(re.compile(
    r"\b(?:did|does|do)(?:n't)?(?: the)?$|(?:^|[.?!] |\b(?:who|what|where|when|why|how|which)\b[^.?!,]{0,24} )"
    r"(?:was|is|were|are|has|had|have|can|could|will|would|should)(?: the)?$"
), (
    " the", "did", "does", "do", "n't", "was", "is", "were", "are", "has", "had", "have", "can", "could", "will",
    "would", "should",
))  # fmt: skip
_BORN = re.compile(
    r" (?:is|was) (?:an?|the|one|also|best|well|known|born|named|raised|married|elected)\b|"
    r" was (?:then |later |also |first |soon )?"
    r"(?:appointed|accused|arrested|awarded|chosen|convicted|described|educated|engaged|fired|hired|hospitalized|"
    r"inducted|injured|invited|killed|nominated|offered|promoted|referred|released from|replaced|selected|sentenced|"
    r"signed|traded|voted)\b"
)
_PAST = word_set(
    """beat became began bet bit blew bore bought broke brought built came caught chose dealt did drank drew drove dug
    fell fled flew forgot fought found froze gave got grew had heard held hid kept knew laid led left lent let lost
    made meant met paid put quit ran rang read rode rose said sang sank sat saw sent set shook shot shut slept slid sold
    sought spent spoke spread stole stood struck stuck swam swore swung taught thought threw told took tore was went
    were woke won wore wrote"""
)
_HAS = re.compile(r" (?:had|has|called|named) (?:his|her|their|been|to|an?|the|no)\b|'s [a-z]")
_BESIDE_BEFORE = re.compile(
    r"(?:^|[\s,])(?:(?i:after|when|while|before|as|since|once|although|because|if|which|where|until)|[A-Z][\w'-]+ and)"
    r"(?: the)?$"
)
_DETERMINED = re.compile(r"(?:\b(?:the|an?|my|your|his|her|our|their|this|that)|'s)(?: [a-z]+)?$", re.IGNORECASE)
_AFTER_OF = re.compile(r"\b(?:with|of|by|for|from|to|at|about)(?: the)?$", re.IGNORECASE)
_KINDS = "titled entitled album song single film movie book novel series show game play"
_KIND_BEFORE = _Ending(re.compile(rf"\b(?:{_KINDS.replace(' ', '|')})$"), tuple(_KINDS.split()))
_NOT_DOING = word_set("located situated based called named titled entitled dated related titled need red bed shed")

_UNIT_NUMBER = re.compile(r"\d\d{0,3}\b(?![.,:]\d|[%/]| out of\b)")
_UNIT_BEFORE = re.compile(r"\b([A-Za-z]{3,12}) ?#? ?\Z")
_UNIT_CHARS = 15
"""As long as a unit is at most, with what stands between it and its number."""

RELATIONAL_NOUN = re.compile(
    r"(?:address|phone|telephone|number|postcode|code|zip|zipcode|price|prices|pricing|cost|costs|ratings?|range|name|"
    r"location|area|type|kind|hours|date|time|duration|length|size|distance|fare|fee|menu|website|email|url|phonenumber|"
    r"contact|capacity|population|owner|author|colou?r|weight|height|age|status|details|information|info)\b",
    re.IGNORECASE,
)
"""Nouns that name an attribute of something else: without an owner they ask for one."""


class NameMention(NamedTuple):
    """A name in a text, and how it is brought up."""

    start: int
    end: int
    text: str
    leads: bool
    """It opens its sentence or is presented."""
    presented: bool
    """The text says what it is, or puts it forward: "X is a bistro", "how about X?"."""
    placed: bool
    """It is where something is or goes: "in X", "to X"."""
    acts: bool = False
    """It does something: "X left", "when did X leave?"."""
    titled: bool = False
    """It stands in quotation marks: the title of something."""
    sure: bool = True
    """False if its capital may only be that of a sentence that it opens."""


def straighten_quotes(text: str) -> str:
    """The readable part of a text, of the same length, with straight quotes."""
    read = text[:MAX_READ_CHARS]
    return read if read.isascii() else read.translate(_STRAIGHT)


@text_cache(maxsize=16_384)
def name_key(name: str) -> str:
    """What two writings of one name have in common: lower case, no periods, no article."""
    words = name.lower().replace(".", "").split()
    return " ".join(words[1:] if len(words) > 1 and words[0] == "the" else words)


def find_names(text: str) -> list[NameMention]:
    """The names in a text read by `straighten_quotes`, by position; a capital that only opens a sentence is no name."""
    found: list[NameMention] = []
    for match in _NAME.finditer(text):
        if match.group().lower() in NOT_NAMES:
            continue
        mention = _read_name(text, match.start(), match.group())
        if mention is None:
            continue
        last = found[-1] if found else None
        if last is not None and text[last.end : mention.start] == " and " and _SAYS_WHAT_AFTER.match(text, mention.end):
            mention = last._replace(end=mention.end, text=text[last.start : mention.end], presented=True)
            found.pop()
        found.append(mention)
        if len(found) == MAX_NAMES:
            break
    return found or (_typed_names(text) if len(text) <= _MAX_TYPED_CHARS else [])


class _Run:
    """Words with capitals in a row: words at its ends that belong to no name are dropped."""

    __slots__ = ("before", "opens", "start", "text", "words")

    def __init__(self, text: str, start: int, words: list[str]) -> None:
        self.before = before = text[max(0, start - _BEFORE_CHARS) : start].rstrip()
        self.text, self.start, self.words = text, start, words
        self.opens = not before or before[-1] in '.!?:;"*-' or text[start - 1] == "\n"
        """It opens a sentence, so that its first word has a capital whether it is a name or not."""

    def drop_first(self) -> None:
        self.start += len(self.words[0]) + 1
        del self.words[0]

    def drop_no_names(self) -> None:
        """Leave out function words, days and months that it begins with, and days, months and "I" that it ends in."""
        while self.words and self._begins_no_name():
            self.drop_first()
        while len(self.words) > 1 and _ends_no_name(self.words[-1]):
            del self.words[-1]

    def drop_what_opens(self) -> None:
        """Leave out what only opens the sentence: "Visiting Rome", "Luckily Rome", "Visit Rome", "Saw Rome"."""
        if self.words and self._opens_with_manner():
            self.drop_first()
        if len(self.words) > 1 and (self.words[0] in _TOLD_OF or is_verb(self.words[0].lower(), base=True)):
            self.drop_first()

    def _begins_no_name(self) -> bool:
        first = self.words[0].lower()
        if first.strip(".'") not in NOT_NAMES and first not in CALENDAR_WORDS:
            return False
        if len(self.words) == 1:
            return True
        if self.words[0] == "The":
            return self.words[1].lower() in NOT_NAMES
        return self.opens or first not in _OPEN_NAMES

    def _opens_with_manner(self) -> bool:
        first = self.words[0]
        if first.endswith(("ly", "in'")):
            return True
        return len(self.words) > 1 and first.endswith("ing") and is_verb(first.lower())


def _ends_no_name(word: str) -> bool:
    return word.lower() in CALENDAR_WORDS or word == "I" or word.startswith("I'")


class _Candidate:
    """What is left of a run as a name, with what the text says before and after it."""

    __slots__ = ("asked_of", "before", "before_folded", "end", "folded", "name", "next_word", "opens", "says_what",
                 "start", "text", "words")  # fmt: skip

    def __init__(self, run: _Run, *, opens: bool) -> None:
        self.text, self.start, self.words, self.opens = run.text, run.start, run.words, opens
        self.name = " ".join(run.words).removesuffix("'s").rstrip("'-.")
        self.folded = self.name.lower()
        self.end = run.start + len(self.name)
        self.before = run.text[max(0, run.start - _BEFORE_CHARS) : run.start].rstrip()
        self.before_folded = self.before.lower()
        following = _NEXT_WORD.match(run.text, self.end)
        self.next_word = following.group(1) if following else ""
        """The word behind it, if that is written small; else empty."""
        told = _SAYS_WHAT_AFTER.match(run.text, self.end)
        self.says_what = told is not None and _AFTER_OF.search(self.before) is None
        """What it is follows: "X is a bistro"."""
        self.asked_of = _ASKED_OF.of(self.before_folded)
        """What it does is asked: "when did X leave?"."""

    def is_unsure(self) -> bool:
        """Whether its capital may only be that of the sentence, and what follows does not tell."""
        if not self.opens or len(self.words) > 1:
            return False
        return not self.says_what or self.name.endswith("ing") or is_verb(self.folded)

    def is_common(self) -> bool:
        """Whether it reads as a verb, an adverb or a plural."""
        if is_verb(self.folded) or self.name.endswith("ly"):
            return True
        if self.name.endswith("ing"):
            return not _moves(self.text, self.end)
        return self.name.endswith("s") and not self.name.endswith("ss")

    def mention(self) -> NameMention:
        """The name, with how the text brings it up."""
        text, start, name = self.text, self.start, self.name
        before, folded = self.before, self.before_folded
        presented = self.says_what or _PRESENTS.of(folded)
        goes_there = _PLACED.of(folded) and not text.startswith("'s ", self.end)
        placed = goes_there or _PLACE.search(name) is not None
        if before.endswith((" the", "The")) and not name.startswith("The "):
            start, name = max(0, start - _BEFORE_CHARS) + len(before) - 3, f"the {name}"
        titled = (start > 0 and text[start - 1] in "\"'") or _KIND_BEFORE.of(before)
        acts = not placed and (self.asked_of or (_acts(text, self.end) and not _is_beside(text, start)))
        leads, sure = self.opens or presented, not self.is_unsure()
        return NameMention(start, self.end, name, leads, presented, placed, acts, titled, sure)


def _is_beside(text: str, start: int) -> bool:
    """Whether what stands here is beside what is told: "after X left", "Y and X left"."""
    return _BESIDE_BEFORE.search(text[max(0, start - 24) : start].rstrip()) is not None


def _says_nothing(found: _Candidate) -> bool:
    """A letter, a function word, or days and months."""
    if len(found.name) < 2 or found.folded in NOT_NAMES:
        return True
    return all(word.lower().rstrip(".") in CALENDAR_WORDS for word in found.words)


def _is_street(found: _Candidate) -> bool:
    """Part of an address: "12 High", "High Street"."""
    numbered = _STREET_NUMBER.search(found.text, max(0, found.start - 8), found.start)
    return numbered is not None or _STREET.search(found.name) is not None


def _is_people(found: _Candidate) -> bool:
    """Words for peoples and languages: "Italian"."""
    return all(word == "of" or word.endswith(_PEOPLE) for word in found.words)


def _counts(found: _Candidate) -> bool:
    """A unit with its number: "Phase 2"."""
    return len(found.words) == 1 and _NUMBERED.match(found.text, found.end) is not None


def _only_opens(found: _Candidate) -> bool:
    """A word that has its capital from the sentence, for all that the text tells."""
    if not found.is_unsure():
        return False
    return len(found.name) < 4 or found.is_common() or not _acts_plainly(found.text, found.end)


def _is_written_small(found: _Candidate) -> bool:
    """A word that opens a sentence, and that the text writes without a capital elsewhere."""
    if not found.opens or len(found.words) > 1 or found.folded not in found.text:
        return False
    return _stands_alone(found.text, found.folded)


def _stands_alone(text: str, part: str) -> bool:
    """Whether a part of a text is found where no letter or digit touches it: as words of their own."""
    place = text.find(part)
    while place >= 0:
        end = place + len(part)
        opens = _is_of_word(text[max(0, place - 1) : place]) != _is_of_word(part[0])
        if opens and _is_of_word(text[end : end + 1]) != _is_of_word(part[-1]):
            return True
        place = text.find(part, place + 1)
    return False


def _is_of_word(sign: str) -> bool:
    return sign.isalnum() or sign == "_"


def _says_of_which_kind(found: _Candidate) -> bool:
    """What says more closely which thing the next word means: "Delta flights", "the Good Food market"."""
    word = found.next_word
    if not word or word in NOT_NAMES or word.endswith("ly"):
        return False
    if len(found.words) == 1:
        acts = word in _AUXILIARIES or word in _PAST or found.asked_of or is_verb(word)
        return not acts and not word.endswith("ed")
    determined = found.words[0] == "The" or _DETERMINED.search(found.before) is not None
    return determined and not _acts(found.text, found.end)


_NO_NAMES: tuple[Callable[[_Candidate], bool], ...] = (
    _says_nothing,
    _is_street,
    _is_people,
    _counts,
    _only_opens,
    _is_written_small,
    _says_of_which_kind,
)
"""What is no name although it has a capital."""


def _read_name(text: str, start: int, capitals: str) -> NameMention | None:
    """The name in words with capitals; None if there is none in them."""
    run = _Run(text, start, capitals.split(" "))
    run.drop_no_names()
    if run.opens:
        run.drop_what_opens()
    if not run.words or _LOCATED.of(run.before.lower()):
        return None
    # What is left after the word that opened the sentence does not open it itself.
    found = _Candidate(run, opens=run.opens and capitals.startswith(run.words[0]))
    for refuses in _NO_NAMES:
        if refuses(found):
            return None
    return found.mention()


def _acts(text: str, end: int) -> bool:
    """Whether the name that ends here is followed by what it does."""
    return _is_deed(_verb_after(text, end))


def _verb_after(text: str, end: int) -> str:
    """The word that may say what the name that ends here does; empty if there is none."""
    does = _DOES.match(text, end) if text.startswith((" ", ","), end) else None
    return "" if does is None else does["verb"]


def _is_deed(verb: str) -> bool:
    if verb in _AUXILIARIES or verb in _NOT_DOING or not verb:
        return verb in _AUXILIARIES
    return verb in _PAST or verb.endswith("ed") or (is_verb(verb) and not is_verb(verb, base=True))


def _acts_plainly(text: str, end: int) -> bool:
    """As `_acts`, where a thing would hardly do so: it "grew up", it "was born"."""
    return _BORN.match(text, end) is not None or _HAS.match(text, end) is not None or _moves(text, end)


def _moves(text: str, end: int) -> bool:
    """As `_acts`, by a verb of its own: "sued", not "was"."""
    verb = _verb_after(text, end)
    return verb not in _AUXILIARIES and _is_deed(verb)


def _typed_names(text: str) -> list[NameMention]:
    """Names without capitals."""
    if not (any(map(text.__contains__, _TYPED_SIGNS)) or _SAYS_WHAT_AFTER.search(text)):
        return []
    found = []
    for match in _TYPED_NAME.finditer(text):
        group = match.lastgroup or "subject"
        if _may_be_typed_name(match[group], called=group == "called"):
            found.append(NameMention(match.start(group), match.end(group), match[group], True, True, False))
    return found


def _may_be_typed_name(typed: str, *, called: bool) -> bool:
    """Whether words without capitals, where a name is looked for, are one; things may be `called` by a plural."""
    words = typed.lower().split()
    core = words[1:] if words[0] == "the" else words
    if not core or any(word in NOT_NAMES and word != "and" for word in core):
        return False
    if len(core) == 1 and not typed[0].islower():
        return False
    if core[0].endswith("ing") or is_verb(core[0], base=True):
        return False
    return not core[-1].endswith(("ly", "s") if called else "ly") and not RELATIONAL_NOUN.match(core[-1])


@text_cache(maxsize=16)
def last_unit(text: str) -> str:
    """The last numbered unit that the text names ("day 2", "phase 3", "issue 41"), folded; empty if none."""
    for number in reversed(list(_UNIT_NUMBER.finditer(text))):
        start = number.start()
        unit = _UNIT_BEFORE.search(text, max(0, start - _UNIT_CHARS), start)
        if unit is None:
            continue
        folded = unit[1].lower()
        acts = folded.endswith("s") and is_verb(folded)
        if folded not in FUNCTION_WORDS and folded not in CALENDAR_WORDS and not acts:
            return f"{folded} {number[0]}"
    return ""
