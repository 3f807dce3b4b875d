"""Pools of candidates, for tests of scorers."""

from __future__ import annotations

from collections.abc import Sequence

from stitch.core import Label, LabelVocabulary, SearchRequest, Selection, density
from stitch.core.intent import IntentFilter
from stitch.retrieve.question.hints import read_hints
from stitch.retrieve.question.reading import read_question
from stitch.retrieve.rank.pool import Candidate, Pool


def pool_of(
    query: str,
    candidates: Sequence[Candidate],
    *,
    labels: frozenset[Label] = frozenset(),
    asked_at: str | None = None,
    vocabulary: LabelVocabulary | None = None,
) -> Pool:
    """The pool of a question that words licensed some labels of; density counts values."""
    request = SearchRequest(query=query, tenant="a", asked_at=asked_at)
    return Pool(
        request=request,
        question=read_question(query),
        hints=read_hints(request),
        selection=Selection(IntentFilter()),
        labels=labels,
        vocabulary=vocabulary or LabelVocabulary(),
        candidates=candidates,
        density_of=density,
    )
