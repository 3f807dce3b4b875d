"""Tasks of one kind: what the requests that are most alike have in common is looked for in all others.

"The kettle came in pieces" and "ORD-12 arrived damaged" share no word, but a third request says "arrived broken, in
pieces". So the words that several of the first requests say tell of which kind a task is, and whoever says them is of
that kind. Names of things and numbers tell nothing of it.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence

from stitch.core.text_cache import text_cache
from stitch.retrieve.rank.pool import Pool
from stitch.retrieve.rank.runs import runs
from stitch.text.languages import content_stems

_READ_CHARS = 1_500
_LEAST_SAYING = 2
"""So many of the first requests have to say a word."""
_SHORT_WORDS = 4.0
"""Added to the number of words of a request, so that a very short one does not say all of them with one."""
_WITH_DIGITS = re.compile(r"\S{0,80}\d\S{0,80}")


def kind(pool: Pool) -> Sequence[float] | None:
    """How much of what the requests most alike to a task have in common a request says, the best the most."""
    found = pool.once(runs)
    if found is None or not found.asked.task:
        return None
    openings = sorted(found.openings, key=lambda number: (-pool.candidates[number].similarity, _place(pool, number)))
    said = {number: request_words(pool.candidates[number].snippet.text) for number in openings}
    first = openings[: pool.constants.runs_kind_of]
    common = Counter(word for number in first for word in said[number])
    saying = Counter(word for words in said.values() for word in words)
    weights = {
        word: count / len(first) * math.log(1 + len(openings) / saying[word])
        for word, count in common.items()
        if count >= _LEAST_SAYING
    }
    worth = {
        number: math.fsum(sorted(weights.get(word, 0.0) for word in words)) / math.sqrt(len(words) + _SHORT_WORDS)
        for number, words in said.items()
    }
    best = max(worth.values(), default=0.0)
    if not best:
        return None
    return [pool.constants.runs_kind * worth.get(number, 0.0) / best for number in range(len(pool.candidates))]


def _place(pool: Pool, number: int) -> tuple[str, int, str]:
    snippet = pool.candidates[number].snippet
    return snippet.trajectory, snippet.position, snippet.step


@text_cache(maxsize=2048)
def request_words(text: str) -> frozenset[str]:
    """The stems of what a request says, without numbers and identifiers."""
    return frozenset(content_stems(_WITH_DIGITS.sub(" ", text[:_READ_CHARS])))
