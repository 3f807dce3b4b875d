"""What speaks for a passage, as named numbers: nearness of texts, words and kinds of things in common.

A raw cosine has no common zero between conditions. So each nearness is told four times: as it is, by how many standard
deviations it stands above the mean of all passages, and how far below the best one, raw and in standard deviations.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from stitch.core.text_cache import text_cache
from stitch.retrieve.path.scorers.population import Population
from stitch.retrieve.path.scorers.populations import Populations
from stitch.retrieve.path.scorers.reading import alternatives, asked_words
from stitch.text.kinds import kinds_of, singular_stem

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Column = NDArray[np.float64]

_HIT = 0.55
"""From here on a word or kind is said to be in common: common meanings, and the third of a word."""
_CATEGORY_SHARE = 0.5
"""If more of the nodes have all words and kinds in common, that tells nothing."""
NEARNESS = ("cos", "own", "part", "word", "late")
IN_COMMON = ("common", "all_common")


def features(condition: str, ready: Populations) -> dict[str, Column]:
    """The features of each passage by name. Of alternatives ("noodles or pasta"), the better one counts."""
    import numpy as np

    capitals = frozenset(word.lower() for word in re.findall(r"\w+", condition) if word.isupper())
    told = [_told(part, ready, capitals) for part in alternatives(condition)]
    best = {name: np.max([each[name] for each in told], axis=0) for name in told[0]}
    columns: dict[str, Column] = {}
    for name in NEARNESS:
        spread = _spread(best[name])
        columns[name], columns[f"{name}_spread"] = best[name], spread
        columns[f"{name}_below"] = best[name] - best[name].max()
        columns[f"{name}_spread_below"] = spread - spread.max()
    together = _spread(sum((_spread(best[name]) for name in ("part", "word", "cos")), start=np.zeros(len(best["cos"]))))
    for name in IN_COMMON:
        columns[name], columns[f"{name}_most"] = best[name], np.full(len(together), best[name].max())
        columns[f"{name}_spread"], columns[f"{name}_below"] = _spread(best[name]), best[name] - best[name].max()
    hit = best["all_common"] > _HIT
    share = float(hit.mean())
    category = 0 < share < _CATEGORY_SHARE
    columns["hits"] = np.full(len(together), share)
    columns["hit"], columns["miss"] = (hit * 1.0, (~hit) * 1.0) if category else (hit * 0.0, hit * 0.0)
    columns["sure_hit"] = (best["all_common"] > 0.85) * columns["hit"]
    for name, above in (("word", columns["word_spread"]), ("part", columns["part_spread"]), ("all", together)):
        columns[f"{name}_if_miss"], columns[f"{name}_if_hit"] = above * columns["miss"], above * columns["hit"]
    return columns


def _spread(values: Column) -> Column:
    """By how many standard deviations each value stands above the mean; nothing if they are all alike."""
    deviation = float(values.std())
    return (values - values.mean()) / deviation if deviation > 1e-9 else values * 0.0


def _told(condition: str, ready: Populations, capitals: frozenset[str]) -> dict[str, Column]:
    each = [_said_by(condition, part, capitals) for part in ready.parts]
    told = {name: ready.gathered([columns[name] for columns in each]) for name in NEARNESS}
    common = ready.gathered([columns["in_common"] for columns in each])
    return told | {"common": common @ _weights(common), "all_common": common.min(axis=1)}


@text_cache(maxsize=64)
def _said_by(condition: str, population: Population, capitals: frozenset[str]) -> dict[str, Column]:
    """What each passage of a population says by itself of a condition; other versions of a tree have it too."""
    import numpy as np

    asked = asked_words(condition)
    late = [population.words.most(population.term_texts.nearness(word)) for word in asked]
    return {
        "cos": population.whole.nearness(condition),
        "own": population.own.nearness(condition),
        "part": population.passage_parts.most(population.parts.nearness(condition)),
        "word": population.best_term(population.term_texts.nearness(condition)),
        "late": np.mean(late, axis=0),
        "in_common": _in_common(asked, population, capitals),
    }


def _in_common(asked: Sequence[str], population: Population, capitals: frozenset[str]) -> Column:
    """Of each passage and each word asked for: 1 if it says the word, less if it names a thing of this kind."""
    import numpy as np

    common = np.zeros((population.count, len(asked)))
    for place, word in enumerate(asked):
        stem = singular_stem(word)
        common[:, place] = population.best_term(np.array([_named(term, stem) for term in population.terms]))
        if word in capitals or not kinds_of(word):
            common[list(population.with_initials(word)), place] = 1.0
    return common


def _named(term: tuple[str, ...], stem: str) -> float:
    if len(term) == 1 and singular_stem(term[0]) == stem:
        return 1.0
    return kinds_of(" ".join(term)).get(stem, 0.0) if term else 0.0


def _weights(common: Column) -> Column:
    """Rare words weigh more, as in BM25."""
    import numpy as np

    rarity = np.log(1 + (len(common) + 0.5) / ((common > 0).sum(axis=0) + 0.5))
    return np.asarray(rarity / rarity.sum())
