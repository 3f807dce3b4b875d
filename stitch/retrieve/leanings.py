"""What a question says of who spoke, when, and in which order. No label stands for these: they decide inside a tier.

A leaning adds a small amount to the similarity of the hits that it speaks for. Density stays first, and a hit whose
words are much nearer to the question stays before one that merely fits the date.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from stitch.core import ScoredSnippet, SearchRequest
from stitch.core.ranking import ranking_key
from stitch.embed.lexical import stem, words
from stitch.retrieve.times import Span, day_of, spans_of

POOL = 400
"""Among so many of the best hits those are looked for that a leaning speaks for."""

_TIME = 0.1
_SPEAKER = 0.06
_ORDER = 0.03
"""What fits the time, the speaker, or stands last (or first) of all counts beside a similarity between 0 and 1."""

_LAST = re.compile(
    r"\b(?:in the end|finally|final|finished|eventually|ultimately|latest|most recent(?:ly)?|after all changes|last)\b",
    re.IGNORECASE,
)
_FIRST = re.compile(
    r"\b(?:first|initially|initial|originally|original|earliest|to begin with)\b"
    r"(?! (?:name|class|aid|hand|lady|floor)\b)",
    re.IGNORECASE,
)
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

    def __bool__(self) -> bool:
        return bool(self.spans or self.order)


def read_leanings(request: SearchRequest) -> Leanings:
    """Take from a question what it says of time and order."""
    last, first = _LAST.search(request.query), _FIRST.search(request.query)
    return Leanings(
        text=" ".join(words(request.query)),
        spans=tuple(spans_of(request.query, asked=day_of(request.asked_at))),
        order=bool(last) - bool(first),
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


def _in_time(hits: Sequence[ScoredSnippet]) -> list[int]:
    """The numbers of the hits in the order in which they happened."""

    def when(number: int) -> tuple[int, str, int]:
        snippet = hits[number].snippet
        return day_of(snippet.happened) or 0, snippet.trajectory, snippet.position

    return sorted(range(len(hits)), key=when)
