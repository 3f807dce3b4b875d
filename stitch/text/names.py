"""Names in a text, with how the text brings them up, and numbered units ("day 2")."""

from __future__ import annotations

import re
from typing import NamedTuple

from stitch.core.text_cache import text_cache
from stitch.text.dates import CALENDAR_WORDS
from stitch.text.words import FUNCTION_WORDS, MAX_READ_CHARS, is_verb, word_set

MAX_NAMES = 24
"""How many names of one step are read."""
_MAX_TYPED_CHARS = 400

NOT_NAMES = FUNCTION_WORDS | word_set(
    """absolutely additionally bummer certainly else ever finally free great however indeed instead likewise meanwhile
    moreover overall possibly soon today together tomorrow unfortunately yesterday two three four five six seven eight
    nine ten wait cause uh um wow ugh aw aww woah whoa congrats lol"""
)
"""Function words and the words that open sentences with a capital: never a name by themselves."""
_OPEN_NAMES = word_set(
    "first last good great nice cool perfect fine never always once forever every all just still one two three"
)
"""Words of `NOT_NAMES` with which a name may begin in the middle of a sentence ("play Good Years")."""
_AUXILIARIES = word_set("is was has had does did will would can could may might should")
_STRAIGHT = str.maketrans("\u2018\u2019\u201c\u201d", "''\"\"")

_CAPITAL = r"[A-Z\u00c0-\u00de][\w&'-]*"
_JOIN = r"(?<=\b[A-Z])\. ?|(?<=Mr|Ms|Dr|St)\. |(?<=Mrs)\. | of the | of | de la | de | la | du | van | von | & | "
_NAME = re.compile(rf"(?<![\w-]){_CAPITAL}(?:(?:{_JOIN}){_CAPITAL})*")
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
_PRESENTS = re.compile(
    r"(?:\b(?:called|named|recommend|suggest|try|trying|visit|visiting|consider|considering|found|read|reading|watch|"
    r"watching|saw|play|playing|use|using|bought|got|booked|chose|pick|how about|what about|about)|"
    r"\b(?:idea|option|choice|place|one|it|there)(?: \w+ \w+)? (?:is|could be|would be|might be|is at)|there's|"
    r"\bat|\bacross)(?: the| a)?$",
    re.IGNORECASE,
)
_PLACED = re.compile(r"\b(?:in|into|to|from|near|towards?|through|around|outside)(?: the)?$", re.IGNORECASE)
_PLACE = re.compile(
    r"\b(?:Airport|Station|Terminal|City|County|Island|Lake|River|Mountain|Square|Plaza|Bridge|Harbou?r)$"
)
_LOCATED = re.compile(r"(?:located|situated|address is|they are|live[sd]?)(?: (?:at|on|in))?(?: the)?$", re.IGNORECASE)
_STREET = re.compile(r"\b(?:Road|Street|Avenue|Lane|Drive|Boulevard|Rd|St|Ave)\b")
_STREET_NUMBER = re.compile(r"\d[a-zA-Z]? $")
_PEOPLE = re.compile(r"(?:ese|nish|lish|wish|tish|rish|kish|dish|[lrsdnb]ian|ean|ican|Thai|Greek|French|Dutch)$")
_NUMBERED = re.compile(r" #?\d")
_NEXT_WORD = re.compile(r" ([a-z][\w']*)")

_DOES = re.compile(
    r"(?: \([^()]{1,40}\))?,?(?: who| which)?(?: (?:also|then|later|first|soon|always|often|again|once|still|just|"
    r"has|had|have|[a-z]+ly))* (?P<verb>[a-z]+)\b(?! by\b)"
)
_ASKED_OF = re.compile(
    r"\b(?:did|does|do)(?:n't)?(?: the)?$|(?:^|[.?!] |\b(?:who|what|where|when|why|how|which)\b[^.?!,]{0,24} )"
    r"(?:was|is|were|are|has|had|have|can|could|will|would|should)(?: the)?$",
    re.IGNORECASE,
)
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
_KIND_BEFORE = re.compile(r"\b(?:titled|entitled|album|song|single|film|movie|book|novel|series|show|game|play)$")
_NOT_DOING = word_set("located situated based called named titled entitled dated related titled need red bed shed")

_UNIT = re.compile(r"\b([A-Za-z]{3,12}) ?#? ?(\d{1,4})\b(?![.,:]\d|[%/]| out of\b)")
_DIGIT = re.compile(r"\d")

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


def _read_name(text: str, start: int, words_found: str) -> NameMention | None:
    words = words_found.split(" ")
    before = text[max(0, start - 40) : start].rstrip()
    opens = not before or before[-1] in '.!?:;"*-' or text[start - 1] == "\n"
    while words and (words[0].lower().strip(".'") in NOT_NAMES or words[0].lower() in CALENDAR_WORDS):
        if words[0] == "The" and len(words) > 1 and words[1].lower() not in NOT_NAMES:
            break
        if not opens and len(words) > 1 and words[0].lower() in _OPEN_NAMES:
            break
        start += len(words[0]) + 1
        words = words[1:]
    while len(words) > 1 and (words[-1].lower() in CALENDAR_WORDS or words[-1] == "I" or words[-1].startswith("I'")):
        words = words[:-1]
    doing = len(words) > 1 and words[0].endswith("ing") and is_verb(words[0].lower())
    if opens and words and (doing or words[0].endswith(("ly", "in'"))):
        start += len(words[0]) + 1
        words = words[1:]
    if opens and len(words) > 1 and is_verb(words[0].lower(), base=True):
        start += len(words[0]) + 1
        words = words[1:]
    # What is left after the word that opened the sentence does not open it itself.
    opens = opens and words_found.startswith(words[0]) if words else False
    name = " ".join(words).removesuffix("'s").rstrip("'-.")
    end = start + len(name)
    if len(name) < 2 or name.lower() in NOT_NAMES or all(word.lower().rstrip(".") in CALENDAR_WORDS for word in words):
        return None
    if _STREET_NUMBER.search(text, max(0, start - 8), start) or _STREET.search(name) or _LOCATED.search(before):
        return None
    if all(word == "of" or _PEOPLE.search(word) for word in words):
        return None
    before = text[max(0, start - 40) : start].rstrip()
    following = _NEXT_WORD.match(text, end)
    next_word = following.group(1) if following else ""
    says_what = _SAYS_WHAT_AFTER.match(text, end) is not None and _AFTER_OF.search(before) is None
    sure = True
    asked_of = _ASKED_OF.search(before) is not None
    if len(words) == 1:
        acts = next_word in _AUXILIARIES or next_word in _PAST or is_verb(next_word)
        if _NUMBERED.match(text, end):
            return None
        if opens and (not says_what or name.endswith("ing") or is_verb(name.lower())):
            ending = name.endswith("ly") or (name.endswith("ing") and (is_verb(name.lower()) or not _moves(text, end)))
            common = ending or (name.endswith("s") and not name.endswith("ss"))
            if len(name) < 4 or common or is_verb(name.lower()) or not _acts_plainly(text, end):
                return None
            sure = False
        if opens and re.search(rf"\b{re.escape(name.lower())}\b", text):
            return None
        acts = acts or asked_of
        if next_word and not acts and next_word not in NOT_NAMES and not next_word.endswith(("ed", "ly")):
            return None
    presented = says_what or _PRESENTS.search(before) is not None
    placed = (_PLACED.search(before) is not None and not text.startswith("'s ", end)) or _PLACE.search(name) is not None
    modifies = len(words) > 1 and (words[0] == "The" or _DETERMINED.search(before) is not None)
    if modifies and next_word and next_word not in NOT_NAMES and not _acts(text, end) and not next_word.endswith("ly"):
        return None
    if before.endswith((" the", "The")) and not name.startswith("The "):
        start, name = start - 4, f"the {name}"
    titled = (start > 0 and text[start - 1] in "\"'") or _KIND_BEFORE.search(before) is not None
    acts = not placed and (
        asked_of or (_acts(text, end) and not _BESIDE_BEFORE.search(text[max(0, start - 24) : start].rstrip()))
    )
    return NameMention(start, end, name, opens or presented, presented, placed, acts, titled, sure)


def _acts(text: str, end: int) -> bool:
    """Whether the name that ends here is followed by what it does."""
    does = _DOES.match(text, end)
    if does is None:
        return False
    verb = does["verb"]
    if verb in _AUXILIARIES:
        return True
    if verb in _NOT_DOING:
        return False
    return verb in _PAST or verb.endswith("ed") or (is_verb(verb) and not is_verb(verb, base=True))


def _acts_plainly(text: str, end: int) -> bool:
    """As `_acts`, where a thing would hardly do so: it "grew up", it "was born"."""
    return _BORN.match(text, end) is not None or _HAS.match(text, end) is not None or _moves(text, end)


def _moves(text: str, end: int) -> bool:
    """As `_acts`, by a verb of its own: "sued", not "was"."""
    does = _DOES.match(text, end)
    return does is not None and does["verb"] not in _AUXILIARIES and _acts(text, end)


def _typed_names(text: str) -> list[NameMention]:
    """Names without capitals."""
    found = []
    for match in _TYPED_NAME.finditer(text):
        group = match.lastgroup or "subject"
        words = match[group].lower().split()
        core = words[1:] if words[0] == "the" else words
        if not core or any(word in NOT_NAMES and word != "and" for word in core) or core[-1].endswith("ly"):
            continue
        common = len(core) == 1 and not match[group][0].islower()
        common = common or core[0].endswith("ing") or is_verb(core[0], base=True)
        if common or RELATIONAL_NOUN.match(core[-1]) or (group == "called" and core[-1].endswith("s")):
            continue
        found.append(NameMention(match.start(group), match.end(group), match[group], True, True, False))
    return found


def last_unit(text: str) -> str:
    """The last numbered unit that the text names ("day 2", "phase 3", "issue 41"), folded; empty if none."""
    found = ""
    if _DIGIT.search(text) is None:
        return found
    for word, number in _UNIT.findall(text):
        folded = word.lower()
        acts = folded.endswith("s") and is_verb(folded)
        if folded not in FUNCTION_WORDS and folded not in CALENDAR_WORDS and not acts:
            found = f"{folded} {number}"
    return found
