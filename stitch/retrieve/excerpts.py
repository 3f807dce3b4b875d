"""Of a long step, the sentences that bear what is asked for, where a question asks for all names of a kind.

Who asks "List the evidence of both sides" needs one sentence of each of forty speeches, not eight speeches.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import groupby

from stitch.core import ScoredSnippet
from stitch.label.local.language import sentence_spans
from stitch.label.local.mentions import find_mentions
from stitch.retrieve.question import Question

_ASKS_FOR_NAMES = re.compile(r"\bname(?:s|d)?\b|\[[^\]]+\][^\[]*\[", re.IGNORECASE)
_NAMES = frozenset(("name", "organization", "person", "place"))
_BY_FORM = frozenset(("citation", "price", "rating", "phone", "email", "url"))
"""Classes of which every value is known by its form; with one of them, no other name is asked for."""
_GAP = " … "


def excerpt_hits(hits: Iterable[ScoredSnippet], question: Question) -> Iterator[ScoredSnippet]:
    """The hits with as much of their texts as the question asks for: all of it, unless it asks for a list of names.

    Of a list, the hits of a tier come first that name what none before them named, then those that repeat it; texts of
    which no sentence bears what is asked for stay whole, and come last of all.
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
            bearing = list(_bearing(hit.snippet.resolved, wanted))
            if not bearing:
                silent.append(hit)
                continue
            text = _GAP.join(sentence for sentence, _ in bearing)
            shown = hit._replace(snippet=hit.snippet.model_copy(update={"resolved": text}))
            new = {value for _, values in bearing for value in values} - named
            named |= new
            if new:
                yield shown
            else:
                repeating.append(shown)
        yield from repeating
    yield from silent


def _wanted(question: Question) -> frozenset[str]:
    """The classes of values of which a sentence must have one."""
    if not question.lists:
        return frozenset()
    if by_form := _BY_FORM.intersection(question.classes):
        return by_form
    return _NAMES if _ASKS_FOR_NAMES.search(question.text) else frozenset()


def _bearing(text: str, wanted: frozenset[str]) -> Iterator[tuple[str, frozenset[str]]]:
    """The sentences that have a value of a wanted class, each with these values, folded."""
    for start, end in sentence_spans(text):
        found = find_mentions(text[start:end])
        if values := frozenset(own.value.casefold() for own in found if own.entity_type in wanted):
            yield text[start:end].strip(), values
