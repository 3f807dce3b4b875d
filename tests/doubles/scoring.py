"""Pools of candidates, for tests of scorers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from stitch.core import Label, LabelVocabulary, RankingRule, ScoredSnippet, SearchRequest, Selection, density
from stitch.core.intent import IntentFilter
from stitch.retrieve.question.hints import read_hints
from stitch.retrieve.question.reading import read_question
from stitch.retrieve.rank.pool import Candidate, Pool, Scorer, rank
from stitch.retrieve.rank.scorers import SCORERS, WEIGHTED, scorers_for


def pool_of(
    query: str,
    candidates: Sequence[Candidate],
    *,
    labels: frozenset[Label] = frozenset(),
    asked_at: str | None = None,
    vocabulary: LabelVocabulary | None = None,
    sure: bool = False,
    of_runs: bool = False,
) -> Pool:
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
        sure=sure,
        of_runs=of_runs,
    )


def ranked(pool: Pool, *, rule: RankingRule = WEIGHTED, scorers: Mapping[str, Scorer] = SCORERS) -> list[ScoredSnippet]:
    return rank(pool, scorers_for(pool, scorers), rule, k=len(pool.candidates))
