"""Conditions of absence: "vegan" is said of what holds nothing of animals, "not technical" of what is not technical.

Near words are wrong here: what is nearest to "without a computer" speaks of computers. So the condition that is denied
is scored, and who fulfils it does not fulfil its denial; a text that names a thing of a kind that is ruled out decides.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from stitch.core.text_cache import text_cache
from stitch.retrieve.path.scorers.population import Population
from stitch.retrieve.path.scorers.populations import Populations
from stitch.retrieve.path.scorers.reading import words_of
from stitch.text.kinds import comes_of, kinds_of, ruled_out_by, singular_stem

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Column = NDArray[np.float64]

_DENIED = re.compile(
    r"(?:(?:is |are |has |have |with |need(?:s|ing)? |contain(?:s|ing)? |includ(?:es?|ing) )?"
    r"(?:not|no|non|without|free (?:of|from)|lack(?:s|ing)?|nothing)"
    r"(?:[ -](?:any|anything|a|an|the|of|from|with|in|need(?:s|ing)?|contain(?:s|ing)?))*[ -]"
    r"|(?:does|do|is|are)(?:n't| not) (?:need |contain |have |include )?(?:any |a |an |the )?)"
    r"(?P<denied>\w[\w -]*)|(?P<free>\w[\w ]*)[- ]free",
    re.IGNORECASE,
)
_SAYS_SO = frozenset(("no", "without", "non"))
_PLANT = singular_stem("plant")
_FLESH = frozenset(map(singular_stem, ("meat", "fish")))
_HELD = 0.55
FREE, HOLDS = 0.8, 0.03
"""How sure it is that a thing is absent that is not named, and that it is not where it is named."""


def never_in(condition: str) -> frozenset[str]:
    """The stems of the kinds of things that a condition rules out by their names; none if there are none.

    What is denied in several words ("without red meat") is no kind that one word has: it is left to the scorer.
    """
    said = condition.strip().lower()
    if known := ruled_out_by(said):
        return known
    things = (words_of(part) for part in re.split(r",|/|\bor\b|\band\b", denied(said) or ""))
    return frozenset(singular_stem(words[0]) for words in things if len(words) == 1)


def denied(condition: str) -> str | None:
    """What a condition denies: "not technical" and "contains no nuts" deny "technical" and "nuts"; None if nothing."""
    match = _DENIED.fullmatch(condition.strip())
    return (match["denied"] or match["free"]) if match else None


def absent(condition: str, ready: Populations) -> Column | None:
    """How likely it is that what a condition rules out is not named.

    Returns:
        A probability for each passage. None if it is no condition of absence, and where texts say themselves what they
        are ("vegan") or are without ("no milk", "nut-free"): there the words of the condition are to be found.
    """
    import numpy as np

    ruled_out = never_in(condition)
    if not ruled_out:
        return np.full(ready.size, FREE) if denied(condition) else None
    each = [_said_by(condition, part, ruled_out) for part in ready.parts]
    if ready.gathered([says_so for says_so, _ in each]).any():
        return None
    return np.where(ready.gathered([held for _, held in each]) > 0, HOLDS, FREE)


@text_cache(maxsize=64)
def _said_by(condition: str, population: Population, ruled_out: frozenset[str]) -> tuple[Column, Column]:
    """Of each passage of a population, whether it says itself that it is without, and whether it holds the thing."""
    import numpy as np

    pairs = [(before, word) for before, word in population.terms[population.pairs_from :]]
    says_so = np.array(
        [float(term == (condition,)) for term in population.terms[: population.pairs_from]]
        + [float(_says_so(before, word, ruled_out)) for before, word in pairs]
    )
    kinds = {word: _of_kind(word, ruled_out) for word in population.vocabulary}
    named = np.zeros(len(population.terms))
    named[population.pairs_from :] = [
        bool(kinds[word]) and not _is_a_plants(before, word, kinds[word], ruled_out) for before, word in pairs
    ]
    opens = np.array([float(bool(kinds[word])) for word in population.vocabulary])
    return population.best_term(says_so), np.maximum(population.openers.most(opens), population.pairs.most(named))


def _says_so(before: str, word: str, ruled_out: frozenset[str]) -> bool:
    if before in _SAYS_SO:
        return singular_stem(word) in ruled_out
    return word == "free" and singular_stem(before) in ruled_out


def _of_kind(term: str, kinds: frozenset[str]) -> frozenset[str]:
    named = kinds_of(term)
    found = {kind for kind, weight in named.items() if kind in kinds and weight > _HELD}
    if _PLANT in named:
        found -= _FLESH  # the meat of a coconut
    return frozenset(found | (comes_of(term) | {singular_stem(term)}) & kinds)


def _is_a_plants(before: str, word: str, named: frozenset[str], kinds: frozenset[str]) -> bool:
    """Whether a word is not what it says alone: "peanut butter", "oat milk"."""
    compound = kinds_of(f"{before} {word}").keys() - {singular_stem(before), singular_stem(word)}
    if compound:
        return not compound & kinds
    return _PLANT in kinds_of(before) and not named & _FLESH
