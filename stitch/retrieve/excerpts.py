"""Of a long step, the sentences that bear what is asked for, where a question asks for all names of a kind.

Who asks "List the evidence of both sides" needs one sentence of each of forty speeches, not eight speeches.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

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

    Where no sentence of a text bears what is asked for, the text stays whole.
    """
    wanted = _wanted(question)
    for hit in hits:
        parts = list(_bearing(hit.snippet.resolved, wanted)) if wanted else []
        if parts:
            hit = hit._replace(snippet=hit.snippet.model_copy(update={"resolved": _GAP.join(parts)}))
        yield hit


def _wanted(question: Question) -> frozenset[str]:
    """The classes of values of which a sentence must have one."""
    if not question.lists:
        return frozenset()
    if by_form := _BY_FORM.intersection(question.classes):
        return by_form
    return _NAMES if _ASKS_FOR_NAMES.search(question.text) else frozenset()


def _bearing(text: str, wanted: frozenset[str]) -> Iterator[str]:
    for start, end in sentence_spans(text):
        if any(mention.entity_type in wanted for mention in find_mentions(text[start:end])):
            yield text[start:end].strip()
