"""Excerpts of long outputs: their beginning and end, and the lines that a question or an error points at.

A file that is listed, a page that is read, a traceback or an assistant's advice has thousands of characters, of which
one line answers; shown whole, a few of them are the whole context. So no step takes more than its share of the budget,
and the less, the later it stands among the hits; those of runs, which are the longest, least. The whole step is in the
hit (`ScoredSnippet.snippet`).
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Iterable, Iterator, Sequence

from stitch.core import ScoredSnippet
from stitch.core.text_cache import text_cache
from stitch.retrieve.kinds import running
from stitch.retrieve.question import READ_CHARS
from stitch.text.languages import content_stems

SHOWN_CHARS = ((5, 900), (15, 500), (math.inf, 200))
"""Up to which rank a step of a run is shown with how many characters where there is room for them; chosen on
agent_runs."""
_ROOM_TOKENS = 2_500
"""A budget with such room; in a smaller one they are as many fewer as its root is."""
SHARE = 6
"""No step takes more than the sixth part of a budget."""
CHARS_OF_ROOT = 20
"""Nor more characters than so many times the root of the budget: where there is room for more, further steps tell more
than more of each. Both were chosen by leaving sets out, see `bench/EXPERIMENTS.md`."""
_PASSAGE_CHARS = 160
"""But as many of the first as say something, where half of the budget holds them."""
FIRST_TOKENS, LEAST_FIRST = 340, 3
"""One hit for so many tokens of a budget, and at least so many hits, are shown at that length."""
LATER = 0.7
"""This share of it is shown of the others."""
_CHARS_A_TOKEN = 4
_SPARED = 1.3
"""What is so many times as long is not cut: little would be saved."""
_LINE_CHARS = 160
"""Longer lines are taken apart, if they have places where that can be done."""
_PIECE_CHARS = 60
_SHOWN_OF_PIECE = 200
_TAIL = 2
"""So many lines of the end of a call or a result are always shown: what came of it stands there."""
_GAP = " … "
_APART = re.compile(r"(?<=[}\]]), ?(?=[{\[])|(?<=[.!?]) (?=[^\sa-z])|(?<=[。！？])|(?<=,) ?(?=\")|(?<=;) ")
_POINTED_AT = re.compile(
    r"\b(?:error|exception|traceback|fail(?:ed|ure|s)?|warning|denied|refused|cannot|can't|unable|not found|no such"
    r"|invalid|timed? ?out|passed|success(?:fully)?|total|exit(?:ed)? (?:code|status))\b|\w(?:Error|Exception)\b",
    re.IGNORECASE,
)
"""What marks a line that sums up, or says what went wrong."""
_LETTER = re.compile(r"[^\W_]")
"""Without one, a line is a fence, a rule or an ellipsis, and tells nothing alone."""
_BESIDE = 0.4
"""Of what a line tells, so much is taken on by the next, and half of it by the one before."""


def shorten_long(hits: Iterable[ScoredSnippet], query: str, *, budget_tokens: int) -> Iterator[ScoredSnippet]:
    """The hits with as much of their texts as matters; all of it, unless they are long."""
    ranked = list(hits)
    least = min(_limit(sys.maxsize, budget_tokens=budget_tokens, of_run=of_run) for of_run in (True, False))
    if all(len(hit.snippet.resolved) <= least * _SPARED for hit in ranked):
        yield from ranked
        return
    of_runs = running(ranked)
    terms = tuple(dict.fromkeys(content_stems(query[:READ_CHARS])))
    for rank, hit in enumerate(ranked):
        of_run, text = hit.snippet.trajectory in of_runs, hit.snippet.resolved
        chars = _limit(rank, budget_tokens=budget_tokens, of_run=of_run)
        if len(text) <= chars * _SPARED:
            yield hit
            continue
        shown = what_matters(text, terms, chars=chars, tail=_TAIL if of_run else 0)
        yield hit._replace(snippet=hit.snippet.model_copy(update={"resolved": shown, "tokens": 0}))


def _limit(rank: int, *, budget_tokens: int, of_run: bool) -> int:
    """Number of characters shown of the hit at a rank, from 0."""
    most = most_chars(budget_tokens)
    if of_run:
        chars = next(chars for last, chars in SHOWN_CHARS if rank < last)
        return int(min(most, chars * min(1.0, math.sqrt(budget_tokens / _ROOM_TOKENS))))
    return most if rank < max(LEAST_FIRST, budget_tokens / FIRST_TOKENS) else int(LATER * most)


def most_chars(budget_tokens: int) -> int:
    """About how many characters of a step are shown at most: a sixth of up to 900 tokens, a thirteenth of 4,096; of
    less than 240 a passage.
    """
    passage = min(_PASSAGE_CHARS, budget_tokens * _CHARS_A_TOKEN // 2)
    return max(passage, min(budget_tokens * _CHARS_A_TOKEN // SHARE, int(CHARS_OF_ROOT * math.sqrt(budget_tokens))))


@text_cache(maxsize=1024)  # who asks one thing of a run asks for another
def what_matters(text: str, terms: tuple[str, ...], *, chars: int, tail: int = 0) -> str:
    """At most about so many characters of a text, in its order, with a sign where something is left out.

    `terms` are stems of the words of a question; the last `tail` lines are shown in any case, as the first is.
    """
    spans = list(_pieces(text))
    worth = _worth(text, spans, terms)
    nothing_told = not any(worth)  # then it is shown from its beginning
    telling = [number for number, (start, end) in enumerate(spans) if _LETTER.search(text, start, end)]
    shown = {*telling[:1], *telling[len(telling) - tail :]} if tail else {*telling[:1]}
    left = chars - sum(min(_SHOWN_OF_PIECE, end - start) for start, end in (spans[number] for number in shown))
    for number in sorted(telling, key=lambda number: (-worth[number], number)):
        start, end = spans[number]
        length = min(_SHOWN_OF_PIECE, end - start)
        if (worth[number] > 0 or nothing_told) and number not in shown and length <= left:
            shown.add(number)
            left -= length
    return _joined(text, spans, sorted(shown))


def _worth(text: str, spans: Sequence[tuple[int, int]], terms: Sequence[str]) -> list[float]:
    """Score pieces of a text: words of the question, signs of a summary, and a part of the neighbors' scores."""
    folded = [text[start:end].lower() for start, end in spans]
    told = [float(_POINTED_AT.search(text, start, end) is not None) for start, end in spans]
    for term in terms:
        saying = [number for number, piece in enumerate(folded) if term in piece]
        for number in saying:
            told[number] += math.log((len(spans) + 1) / len(saying))
    beside = zip([0.0, *told], told, [*told[1:], 0.0], strict=False)
    return [own + _BESIDE * before + _BESIDE / 2 * after for before, own, after in beside]


def _joined(text: str, spans: Sequence[tuple[int, int]], shown: Sequence[int]) -> str:
    parts: list[str] = []
    for at, number in enumerate(shown):
        start, end = spans[number]
        if at and shown[at - 1] != number - 1 and parts[-1] is not _GAP:
            parts.append(_GAP)
        cut = end if end - start <= _SHOWN_OF_PIECE else _between_words(text, start, start + _SHOWN_OF_PIECE)
        parts.append(text[start:cut])
        if cut < end:
            parts.append(_GAP)
    return "".join(parts).strip()


def _between_words(text: str, start: int, end: int) -> int:
    """The end of the last whole word before a position; the position itself if that would take away much."""
    blank = text.rfind(" ", start, end + 1)
    return blank if blank > start + (end - start) // 2 else end


def _pieces(text: str) -> Iterator[tuple[int, int]]:
    """The lines of a text with their line breaks, long ones taken apart between records, sentences or fields."""
    start = 0
    for line in text.splitlines(keepends=True):
        end = start + len(line)
        if len(line) > _LINE_CHARS:
            for apart in _APART.finditer(text, start, end):
                if apart.end() - start >= _PIECE_CHARS:
                    yield start, apart.end()
                    start = apart.end()
        if start < end:
            yield start, end
        start = end
