"""The vector of a question whose rare words count more: what all steps say tells none apart."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from stitch.core import WordCounts
from stitch.core.protocols import SummingEmbedder
from stitch.embed.lexical import index_of
from stitch.text.languages import words_in
from stitch.text.words import stem

if TYPE_CHECKING:
    from stitch.core.protocols import Vectors

_POWER = 0.3
"""Of the inverse document frequency; others find more on the mean of seven sets, and lose on BEAM."""

CountWords = Callable[[Sequence[int]], WordCounts]
"""Counts words, by their indices, among the snippets that are searched."""


def rare_words_first(text: str, *, embedder: SummingEmbedder, count: CountWords) -> Vectors:
    """A unit vector of a text: the sum of what its words say, each weighed by how rare it is where is searched.

    A word that no snippet has may still mean what another says: it weighs as the others do on average. Of a text
    without words, zeros.
    """
    import numpy as np

    said = list(dict.fromkeys(words_in(text)))
    vector: Vectors = np.zeros(embedder.dimension, np.float32)
    if said:
        vector = np.asarray(weights(said, count=count), np.float32) @ embedder.sums(said)
    length = float(vector @ vector) ** 0.5
    return vector / np.float32(length) if length else vector


def weights(said: Sequence[str], *, count: CountWords) -> list[float]:
    """Weigh words by rarity: ln(1 + (N - n + .5) / (n + .5)) to the power .3, n of N snippets having the word."""
    indices = [index_of(stem(word)) for word in said]
    counts = count(indices)
    rarities = _rarities(counts.carrying, snippets=counts.snippets)
    known = [rarities[index] for index in indices if counts.carrying[index]]
    mean = sum(known) / len(known) if known else 1.0
    return [rarities[index] if counts.carrying[index] else mean for index in indices]


def _rarities(carrying: Mapping[int, int], *, snippets: int) -> dict[int, float]:
    return {
        word: math.log(1 + (snippets - having + 0.5) / (having + 0.5)) ** _POWER for word, having in carrying.items()
    }
