"""Texts and what follows them: pairs that teach without a teacher, of all texts of the packages."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from stitch.bench.fit.table.texts import Text

LONGEST = 24
"""So many texts may follow one in a pair: a step of an agent is as long as pages."""

NEAR = 8
"""So many pairs are drawn from one long document, so that they have to be told apart."""

SHARES = {
    "chat": 6.0,
    "page": 2.0,
    "plan": 1.5,
    "gloss": 1.0,
    "dictionary": 1.0,
    "code": 1.0,
    "manual": 1.0,
    "docstring": 1.0,
    "saying": 0.3,
}
"""How often pairs of a kind are drawn: talk most."""


class Pair(NamedTuple):
    """The distinct tokens of a text, and those of what follows it."""

    text: Sequence[int]
    rest: Sequence[int]


class Passages:
    """Documents of which pairs are drawn.

    Args:
        texts: All texts, those of a document beside each other.
        tokens: Of each text.
        shares: How often pairs of a kind are drawn; a kind that is not named is not.
    """

    def __init__(
        self, texts: Sequence[Text], tokens: Sequence[Sequence[int]], shares: Mapping[str, float] = SHARES
    ) -> None:
        self._tokens = tokens
        by_kind: dict[str, list[range]] = defaultdict(list)
        for (kind, _document), group in groupby(range(len(texts)), key=lambda at: (texts[at].kind, texts[at].document)):
            places = list(group)
            if kind in shares and len(places) > 1:
                by_kind[kind].append(range(places[0], places[-1] + 1))
        self._documents = by_kind
        self._shares = shares

    def draw(self, count: int, rng: Any) -> list[Pair]:
        """So many pairs. Half of the long documents give several, which differ in little."""
        import numpy as np

        kinds = list(self._documents)
        of_kind = np.array([self._shares[kind] for kind in kinds])
        by_length = {kind: np.array([len(each) for each in self._documents[kind]], float) for kind in kinds}
        found: list[Pair] = []
        while len(found) < count:
            kind = kinds[rng.choice(len(kinds), p=of_kind / of_kind.sum())]
            lengths = by_length[kind]
            document = self._documents[kind][rng.choice(len(lengths), p=lengths / lengths.sum())]
            starts = 1
            if len(document) > LONGEST and rng.random() < 0.5:
                starts = max(1, min(NEAR, len(document) // (LONGEST + 1)))
            places = rng.choice(len(document) - 1, size=starts, replace=False).tolist()
            found += [self._pair(document, place, rng) for place in places]
        return found[:count]

    def _pair(self, document: range, place: int, rng: Any) -> Pair:
        follow = int(math.exp(rng.uniform(0, math.log(LONGEST + 0.99))))  # short ones as often as long ones
        rest = document[place + 1 : place + 1 + follow]
        text = self._tokens[document[place]]
        told = sorted({token for at in rest for token in self._tokens[at]})
        if len(rest) == 1 and rng.random() < 0.5:
            return Pair(told, text)
        return Pair(text, told)
