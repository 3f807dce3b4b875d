"""Steps that say the question's own words: whatever labels a question licenses must not hide them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from stitch.retrieve.constants import Constants
from stitch.retrieve.rank.pool import Pool
from stitch.text.words import words


def verbatim(pool: Pool) -> Sequence[float] | None:
    """Whether a step says all words of the question in their order, with hardly more in between."""
    says = repeater(pool.question.words, constants=pool.constants)
    said = [float(says(one.snippet.text)) for one in pool.candidates]
    return said if any(said) else None


def repeater(asked: Sequence[str], *, constants: Constants) -> Callable[[str], bool]:
    """What tells of a text whether it says these words, folded as `words` folds them, in order and close together."""
    if len(asked) < constants.verbatim_words:
        return lambda text: False
    longest_first = sorted(set(asked), key=lambda word: (-len(word), word))
    reach = int(len(asked) * constants.verbatim_span)

    def says(text: str) -> bool:
        folded = text.lower()
        if "\u2019" in folded:
            folded = folded.replace("\u2019", "'")
        # To cut a text into words takes far longer than to see that one of them is not in it.
        for word in longest_first:
            if word not in folded:
                return False
        own = words(text)
        return any(_follow(asked, own[start : start + reach]) for start, word in enumerate(own) if word == asked[0])

    return says


def _follow(asked: Sequence[str], own: Sequence[str]) -> bool:
    """Whether the words follow each other in a text, with any others in between."""
    left = iter(own)
    return all(word in left for word in asked)
