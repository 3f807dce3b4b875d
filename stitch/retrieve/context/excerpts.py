"""Excerpts of long steps: the sentences that bear what is asked for, where all names of a kind are asked for.

Who asks "List the evidence of both sides" needs one sentence of each of forty speeches, not eight speeches; and how
each begins, for a list of what one side used to attack cannot be told from bare citations.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import NamedTuple

from stitch.core import ScoredSnippet
from stitch.core.text_cache import text_cache
from stitch.retrieve.question import NAMES, Question
from stitch.text.sentences import sentence_spans
from stitch.text.values import find_mentions

_BY_FORM = frozenset(("citation", "price", "rating", "phone", "email", "url"))
"""Classes of which every value is known by its form; with one of them, no other name is asked for."""
_WITH_DIGITS = frozenset(("citation", "price", "rating", "phone"))
_DIGIT = re.compile("[0-9]")
_WITHOUT_NAMES = re.compile(r"\s*[A-Z\u00c0-\u00de]?(?:[^A-Z\u00c0-\u00de]|(?<= )I(?= ))*")
"""No word is capitalized but the first, or "I"; a first word alone is not taken for a name."""
_CUT = "…"
_ITEM = re.compile(r"^[ \t]*(?:[-*•–]|\d{1,3}[.)])[ \t]+\S.*$", re.MULTILINE)
_OPENING_CHARS = 160
"""How much of an opening sentence is shown; 80 and 300 gave the same on debates of our own and of others."""


def excerpt_hits(hits: Iterable[ScoredSnippet], question: Question) -> Iterator[ScoredSnippet]:
    """The hits with as much of their texts as the question asks for: all of it, unless it asks for a list of names.

    Of a list, those of equal density come first that name what none before them named, then those that repeat it; texts
    of which no sentence bears what is asked for come last of all, with how they open.
    """
    wanted = _wanted(question)
    if not wanted:
        yield from hits
        return
    named: set[str] = set()
    silent: list[ScoredSnippet] = []
    for _, tier in groupby(hits, key=lambda hit: hit.density):
        repeating: list[ScoredSnippet] = []
        for hit in tier:
            bearing = _bearing(hit.snippet.resolved, wanted)
            if bearing is None:
                silent.append(_with_text(hit, _shortened(hit.snippet.resolved)))
                continue
            shown = _with_text(hit, bearing.text)
            new = bearing.values - named
            named |= new
            if new:
                yield shown
            else:
                repeating.append(shown)
        yield from repeating
    yield from silent


def _with_text(hit: ScoredSnippet, text: str) -> ScoredSnippet:
    return hit._replace(snippet=hit.snippet.model_copy(update={"resolved": text, "tokens": 0}))


def _wanted(question: Question) -> frozenset[str]:
    """The classes of values of which a sentence must have one."""
    if not question.lists:
        return frozenset()
    if by_form := _BY_FORM.intersection(question.form_classes):
        return by_form
    return NAMES if question.asks_for_names else frozenset()


class _Bearing(NamedTuple):
    """The part of a text that bears on the question."""

    text: str
    values: frozenset[str]
    """Folded."""


@text_cache(maxsize=512)  # who asks for one list asks for another
def _bearing(text: str, wanted: frozenset[str]) -> _Bearing | None:
    """The sentences and items of lists that have a value of a wanted class, behind the opening; None if there are none.

    How a speech opens says whose it is and what it does: "I cannot accept the second reason you gave".
    """
    spans = _sentences_and_items(text)
    kept: list[int] = []
    found_values: set[str] = set()
    for place, (start, end) in enumerate(spans):
        sentence = text[start:end]
        found = find_mentions(sentence) if _may_bear(sentence, wanted) else ()
        if values := {own.value.casefold() for own in found if own.entity_type in wanted}:
            kept.append(place)
            found_values |= values
    if not kept:
        return None
    said = _shortened(text[slice(*spans[0])].strip()) if kept[0] else ""
    above = 0 if said else -1
    for place in kept:
        if said:
            said += _between(text[spans[place - 1][1] : spans[place][0]], gap=place != above + 1, said=said)
        said += text[slice(*spans[place])].strip()
        above = place
    return _Bearing(said, frozenset(found_values))


def _sentences_and_items(text: str) -> list[tuple[int, int]]:
    """Spans of the sentences of a text; an item of a list is one sentence, for half of it misleads."""
    items = [item.span() for item in _ITEM.finditer(text)]
    if not items:
        return sentence_spans(text)
    ends = [0, *(end for _, end in items)]
    starts = [*(start for start, _ in items), len(text)]
    found = list(items)
    for begin, end in zip(ends, starts, strict=True):
        found += [(begin + start, begin + stop) for start, stop in sentence_spans(text[begin:end])]
    return sorted(found)


def _between(skipped: str, *, gap: bool, said: str) -> str:
    """The separator of two pieces: a line break where there was one, and a sign where something is left out."""
    apart = "\n" if "\n" in skipped else " "
    return apart if not gap or said.endswith(_CUT) else f" {_CUT}{apart}"


def _shortened(opening: str) -> str:
    """An opening sentence, or its first words."""
    if len(opening) <= _OPENING_CHARS:
        return opening
    return opening[: opening.rfind(" ", 0, _OPENING_CHARS) + 1].rstrip() + " " + _CUT


def _may_bear(sentence: str, wanted: frozenset[str]) -> bool:
    """False only if no value of a wanted class is in a sentence; to look for values takes a hundred times as long."""
    if wanted == NAMES:
        return _WITHOUT_NAMES.fullmatch(sentence) is None
    return not wanted <= _WITH_DIGITS or not sentence.isascii() or _DIGIT.search(sentence) is not None
