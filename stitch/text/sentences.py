"""Sentences: where they begin and end, and the kind of move of each by its form: a question, a request, a greeting."""

from __future__ import annotations

import re
from enum import Enum

from stitch.core.text_cache import text_cache
from stitch.text.words import FUNCTION_WORDS, is_verb, table_lines

_SENTENCE_END = re.compile(r"[.!?\n](?:(?<=\n)\n*|(?<!\n)[\"')\]]*\s+(?=[^\s]))")
"""Begins with the last sign of a sentence: a set of signs is found far quicker than a place behind one."""
_END_IN_ANY_SCRIPT = re.compile(
    r"[.!?؟।。！？\n](?:(?<=\n)\n*|(?<=[.!?؟।])[\"')\]”’»]*\s+(?=[^\s])"
    r"|(?<=[。！？])[」』”’）]*\s*(?=[^\s」』”’）。！？]))"
)
_ABBREVIATIONS = (
    "mr|mrs|ms|dr|st|no|vs|etc|e\\.g|i\\.e|al|fig|eq|approx|dept|inc|ltd|jr|sr|sra|ave|blvd|rd|mt|tel"
    "|nr|bzw|ca|ggf|vgl|evtl|inkl|zzgl|núm"
)
_ABBREVIATION = re.compile(rf"(?:\b(?:{_ABBREVIATIONS})|\b[A-Z]|str)\.$", re.IGNORECASE)
"""Streets are written in one word with their names: "Lindenstr."."""
_ABBREVIATION_CHARS = 8
"""No abbreviation is longer, with the period behind it."""


def sentence_spans(text: str) -> list[tuple[int, int]]:
    """The spans of the sentences of a text, in characters; line breaks end sentences, abbreviations do not."""
    spans: list[tuple[int, int]] = []
    start = 0
    for end in (_SENTENCE_END if text.isascii() else _END_IN_ANY_SCRIPT).finditer(text):
        last = end.start() + (text[end.start()] != "\n")
        ends_line = "\n" in end.group()
        if not ends_line and _ABBREVIATION.search(text, max(start, last - _ABBREVIATION_CHARS), last):
            continue
        if text[start:last].strip():
            spans.append((start, last))
        start = end.end()
    if text[start:].strip():
        spans.append((start, len(text)))
    return spans


def sentences(text: str) -> list[str]:
    """The sentences of a text, without outer blanks."""
    return [text[start:end].strip() for start, end in sentence_spans(text)]


class SentenceForm(str, Enum):
    """Kind of move of a sentence, by its form alone."""

    QUESTION = "question"
    REQUEST = "request"
    """An imperative, "let's ...", "I want ...", "can you ..."."""
    GREETING = "greeting"
    FAREWELL = "farewell"
    THANKS = "thanks"
    AGREEMENT = "agreement"
    REFUSAL = "refusal"
    APOLOGY = "apology"
    STATEMENT = "statement"

    __hash__ = str.__hash__  # that of an enumeration is Python code


_OPENINGS = (line.split("\t") for line in table_lines("openings.tsv"))
_OPENING = re.compile("|".join(f"(?P<{form}>{pattern})" for form, pattern in _OPENINGS), re.IGNORECASE)
_QUESTION_WORDS = (
    r"(?:what|which|who|whom|whose|where|when|why|how)\b|(?:what|who|where|when|how)'s\b"
    r"|(?:do|does|did|is|are|am|was|were|will|would|can|could|should|shall|may|might|have|has|had|isn't|aren't|don't"
    r"|doesn't|didn't|won't|can't|couldn't|wouldn't|any(?:one|body)) (?:you|i|we|they|he|she|it|there|that|this|the|any"
    r"|some|my|your|our|else|here|know|knows|got|have)\b"
)
_LEADS = "and|so|but|well|ok|okay|also|then|now|hi|hey|hello|btw"
_QUESTION = re.compile(rf"(?:(?:{_LEADS}|[\w'-]+ ?[:,]) ?)*(?:{_QUESTION_WORDS})", re.IGNORECASE)
_REQUEST = re.compile(
    rf"(?:(?:{_LEADS}|yes|yeah|sure|great|first|next|actually|alright)[,.!]* )*"
    r"(?:please\b|let'?s\b|let us\b|(?:can|could|would|will|can't) (?:you|we) (?:please |also |maybe )?"
    r"(?!(?:do you|tell you|like|want|prefer|be)\b)[a-z]+"
    r"|i(?:'d| would| really| also| just)* (?:like|love|want|need|wish|prefer)\b"
    r"|(?:i'm|i am) (?:looking|trying|hoping|planning|going|thinking|interested|searching)"
    r"|we (?:need|want|should)\b|we'(?:d|re) (?:like|looking|going)|(?P<verb>[a-z]+)\b)",
    re.IGNORECASE,
)


@text_cache(maxsize=4_096)
def sentence_form(sentence: str) -> SentenceForm:
    """The kind of move of a sentence.

    A sentence with a question mark is a question unless it asks somebody to do something; after an opening such as
    "Yes," the opening decides.
    """
    sentence = sentence.strip().replace("’", "'")
    ends_asking = sentence.rstrip("\"')”’ ").endswith("?")
    opening = _OPENING.match(sentence)
    if opening and not (ends_asking and opening.end() < len(sentence) * 0.8):
        return SentenceForm(opening.lastgroup)
    request = _REQUEST.match(sentence)
    verb = request["verb"].lower() if request and request["verb"] else None
    if verb and (verb in FUNCTION_WORDS or not is_verb(verb, base=True)):
        request = None
    if request and not (ends_asking and verb):
        return SentenceForm.REQUEST
    if ends_asking or _QUESTION.match(sentence):
        return SentenceForm.QUESTION
    return SentenceForm.STATEMENT


def form_by_mark(sentence: str) -> SentenceForm:
    """A question where a sentence in whatever language ends with a mark of one, else a statement."""
    asks = sentence.rstrip("\"')”’»」。 ").endswith(("?", "？", "؟"))
    return SentenceForm.QUESTION if asks else SentenceForm.STATEMENT
