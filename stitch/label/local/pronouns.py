"""Which pronouns of a text stand for something named before.

More than 400 lines because the patterns of what speaks against it, which are data, stand beside what asks them.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

from stitch.label.local.antecedents import Antecedents, Referent
from stitch.text.names import RELATIONAL_NOUN, NameMention, last_unit, name_key
from stitch.text.phrases import noun_phrases
from stitch.text.values import ORGANIZATION_SUFFIX, PLACE_SUFFIX
from stitch.text.words import FUNCTION_WORDS, fold_case, is_verb, word_set

_MIN_CONFIDENCE = 0.51
_MAX_AGE_STEPS = 4
"""How long ago something that no heading names may have been spoken of."""
_MAX_UNNAMED_STEPS = 6
"""How long ago a thing that no heading names may have been named, however often pronouns stood for it since."""
_MAX_OBSERVED_CHARS = 300
_MAX_AGE_CENTRAL = 10
"""How long ago something that was told of again and again may have been spoken of."""

_KINDS = {
    **dict.fromkeys(("he", "she", "him", "her", "his", "hers"), "person"),
    **dict.fromkeys(("they", "them", "their", "theirs"), "group"),
    **dict.fromkeys(("it", "its"), "thing"),
}
_GENDER = {"he": "he", "him": "he", "his": "he", "she": "she", "her": "she", "hers": "she"}
_OTHER = {"he": "she", "she": "he"}
_OWNING = word_set("his hers their theirs its")
_PRONOUN = re.compile(r"\b(he|she|him|her|his|hers|they|them|their|theirs|it|its)\b(?!-?self|-?selves)")
_EMPTY_IT = re.compile(
    r"[Ii]t(?:'s| is| was| would be| will be| might be| may be|'d be)?(?: \w+ly| also| often| always| best| not| so)? "
    r"(?:worth|important|possible|impossible|necessary|recommended|essential|clear|true|hard|easy|difficult|likely|time|"
    r"raining|snowing|depends|turns out|takes|been|just)\b|"
    r"[Ii]t is(?=\s*[.,!])|[Ii]t (?:should|must|has to|needs to|ought to)\b|"
    r"[Ii]t (?:depends|rains|snows|says|matters|does(?:n't| not) matter|"
    r"(?:seems|appears|looks|sounds) (?:that|as|like (?:i|you|we|they|he|she|it|there)))\b|"
    r"[Ii]t(?:'s| is| was| would be|'d be) (?:(?:so |very |really |too |pretty |just |also )?\w+ |"
    r"an? (?:\w+ )?(?:idea|pleasure|shame|thing) )(?:to|that|if|when|how|of you|of him|of her)\b|"
    r"[Ii]t(?:'s| is| was|'ll be| will be) (?:[A-Z]|my\b|(?:the )?\d)|[Ii]t(?: will|'ll) take\b",
)
_IDIOM = re.compile(
    r"\b(?:appreciate|expect|get|got|hear|believe|mean|guess|keep|make|making|take|taking|pull|pulled|that's|that is|"
    r"think about|thought about|talk about) $",
    re.IGNORECASE,
)
_PERSON_NOUN = re.compile(
    r"\b(?:my|your|our|his|her|an?|the) (?:[a-z]+ )?(?:friend|brother|sister|mother|mom|mum|father|dad|son|daughter|"
    r"wife|husband|boss|aunt|uncle|cousin|grandmother|grandfather|grandma|grandpa|girlfriend|boyfriend|partner|neighbou?r|"
    r"colleague|teacher|doctor|guy|man|woman|girl|boy|kid|child|person)\b",
    re.IGNORECASE,
)
_PERSON_NAME = re.compile(
    r"(?!The )(?:(?:[A-Z]\.?|[A-Z][a-z\u00df-\u00ff'-]+[\w'-]*\.?|de|la|du|van|von|of)(?: |$)){1,5}"
)
_HAPPENINGS = word_set(
    """award awards bowl championship championships cup festival games league prize records series show tour war"""
)
_OPENS = re.compile(
    r"(?P<which>the|an?|one|this|that|these|those|my|our|your|his|her|their|another|every|each) (?P<noun>[a-z']+)",
    re.IGNORECASE,
)
_NEW_THING = re.compile(
    r"(?<!\bis )(?<!'s )(?<!\bwas )(?<!\bbe )(?<!\blike )(?<!\bas )"
    r"\b(?:an?|another|my|our|your|his|her) [a-z]",
    re.IGNORECASE,
)
_CONTRAST = re.compile(r", not [a-z]")
_ELSEWHEN = re.compile(r"\b(?:last|next) (?:time|night|week|month|year|summer|winter)\b|\bago\b", re.IGNORECASE)
_ASKED_ABOUT = re.compile(
    r"(?:^|[.?!] |\b(?:[Ww]hen|[Ww]here|[Hh]ow|[Ww]hy) )"
    r"(?:[Ii]s|[Ww]as|[Aa]re|[Ww]ere|[Dd]o|[Dd]oes|[Dd]id|[Ww]ill|[Hh]as|[Hh]ave|[Cc]an) "
    r"(?:the|my|your|our) (?P<noun>[a-z]{3,})\b[^?.]*\?"
)
"""What a question is about, where it is no name."""
_PLURALS = word_set(
    "people folks children kids men women guys everyone everybody somebody someone nobody anybody anyone"
)
_SENTENCE_END = re.compile(r"[.!?](?=\s|$)")
_TOLD = re.compile(
    r"(?<!\bis )(?<!'s )(?<!\bwas )(?<!\bbe )(?<!\blike )(?<!\bas )(?<!\bfor )(?<!\bwith )(?<!\bof )(?<!\bsuch )"
    r"(?<!\bsounds )\b(?:an?|my|our|another) (?:[\w'-]+ ){0,2}?(?P<noun>[a-z]{3,})(?=[ ,.!?;]|$)"
)
_INDEFINITE = re.compile(r"\ban? [^.!?]*[.!?]", re.IGNORECASE)
_DETERMINER = re.compile(
    r"(?<!\bis )(?<!'s )(?<!\bwas )(?<!\bbe )(?<!\blike )(?<!\bas )"
    r"\b(?:an?|my|our|your|the|this|that|some|another|every|each) (?:[\w'-]+ )*$",
    re.IGNORECASE,
)


class Stood(NamedTuple):
    """A pronoun and what it stands for."""

    start: int
    end: int
    replacement: str
    kind: str
    """`person`, `thing`, `group`."""
    referent: Referent
    confidence: float
    gender: str = ""
    """`he` or `she`; empty for other pronouns."""


def resolve_pronouns(
    text: str,
    known: Antecedents,
    *,
    until: int,
    skip: Sequence[tuple[int, int]],
    speakers: Collection[str],
    before: str,
) -> Iterator[Stood]:
    """Yield the pronouns that clearly stand for something named in an earlier step; the first of each kind only.

    Args:
        text: What was said, as `straighten_quotes` reads it.
        known: What was named before.
        until: Where the first name of the text begins; behind it, the antecedent most likely stands in the text itself.
        skip: Spans that something else replaces.
        speakers: The roles seen so far; a thing never has the name of a speaker.
        before: The step before.
    """
    done: set[str] = set()
    resolved: set[str] = set()
    for pronoun in _pronouns(text, until):
        kind, gender = pronoun.kind, pronoun.gender
        again = kind in done
        if again and (kind == "person" or kind in resolved):
            return
        if (again and not (pronoun.is_capital and known.is_placelike())) or _is_left(text, pronoun, skip):
            continue
        if not pronoun.blanked:
            done.add(kind)
        if text[pronoun.end : pronoun.end + 3] in ("'re", "'ve"):
            continue
        best = choose(known.rank(), known, kind=kind, speakers=speakers, gender=gender)
        if best is None:
            known.unbound.setdefault(gender, known.clock)
            if not known.rank():
                return
        elif _clearly_stands(text, pronoun, *best, known, before):
            done.add(kind)
            resolved.add(kind)
            yield _stood(text, pronoun, *best)


class _Pronoun(NamedTuple):
    word: str
    start: int
    end: int
    is_capital: bool
    blanked: bool
    """Whether a name was blanked out: "It" has a capital inside the sentence, is not empty, and nothing competes."""

    @property
    def kind(self) -> str:
        return _KINDS[self.word]

    @property
    def gender(self) -> str:
        return _GENDER.get(self.word, "")


def _pronouns(text: str, until: int) -> Iterator[_Pronoun]:
    """The pronouns that begin at most at a place."""
    longer = until + 16  # than a pronoun with what may not stand behind it
    for match in _PRONOUN.finditer(fold_case(text), 0, longer):
        start, end = match.span()
        if start > until:
            return
        is_capital = text[start].isupper()
        blanked = is_capital and re.search(r"[\w,] $", text[:start]) is not None
        yield _Pronoun(match.group(), start, end, is_capital, blanked)


def _clearly_stands(
    text: str, pronoun: _Pronoun, referent: Referent, confidence: float, known: Antecedents, before: str
) -> bool:
    """Whether a pronoun stands for the one that fits it best."""
    if confidence < _MIN_CONFIDENCE:
        return False
    return pronoun.blanked or _free(text[: pronoun.start], pronoun.kind, referent, known, before)


def _stood(text: str, pronoun: _Pronoun, referent: Referent, confidence: float) -> Stood:
    start, end = pronoun.start, pronoun.end
    name = referent.name[0].upper() + referent.name[1:] if pronoun.is_capital else referent.name
    owns = pronoun.word in _OWNING or (pronoun.word == "her" and _owns(text, end))
    ending = "'s" if owns and not referent.name.endswith("'s") else ""
    return Stood(start, end, name + ending, pronoun.kind, referent, round(confidence, 3), pronoun.gender)


def observe(text: str, spoken: Sequence[tuple[NameMention, Referent]], *, asked: str) -> None:
    """Take in which pronouns stand for a name inside a text, and whom an answer names that the question did not.

    Args:
        text: What was said, as `straighten_quotes` reads it.
        spoken: The names in it, in order.
        asked: The question that it answers, if any, with its pronouns replaced as far as they could be.
    """
    names = [(mention, referent) for mention, referent in spoken if not mention.placed and not mention.titled]
    if not names:
        return
    first, named = names[0]
    if first.acts or (first.start == 0 and text.startswith("'s ", first.end)):
        open_ones = {match.group() for match in _PRONOUN.finditer(fold_case(asked))}
        for word in sorted(open_ones & _GENDER.keys()):
            _count(named, word)
            named.acted += not first.acts
    if first.acts and (word := _of_one(text, names, first.end)):
        _count(named, word)


def _of_one(text: str, names: Sequence[tuple[NameMention, Referent]], start: int) -> str:
    """The first pronoun of a person behind a name, if before it nobody else acts; else empty."""
    for match in _PRONOUN.finditer(fold_case(text), start, start + _MAX_OBSERVED_CHARS):
        if len({id(referent) for mention, referent in names if mention.acts and mention.start < match.start()}) > 1:
            return ""
        if match.group() in _GENDER or match.group() == "their":
            return match.group()
    return ""


def _count(referent: Referent, word: str) -> None:
    for kind in filter(None, (_KINDS[word], _GENDER.get(word))):
        referent.stands[kind] = referent.stands.get(kind, 0) + 1


def choose(
    ranked: Sequence[tuple[float, Referent]],
    known: Antecedents,
    *,
    kind: str,
    speakers: Collection[str],
    gender: str = "",
) -> tuple[Referent, float] | None:
    """The strongest referent that the pronoun may stand for, with how clearly it stands out."""
    fitting: list[tuple[float, Referent]] = []
    for strength, referent in ranked:
        if strength <= 0 or (not referent.heading and _is_passed(referent, known, kind, gender)):
            continue
        if name_key(referent.name) in speakers or not _may_be(referent, kind, known):
            continue
        if not fitting and not _is_sure(referent, kind):
            return None
        fitting.append((strength, referent))
    if not fitting:
        return None
    strength, best = fitting[0]
    if kind != "person" and not best.heading and _rivaled(best, ranked, known, kind):
        return None
    rest = fitting[1][0] if len(fitting) > 1 else 0.0
    return best, strength / (strength + rest)


def _is_passed(referent: Referent, known: Antecedents, kind: str, gender: str) -> bool:
    """Whether it was spoken of too long ago, or is somebody for whom other pronouns stand."""
    age, stands = known.clock - referent.last, referent.stands
    if age > _MAX_AGE_STEPS and (age > _MAX_AGE_CENTRAL or referent.acted + stands.get("person", 0) < 2):
        return True
    if kind != "person":
        # Each pronoun keeps a thing in mind: one that was read wrongly would draw the next ones after it.
        return known.clock - referent.named > _MAX_UNNAMED_STEPS or referent.last < known.turned
    if not gender:
        return False
    late = referent.since > known.unbound.get(gender, known.clock)
    return bool(stands.get(_OTHER[gender])) or (late and referent.acted + stands.get(gender, 0) < 2)


def _rivaled(best: Referent, ranked: Sequence[tuple[float, Referent]], known: Antecedents, kind: str) -> bool:
    """Whether `it` or `they` may as well stand for something else: the topic, two things, or people."""
    topic = known.current()
    if known.pair():
        return True
    if topic is not None and topic is not best and topic.last >= best.last and (kind == "thing" or known.called(topic)):
        return True
    others = (other for _, other in ranked if other.last == best.last and other is not best)
    return kind == "group" and any(other.acted and not other.placed for other in others)


def _may_be(referent: Referent, kind: str, known: Antecedents) -> bool:
    """Whether nothing speaks against the pronoun standing for it."""
    if referent.heading:
        return kind != "thing" or not referent.stands.get("person")
    if kind == "person":
        return _is_person(referent) and _PERSON_NAME.fullmatch(referent.name) is not None
    if kind == "group":
        if referent is known.current() and known.is_placelike():
            return True
        if referent.titled or not (referent.acted or referent.proposed or referent.stands.get("group")):
            return False
    return not (referent.stands.get("person") or (referent.placed and not referent.presented))


def _is_person(referent: Referent) -> bool:
    """Whether it did something or a person's pronoun stood for it, and its name is not that of a place or a company."""
    if referent.placed or referent.titled or referent.stands.get("thing"):
        return False
    last = referent.name.rsplit(" ", 1)[-1].lower()
    known = referent.stands.get("person") or referent.acted > (0 if referent.sure else 1)
    return bool(known) and last not in PLACE_SUFFIX and last not in ORGANIZATION_SUFFIX and last not in _HAPPENINGS


def _is_sure(referent: Referent, kind: str) -> bool:
    """Whether something speaks for it: a thing must have been put forward, a person need only be named."""
    if kind == "person" or referent.heading or referent.presented or referent.stands:
        return True
    return kind == "group" and (referent.name.endswith("s") or referent.name.startswith("The "))


def _is_left(text: str, pronoun: _Pronoun, skip: Sequence[tuple[int, int]]) -> bool:
    """Whether something else replaces a pronoun, or it is an "it" that stands for nothing."""
    start = pronoun.start
    if any(begin <= start < end for begin, end in skip):
        return True
    if pronoun.word != "it" or pronoun.blanked:
        return False
    return _EMPTY_IT.match(text, start) is not None or _IDIOM.search(text[max(0, start - 20) : start]) is not None


def _free(ahead: str, kind: str, referent: Referent, known: Antecedents, before: str) -> bool:
    """Whether nothing nearer competes: what stands `ahead` of a pronoun in its step, and in the step before."""
    if kind == "person":
        return _is_only_person(ahead, referent, before)
    if not referent.heading and _speaks_of_another(ahead, kind):
        return False
    own, last = _last_sentences(ahead)
    placelike = referent is known.current() and known.is_placelike()
    if not _is_safe(referent, known, kind) and _goes_on(before, last, referent, placelike=placelike):
        return False
    if not referent.heading and _asks_otherwise(ahead, kind, referent, known, before):
        return False
    if not placelike:
        return not _competes(ahead, kind)
    leaves = _ELSEWHEN.search(own) or _opens(last) or (kind == "thing" and _NEW_THING.search(last))
    return not leaves and not _competes(own, kind)


def _speaks_of_another(ahead: str, kind: str) -> bool:
    """Whether a unit is named before "it", or something is set against something else before "they"."""
    return bool(last_unit(ahead) if kind == "thing" else _CONTRAST.search(ahead))


def _is_safe(referent: Referent, known: Antecedents, kind: str) -> bool:
    """Whether what the step before went on to says nothing against it."""
    return kind != "thing" or referent.heading or (referent.proposed and known.clock - referent.last < 4)


def _goes_on(before: str, last: str, referent: Referent, *, placelike: bool) -> bool:
    """Whether the step before went on to something else than what is spoken of."""
    if not placelike:
        return _outdone(referent.name, before, near=bool(referent.stands.get("thing")))
    return last == "" and any(map(_is_told, _TOLD.finditer(_last_sentences(f"{before} ")[1] or before)))


def _is_only_person(ahead: str, referent: Referent, before: str) -> bool:
    """Whether nobody else is told of before a pronoun of a person."""
    if not referent.heading and _INDEFINITE.search(ahead):
        return False
    return _PERSON_NOUN.search(ahead) is None and (referent.heading or _PERSON_NOUN.search(before) is None)


def _asks_otherwise(ahead: str, kind: str, referent: Referent, known: Antecedents, before: str) -> bool:
    """Whether the step before asked about something else, or several things are told before a pronoun of a group."""
    asked = _ASKED_ABOUT.search(before)
    if asked is not None and not RELATIONAL_NOUN.match(asked["noun"]) and asked["noun"] not in known.called(referent):
        return True
    return kind == "group" and not _PLURALS.isdisjoint(ahead.lower().replace(",", " ").split())


def _competes(ahead: str, kind: str) -> bool:
    """Whether a noun phrase before a pronoun may be what it stands for."""
    for phrase in noun_phrases(ahead):
        if RELATIONAL_NOUN.match(phrase.head):
            continue
        if kind == "group" and phrase.head.endswith("s"):
            return True
        if kind == "thing" and _DETERMINER.search(ahead[: phrase.start]):
            return True
    return False


def _opens(sentence: str) -> bool:
    """Whether a sentence opens with a thing of its own: the next one most likely goes on about that."""
    match = _OPENS.match(sentence)
    if match is None or match["noun"] in FUNCTION_WORDS or is_verb(match["noun"]):
        return False
    return not (match["which"].lower() in ("this", "that") and match["noun"].endswith("s"))  # "that sounds good"


def _last_sentences(ahead: str) -> tuple[str, str]:
    """The sentence that the text breaks off in, and the one before it."""
    ends = [match.end() for match in _SENTENCE_END.finditer(ahead)]
    if not ends:
        return ahead, ""
    return ahead[ends[-1] :], ahead[ends[-2] if len(ends) > 1 else 0 : ends[-1]].strip()


def _outdone(name: str, before: str, *, near: bool) -> bool:
    """Whether the step before went on to something else after it named the thing, or did not name it."""
    place = before.lower().rfind(name.lower())
    end = _SENTENCE_END.search(before, place + len(name)) if place >= 0 else None
    if place >= 0 and end is None:
        return False
    if place < 0 and not near:
        return True
    return any(map(_is_told, _TOLD.finditer(before, end.end() if end is not None else 0)))


def _is_told(match: re.Match[str]) -> bool:
    return RELATIONAL_NOUN.match(match["noun"]) is None


def _owns(text: str, end: int) -> bool:
    """Whether the pronoun that ends here stands before the thing it owns ("her album", not "with her in")."""
    following = re.match(r" ([A-Za-z][\w'-]*)", text[end : end + 40])
    return following is not None and following.group(1).lower() not in FUNCTION_WORDS
