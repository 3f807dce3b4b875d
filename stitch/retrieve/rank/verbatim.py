"""Steps that say the question's own words: whatever labels a question licenses must not hide them."""

from __future__ import annotations

from collections.abc import Sequence

from stitch.retrieve.constants import Constants
from stitch.retrieve.rank.pool import Pool
from stitch.text.words import words


def verbatim(pool: Pool) -> Sequence[float] | None:
    """Whether a step says all words of the question in their order, with hardly more in between."""
    asked = pool.question.words
    said = [float(says(asked, one.snippet.text, constants=pool.constants)) for one in pool.candidates]
    return said if any(said) else None


def says(asked: Sequence[str], text: str, *, constants: Constants) -> bool:
    """Whether a text says these words, folded as `words` folds them, in their order and close together."""
    if len(asked) < constants.verbatim_words:
        return False
    folded = text.lower().replace("’", "'")
    # To cut a text into words takes far longer than to see that one of them is not in it.
    if any(word not in folded for word in sorted(set(asked), key=len, reverse=True)):
        return False
    own, reach = words(text), int(len(asked) * constants.verbatim_span)
    return any(_follow(asked, own[start : start + reach]) for start, word in enumerate(own) if word == asked[0])


def _follow(asked: Sequence[str], own: Sequence[str]) -> bool:
    """Whether the words follow each other in a text, with any others in between."""
    left = iter(own)
    return all(word in left for word in asked)
