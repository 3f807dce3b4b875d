"""What people say to each other in other languages than English, whatever the subject: they greet, thank, part, refuse,
agree, want something, leave a subject and come back to one, and ask what something costs and when it is.

The phrases of 27 languages stand in `phrases_by_language.json`, as patterns of lower-case text. In other languages only
questions are told, by their mark.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from importlib.resources import files
from typing import NamedTuple

import orjson

from stitch.core.text_cache import text_cache
from stitch.text.forms import SentenceForm

_UNSPACED = frozenset(("ja", "th", "zh"))
"""Languages that write words without spaces."""
_SUFFIXED = frozenset(("hi", "ko"))
"""Languages in which more of a word may follow, or signs that are no letters."""
_READ_CHARS = 400
_QUESTION_MARKS = ("?", "？", "؟")
_ASKING_ENDS = {"el": (";",), "ja": ("か", "かな"), "ko": ("까",), "zh": ("吗",)}
"""How else questions end: with another mark, or with a particle and no mark."""
_ENDS = "\"')”’»」。 "
_MOSTLY = 0.8
"""An opening that is so much of a question is all of it: "gracias, ¿eh?"."""


_ASKS = (
    ("asks_time", ("time",)),
    ("asks_day", ("date", "day")),
    ("asks_when", ("date", "time", "day")),
    ("asks_price", ("price",)),
)


class ForeignPhrases(NamedTuple):
    """The phrases of a language, as patterns."""

    opening: re.Pattern[str]
    """What a sentence may open with; the group that matches is the name of its form."""
    wants: re.Pattern[str]
    leaves: re.Pattern[str]
    resumes: re.Pattern[str]
    no_subject: re.Pattern[str]
    """All but agreement, refusal and what is asked for: they name no subject."""
    asks: tuple[tuple[re.Pattern[str], tuple[str, ...]], ...]
    """Ways to ask for something, with the classes of values that answer."""


@lru_cache(maxsize=1)
def _by_language() -> Mapping[str, Mapping[str, str]]:
    text = files("stitch.text").joinpath("phrases_by_language.json").read_bytes()
    found: Mapping[str, Mapping[str, str]] = orjson.loads(text)
    return found


def languages() -> tuple[str, ...]:
    """The languages (ISO 639-1) of which phrases are known."""
    return tuple(_by_language())


@text_cache(maxsize=64)
def phrases_of(language: str) -> ForeignPhrases | None:
    """The phrases of a language; None where none are known."""
    said = _by_language().get(language)
    if said is None:
        return None
    before = "" if language in _UNSPACED else r"(?<!\w)"
    after = "" if language in _UNSPACED | _SUFFIXED else r"(?!\w)"

    def bounded(*names: str) -> str:
        return f"{before}(?:{'|'.join(said[name] for name in names)}){after}"

    opening = {
        SentenceForm.THANKS: "thanks",
        SentenceForm.FAREWELL: "parts",
        SentenceForm.GREETING: "greets",
        SentenceForm.REFUSAL: "refuses",
        SentenceForm.AGREEMENT: "agrees",
    }
    marks = f"{before}(?:{said['leaves']}|{said['resumes']})"
    return ForeignPhrases(
        opening=re.compile("|".join(f"(?P<{form.name}>{bounded(name)})" for form, name in opening.items())),
        wants=re.compile(bounded("wants")),
        leaves=re.compile(f"{before}(?:{said['leaves']})"),
        resumes=re.compile(f"{before}(?:{said['resumes']})"),
        no_subject=re.compile(f"{bounded('greets', 'thanks', 'parts', 'wants')}|{marks}"),
        asks=tuple((re.compile(f"{before}(?:{said[name]})"), classes) for name, classes in _ASKS),
    )


def courteous_words(language: str) -> Iterator[str]:
    """The words by which people greet and thank in a language, which lists of function words lack."""
    said = _by_language().get(language, {})
    for name in ("greets", "thanks"):
        for phrase in said.get(name, "").split("|"):
            if phrase.replace(" ", "").isalpha():
                yield from phrase.split()


def leaves(folded: str, language: str) -> bool:
    """Whether a text in lower case says that it leaves the subject."""
    known = phrases_of(language)
    return known is not None and known.leaves.search(folded, 0, _READ_CHARS) is not None


def resumes(folded: str, language: str) -> bool:
    """Whether a text in lower case says that it comes back to a subject."""
    known = phrases_of(language)
    return known is not None and known.resumes.search(folded, 0, _READ_CHARS) is not None


def foreign_form(folded: str, language: str) -> SentenceForm:
    """What kind of move a sentence in lower case is."""
    asks = folded.rstrip(_ENDS).endswith((*_QUESTION_MARKS, *_ASKING_ENDS.get(language, ())))
    known = phrases_of(language)
    if known is None:
        return SentenceForm.QUESTION if asks else SentenceForm.STATEMENT
    sentence = folded.strip().replace("’", "'")[:_READ_CHARS].lstrip("¡¿")
    if known.wants.search(sentence):
        return SentenceForm.REQUEST
    opening = known.opening.match(sentence)
    if opening is not None and not (asks and opening.end() < len(sentence) * _MOSTLY):
        return SentenceForm[opening.lastgroup or "STATEMENT"]
    return SentenceForm.QUESTION if asks else SentenceForm.STATEMENT


def asked_classes(folded: str, language: str) -> tuple[str, ...]:
    """The classes of values for which a question in lower case asks; see `foreign.mentions_in`."""
    known = phrases_of(language)
    ways = () if known is None else known.asks
    return tuple(dict.fromkeys(kind for way, kinds in ways if way.search(folded) for kind in kinds))


def without_phrases(folded: str, language: str) -> str:
    """A text in lower case without what names no subject: words of greeting, thanking, parting, wanting, and marks."""
    known = phrases_of(language)
    return folded if known is None else known.no_subject.sub(" ", folded)
