"""Where a context stops before it is full: what lies far below the best hit seldom answers.

How alike a question and its answer are differs from one question to the next, so that no number separates what bears
on a question from what does not. What share of the best hit's score another one has means much the same in chats of
every kind; whether scores tell anything at all, `rank.telling` says. Chosen and judged, each set left out, by
`python -m stitch.bench.fit stopping`; figures in `bench/results/relevance.md`.
"""

from __future__ import annotations

from collections.abc import Sequence

from stitch.core import Decision, MemorySnippet, ScoredSnippet
from stitch.retrieve.constants import Constants
from stitch.retrieve.context.budget import TokenCounter
from stitch.retrieve.context.outputs import most_chars

STOPPED = "stop"
"""What is said of a context that stopped, in the trace of its answer."""
_LINE_TOKENS = 6
"""About so many tokens of a context are the line that a step begins with."""


def leading(hits: Sequence[ScoredSnippet], *, share: float) -> tuple[ScoredSnippet, ...]:
    """The hits, in their order, whose score is at least this share of the best one's; all if none is above 0."""
    least = share * max((hit.score for hit in hits), default=0.0)
    return tuple(hit for hit in hits if hit.score >= least) if least > 0 else tuple(hits)


def enough(
    hits: Sequence[ScoredSnippet], *, budget_tokens: int, counter: TokenCounter, constants: Constants
) -> tuple[ScoredSnippet, ...]:
    """The hits that a context shows if there is room, in their order: the first ones, then those near the best one.

    Args:
        hits: Best first.
        budget_tokens: What the context may have, which says how much of a long step is shown.
        counter: Counts the tokens of the first ones, which are shown in any case.
        constants: Say how many tokens these have, which share of the best score is near, and what a short step takes
            on of the hits that it stands beside.
    """
    best = max((hit.score for hit in hits), default=0.0)
    scores = {_place(hit.snippet): hit.score for hit in hits}
    chars, tokens = most_chars(budget_tokens), 0
    left = []
    for hit in hits:
        if tokens < constants.stop_tokens:
            tokens += counter.count(hit.snippet.resolved[:chars]) + _LINE_TOKENS
            left.append(hit)
        elif max(hit.score, _lent(hit.snippet, scores, constants)) >= best * _share(hit.snippet, constants):
            left.append(hit)
    return tuple(left)


def densest(hits: Sequence[ScoredSnippet]) -> tuple[ScoredSnippet, ...]:
    """The hits, in their order, with the best density or one label less, and with one at least; all if none has any."""
    least = max(1.0, max((hit.density for hit in hits), default=0.0) - 1.0)
    return tuple(hit for hit in hits if hit.density >= least) or tuple(hits)


def stopped(left: Sequence[ScoredSnippet], *, share: float) -> Decision:
    """That a context stopped."""
    figures = {"share": share, "left": float(len(left))}
    return Decision(STOPPED, figures, "hits with less of the best one's score seldom answer")


_Place = tuple[str, str | None, int]


def _place(snippet: MemorySnippet, offset: int = 0) -> _Place:
    return snippet.trajectory, snippet.session, snippet.position + offset


def _share(snippet: MemorySnippet, constants: Constants) -> float:
    long = len(snippet.text) > constants.stop_long_chars
    return constants.stop_share_of_long if long else constants.stop_share


def _lent(snippet: MemorySnippet, scores: dict[_Place, float], constants: Constants) -> float:
    """What the hits beside a short step lend it of their scores, the less the further away."""
    if len(snippet.text) > constants.beside_chars:
        return 0.0
    offsets = (sign * far for far in range(1, constants.beside_reach + 1) for sign in (1, -1))
    return max(constants.stop_lent ** abs(offset) * scores.get(_place(snippet, offset), 0.0) for offset in offsets)
