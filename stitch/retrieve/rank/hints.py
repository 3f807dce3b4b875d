"""What a question says of who spoke, when, and in which order. No label stands for these: they decide inside a tier.

A leaning adds a small amount to the similarity of the hits that it speaks for. Density stays first, and a hit whose
words are much nearer to the question stays before one that merely fits the date.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from stitch.core import MemorySnippet, ScoredSnippet, SearchRequest
from stitch.core.ranking import ranking_key
from stitch.text.language import content_stems
from stitch.text.periods import Span, day_of, spans_of
from stitch.text.words import stem, words

POOL = 400
"""Among so many of the best hits those are looked for that a leaning speaks for."""

_TIME = 0.1
_SPEAKER = 0.06
_ORDER = 0.03
"""What fits the time, the speaker, or stands last (or first) of all counts beside a similarity between 0 and 1."""
_DECISION = 0.4
"""What the last (or first) decision on the matter counts; an earlier one, the half."""
_ON_THE_MATTER = 0.75
"""A decision that says less than this share of what the best one says of the matter is about another one."""

_LAST = re.compile(
    r"\b(?:in the end|finally|final|finished|eventually|ultimately|latest|most recent(?:ly)?|after all changes|last"
    r"|settled? on|end(?:ed|ing)? up)\b",
    re.IGNORECASE,
)
_FIRST = re.compile(
    r"\b(?:first|initially|initial|originally|original|earliest|to begin with)\b"
    r"(?! (?:name|class|aid|hand|lady|floor)\b)",
    re.IGNORECASE,
)
_EVERY = re.compile(
    r"\b(?:at (?:any|some|one) (?:time|point|stage)|(?:final\w* )?or not|intermediate"
    r"|(?:all|every) (?:decision|choice)s?|(?:revised|earlier|previous|replaced) (?:\w+ )?included)\b",
    re.IGNORECASE,
)
"""Ways to ask for the earlier ones too."""
_ASKS_FOR_DECISION = re.compile(
    r"\b(?:settled? on|end(?:ed)? up(?! (?!choos|pick|decid|tak|book|go)\w+ing)"
    r"|decid(?:e|es|ed|ing)|decisions?|cho(?:ose|oses|osing|se|sen|ices?)"
    r"|picked|selected|selection|agreed|go with (?:in the end|finally|at last)|went (?:with|for)|booked|final plan)\b",
    re.IGNORECASE,
)
_DECIDES = re.compile(
    r"\b(?:(?:i|we)(?:'ll| will| shall)? (?:take|choose|chose|pick|picked|decided?|settle on|book|(?:go|went) with)"
    r"|(?:i|we)(?:'ve| have) (?:decided|chosen|settled|picked)"
    r"|(?:let's|let us) (?:settle on|go with|take|choose|do|book)"
    r"|(?:my|our|the) (?:(?:final|new|last) )?(?:choice|decision|pick) (?:is|will be)"
    r"|(?:change|changed|changing) (?:my|our) minds?"
    r"|instead of|(?:is|it's) (?:settled|decided)|(?:revise|replace|cross out|forget|undo|drop)\b[^.?!]{0,60}"
    r"\b(?:decision|choice|pick(?:ed)?|booking|one|chosen|before))\b",
    re.IGNORECASE,
)
"""How a decision, or its revision, is put by whoever makes it."""
_OF_DECIDING = frozenset(
    content_stems("settle settled end ended decide decided decision choose chose chosen choice pick final last")
)
"""What every decision may say, whatever the matter."""
_READ_CHARS = 1_000
_ACTS = frozenset(("decide", "accept", "accept offer", "affirm", "confirm", "book"))
"""Acts by which something is settled."""
_PART = re.compile(r"[^\W_]+")
_AGENT = (
    r"(?:\b(?:did|does|do|has|have|had|was|were|could|would|should|by|from)|^)"
    r" (?:the |our |my |your )?{who}\b(?!'s\b)"
)
_AGAINST = r"\b(?:against|opposing|attacks? on|objections? to) (?:[\w']+ ){{0,5}}?(?:the |our |my |your )?{who}\b"


@dataclass(frozen=True)
class Leanings:
    """What a question says beside its subject matter."""

    text: str
    """Its words in lower case, one blank between them."""
    spans: tuple[Span, ...]
    order: int
    """1 if it asks for the last of something, -1 for the first, 0 for neither."""
    decision: bool
    """Whether that is a decision."""

    def __bool__(self) -> bool:
        return bool(self.spans or self.order)


def read_leanings(request: SearchRequest) -> Leanings:
    """Take from a question what it says of time and order."""
    last, first = _LAST.search(request.query), _FIRST.search(request.query)
    order = 0 if _EVERY.search(request.query) else bool(last) - bool(first)
    return Leanings(
        text=" ".join(words(request.query)),
        spans=tuple(spans_of(request.query, asked=day_of(request.asked_at))),
        order=order,
        decision=order != 0 and _ASKS_FOR_DECISION.search(request.query) is not None,
    )


def lean(leanings: Leanings, hits: Sequence[ScoredSnippet]) -> list[ScoredSnippet]:
    """The hits ranked anew, each with what the leanings add to its similarity."""
    added = [0.0] * len(hits)
    speakers = named_speakers(leanings.text, {hit.snippet.role for hit in hits})
    if speakers:
        added = [more + _SPEAKER * (hit.snippet.role in speakers) for more, hit in zip(added, hits, strict=True)]
    if leanings.spans:
        days = [day_of(hit.snippet.happened) for hit in hits]
        fits = [day is not None and any(span.holds(day) for span in leanings.spans) for day in days]
        added = [more + _TIME * fit for more, fit in zip(added, fits, strict=True)]
    if leanings.order and len(hits) > 1:
        for place, number in enumerate(_in_time(hits)):
            added[number] += leanings.order * _ORDER * place / (len(hits) - 1)
    if leanings.decision:
        for more, number in _decisions(leanings, hits):
            added[number] += more
    moved = [
        hit._replace(similarity=hit.similarity + more) if more else hit for hit, more in zip(hits, added, strict=True)
    ]
    return sorted(moved, key=ranking_key)


def named_speakers(text: str, roles: Collection[str]) -> frozenset[str]:
    """Those of the roles that the question names as who did or said something; none if it names all of them.

    A role is named by words that tell it from the others ("the pro side" of "pro-side-debater"). Who speaks against
    the one named is anybody else.
    """
    parts = {role: frozenset(map(stem, _PART.findall(role.lower()))) for role in roles}
    if len(parts) < 2:
        return frozenset()
    named: set[str] = set()
    said = frozenset(text.split())
    for role in parts:
        own = _name_in(role, parts, said)
        if own and re.search(_AGAINST.format(who=own), text):
            named |= parts.keys() - {role}
        elif own and re.search(_AGENT.format(who=own), text):
            named.add(role)
    return frozenset(named) if len(named) < len(parts) else frozenset()


def _name_in(role: str, parts: dict[str, frozenset[str]], said: frozenset[str]) -> str:
    """A pattern for those words said that tell the role from the others; empty if there are none."""
    own = [word for word in _PART.findall(role.lower()) if word in said]
    if not own:
        return ""
    others = frozenset().union(*(theirs for other, theirs in parts.items() if other != role))
    own = [word for word in own if stem(word) not in others]
    return f"(?:{'|'.join(map(re.escape, own))})" if own else ""


def _decisions(leanings: Leanings, hits: Sequence[ScoredSnippet]) -> list[tuple[float, int]]:
    """What is added to the decisions on the matter that the question asks about, by the numbers of the hits.

    A choice is often revised, and the words of the question are those of every decision on it: the one that stands is
    the last. What is said of another matter (another day, another meal) settles nothing here.
    """
    asked = frozenset(content_stems(leanings.text)) - _OF_DECIDING
    about = {
        # As it was said, too: "the third hotel" says what "Briareus Inn" does not.
        number: asked.intersection(content_stems(_said_of(hit.snippet)))
        for number, hit in enumerate(hits)
        if _ACTS.intersection(hit.snippet.intent.event_types) or decides(hit.snippet)
    }
    said = Counter(term for own in about.values() for term in own)
    told = {number: sum(math.log((len(about) + 1) / said[term]) for term in own) for number, own in about.items()}
    best = max(told.values(), default=0.0)
    on_it = [number for number in _in_time(hits) if best and told.get(number, 0.0) >= _ON_THE_MATTER * best]
    stands = on_it[-1:] if leanings.order > 0 else on_it[:1]
    return [(_DECISION if number in stands else _DECISION / 2, number) for number in on_it]


def decides(snippet: MemorySnippet) -> bool:
    """Whether a step makes or revises a decision in so many words, whatever its labels."""
    return _DECIDES.search(snippet.text[:_READ_CHARS]) is not None


def _said_of(snippet: MemorySnippet) -> str:
    return " ".join((snippet.text[:_READ_CHARS], snippet.resolved[:_READ_CHARS], snippet.intent.scope or ""))


def _in_time(hits: Sequence[ScoredSnippet]) -> list[int]:
    """The numbers of the hits in the order in which they happened."""

    def when(number: int) -> tuple[int, str, int]:
        snippet = hits[number].snippet
        return day_of(snippet.happened) or 0, snippet.trajectory, snippet.position

    return sorted(range(len(hits)), key=when)
