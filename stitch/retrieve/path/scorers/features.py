"""What speaks for a passage, as named numbers: nearness of texts, words and kinds of things in common.

A raw cosine has no common zero between conditions. So each nearness is told four times: as it is, by how many standard
deviations it stands above the mean of all passages, and how far below the best one, raw and in standard deviations.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple, Protocol

from stitch.retrieve.path.scorers.protocol import Passage
from stitch.retrieve.path.scorers.reading import TextReading, alternatives, asked_words, read_text
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


class Texts(Protocol):
    """Texts whose nearness to a condition can be told, for many conditions."""

    def nearness(self, condition: str) -> Column:
        """The cosine of each text and the condition."""
        ...


class Space(Protocol):
    """Where texts are compared."""

    def texts(self, said: Sequence[tuple[str, ...]]) -> Texts:
        """Texts, each given by its words."""
        ...


class Population(NamedTuple):
    """Passages that are scored together, made ready for any condition. Equal passages stand there once."""

    readings: tuple[tuple[TextReading, ...], ...]
    whole: Texts
    own: Texts
    parts: Texts
    part_starts: NDArray[np.intp]
    names: tuple[tuple[str, ...], ...]
    """All different words and pairs of words, the terms."""
    terms: Texts
    initials: dict[str, set[int]]
    """Which passages have a name with these initials."""
    term_places: NDArray[np.intp]
    """Of each word or pair of a passage, which of the terms it is."""
    term_starts: NDArray[np.intp]
    word_places: NDArray[np.intp]
    word_starts: NDArray[np.intp]


def population_of(passages: Sequence[Passage], *, space: Space) -> Population:
    """Make passages ready."""
    readings = tuple(tuple(read_text(text) for text in passage.texts) for passage in passages)
    parts = [_parts(reading) for reading in readings]
    numbers: dict[tuple[str, ...], int] = {}
    words = [_numbered({(word,) for text in reading for word in text.words}, numbers) for reading in readings]
    pairs = [_numbered({pair for text in reading for pair in text.pairs}, numbers) for reading in readings]
    terms = [own + other for own, other in zip(words, pairs, strict=True)]
    return Population(
        readings,
        space.texts([tuple(chain.from_iterable(own)) for own in parts]),
        space.texts([tuple(chain.from_iterable(_own_parts(passage))) for passage in passages]),
        space.texts(list(chain.from_iterable(parts))),
        _starts(parts),
        tuple(numbers),
        space.texts(list(numbers)),
        _initials(readings),
        _flat(terms),
        _starts(terms),
        _flat(words),
        _starts(words),
    )


def _initials(readings: Sequence[tuple[TextReading, ...]]) -> dict[str, set[int]]:
    found: dict[str, set[int]] = {}
    for place, reading in enumerate(readings):
        for text in reading:
            for initials in text.initials:
                found.setdefault(initials, set()).add(place)
    return found


def _own_parts(passage: Passage) -> Iterator[tuple[str, ...]]:
    return chain.from_iterable(read_text(text).parts for text in passage.own)


def _flat(lists: Sequence[Sequence[int]]) -> NDArray[np.intp]:
    import numpy as np

    return np.fromiter(chain.from_iterable(lists), np.intp)


def _parts(reading: tuple[TextReading, ...]) -> list[tuple[str, ...]]:
    return list(dict.fromkeys(part for text in reading for part in text.parts)) or [()]


def _numbered(said: set[tuple[str, ...]], numbers: dict[tuple[str, ...], int]) -> list[int]:
    return [numbers.setdefault(term, len(numbers)) for term in sorted(said)] or [numbers.setdefault((), len(numbers))]


def _starts(lists: Sequence[Sequence[object]]) -> NDArray[np.intp]:
    import numpy as np

    return np.concatenate([[0], np.cumsum([len(each) for each in lists])[:-1]]).astype(np.intp)


def features(condition: str, population: Population) -> dict[str, Column]:
    """The features of each passage by name. Of alternatives ("noodles or pasta"), the better one counts."""
    import numpy as np

    told = [_told(part, population) for part in alternatives(condition)]
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


def _told(condition: str, population: Population) -> dict[str, Column]:
    import numpy as np

    asked = asked_words(condition)
    terms = population.terms.nearness(condition)
    late = [
        np.maximum.reduceat(population.terms.nearness(word)[population.word_places], population.word_starts)
        for word in asked
    ]
    common = _in_common(asked, population)
    return {
        "cos": population.whole.nearness(condition),
        "own": population.own.nearness(condition),
        "part": np.maximum.reduceat(population.parts.nearness(condition), population.part_starts),
        "word": np.maximum.reduceat(terms[population.term_places], population.term_starts),
        "late": np.mean(late, axis=0),
        "common": common @ _weights(common),
        "all_common": common.min(axis=1),
    }


def _in_common(asked: Sequence[str], population: Population) -> Column:
    """Of each passage and each word asked for: 1 if it says the word, less if it names a thing of this kind."""
    import numpy as np

    common = np.zeros((len(population.readings), len(asked)))
    for place, word in enumerate(asked):
        stem = singular_stem(word)
        said = np.array([_named(term, stem) for term in population.names])
        common[:, place] = np.maximum.reduceat(said[population.term_places], population.term_starts)
        common[list(population.initials.get(word, ())), place] = 1.0
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
