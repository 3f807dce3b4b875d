"""Reasons of hits: at most three, in words that a person understands."""

from typing import Any

import pytest

from doubles.scoring import snippet
from stitch.core import (
    LABEL_DENSITY,
    IntentFilter,
    Label,
    LabelKind,
    Origin,
    RetrievalResult,
    ScoredSnippet,
    SearchRequest,
)
from stitch.retrieve.order import WEIGHTED
from stitch.retrieve.reasons import MOST_REASONS, reasons


def hit(text: str = "Fine.", *, position: int = 1, parts: dict[str, float], **fields: Any) -> ScoredSnippet:
    return ScoredSnippet(snippet(text, position=position, **fields), frozenset(), parts, sum(parts.values()))


def result(*hits: ScoredSnippet, query: str = "How large was the bank import?", **fields: Any) -> RetrievalResult:
    own: dict[str, Any] = {"rule": WEIGHTED, "reasons": (), "context_text": "", "context_tokens": 0, **fields}
    return RetrievalResult(
        request=SearchRequest(query=query, tenant="a"), intent_filter=IntentFilter(), hits=hits, context_hits=(),
        milliseconds=0.0, mode="intent", **own,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("found", "query", "said"),
    [
        (hit(scope="bank import / read", parts={"goal": 0.5}), "?", ["same goal: bank import"]),
        (hit("It has cost $642.", parts={"kind": 0.5}), "What did it cost?", ["says $642"]),
        (hit("The imports of the bank.", parts={"words": 0.3}), "How large was the bank import?",
         ['says "imports", "bank"']),
        (hit(role="Ann", parts={"speaker": 0.3, "meaning": 0.4}), "?", ["near in meaning", "said by Ann"]),
        (hit("Fine, Saturday.", role="Idris", origin=Origin.AGENT, parts={"kind": 0.5}), "?", ["words of Idris"]),
        (hit("Fine.", role="assistant", origin=Origin.AGENT, parts={"kind": 0.5}), "?", ["words of the agent"]),
        (hit(parts={"meaning": 0.01, "similarity": 0.9}), "?", ["nothing speaks against it"]),
    ],
)  # fmt: skip
def test_what_counts_most_is_said_first_and_what_moved_nothing_is_not_said(
    found: ScoredSnippet, query: str, said: list[str]
) -> None:
    assert reasons(found, result(found, query=query)) == said


def test_the_neighbor_that_is_more_alike_is_named() -> None:
    first = hit(position=4, parts={"meaning": 0.5, "similarity": 0.6})
    after, before = hit(position=5, parts={"beside": 0.2}), hit(position=3, parts={"beside": 0.2})
    alone = hit(position=50, parts={"beside": 0.2})
    found = result(first, after, before, alone)
    assert reasons(after, found) == ["the step after 4"]
    assert reasons(before, found) == ["the step before 4"]
    assert reasons(alone, found) == ["beside a step that is more alike"]


def test_there_are_three_at_most_and_where_density_stands_first_its_labels_are_one() -> None:
    every = hit(parts={"meaning": 0.5, "speaker": 0.4, "near": 0.3, "late": 0.2, "standing": 0.9})
    assert len(reasons(every, result(every))) == MOST_REASONS
    label = Label(LabelKind.SCOPE, "day 1")
    strict = hit(parts={"density": 1.0, "similarity": 0.4})._replace(matched=frozenset([label]))
    assert reasons(strict, result(strict, rule=LABEL_DENSITY)) == ["carries scope 'day 1'"]
