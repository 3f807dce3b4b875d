"""Of a long step, the sentences that bear what is asked for, where a question asks for all names of a kind.

Who asks "List the evidence of both sides" needs one sentence of each of forty speeches, not eight speeches.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import groupby

from stitch.core import RankingRule, ScoredSnippet
from stitch.core.text_cache import text_cache
from stitch.retrieve.question.reading import NAMES, Question
from stitch.text.sentences import sentence_spans
from stitch.text.values import find_mentions

_BY_FORM = frozenset(("citation", "price", "rating", "phone", "email", "url"))
"""Classes of which every value is known by its form; with one of them, no other name is asked for."""
_WITH_DIGITS = frozenset(("citation", "price", "rating", "phone"))
_DIGIT = re.compile("[0-9]")
_WITHOUT_NAMES = re.compile(r"\s*[A-Z\u00c0-\u00de]?(?:[^A-Z\u00c0-\u00de]|(?<= )I(?= ))*")
"""No word is capitalized but the first, or "I"; a first word alone is not taken for a name."""
_GAP = " … "


def excerpt_hits(
    hits: Iterable[ScoredSnippet], question: Question, *, rule: RankingRule, lists_names: bool = False
) -> Iterator[ScoredSnippet]:
    """The hits with as much of their texts as the question asks for: all of it, unless it asks for a list of names.

    Of a list, the hits of a tier come first that name what none before them named, then those that repeat it; texts of
    which no sentence bears what is asked for stay whole, and come last of all.

    Args:
        hits: Best first.
        question: What is asked.
        rule: Says which hits are of one tier.
        lists_names: Whether the choice of labels took it for such a list, whatever its words (`Selection.lists_names`).
    """
    wanted = NAMES if lists_names else _wanted(question)
    if not wanted:
        yield from hits
        return
    named: set[str] = set()
    silent: list[ScoredSnippet] = []
    for _, tier in groupby(hits, key=lambda hit: rule.totals(hit.parts)[:-1]):
        repeating: list[ScoredSnippet] = []
        for hit in tier:
            bearing = _bearing(hit.snippet.resolved, wanted)
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
    return NAMES if question.asks_for_names else frozenset()


@text_cache(maxsize=512)  # who asks for one list asks for another
def _bearing(text: str, wanted: frozenset[str]) -> tuple[tuple[str, frozenset[str]], ...]:
    """The sentences that have a value of a wanted class, each with these values, folded."""
    bearing = []
    for start, end in sentence_spans(text):
        sentence = text[start:end]
        found = find_mentions(sentence) if _may_bear(sentence, wanted) else ()
        if values := frozenset(own.value.casefold() for own in found if own.entity_type in wanted):
            bearing.append((sentence.strip(), values))
    return tuple(bearing)


def _may_bear(sentence: str, wanted: frozenset[str]) -> bool:
    """False only if no value of a wanted class is in a sentence; to look for values takes a hundred times as long."""
    if wanted == NAMES:
        return _WITHOUT_NAMES.fullmatch(sentence) is None
    return not wanted <= _WITH_DIGITS or not sentence.isascii() or _DIGIT.search(sentence) is not None
