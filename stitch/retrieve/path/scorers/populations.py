"""Passages of a version of a tree, made ready in parts: what stood in the version before is not read, or scored, again.

A commit changes a few nodes. Their passages become a population of their own beside that of all others, and each
passage is a row of one of them. What a scorer says of a passage by itself is kept a population; what it says of a
passage beside the others is worked out over the rows that the version has.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from stitch.retrieve.path.scorers.population import Population, Space
from stitch.retrieve.path.scorers.protocol import Passage

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Column = NDArray[np.float64]

_MOST_PARTS = 16
_MOST_UNUSED = 2.0
"""How many rows there may be for each passage: rows of passages that no version asks for any more are let go then."""
_MOST_NEW = 0.5
"""If more than this share of passages is new, all are read anew."""


class Populations(NamedTuple):
    """Different passages, each a row of one of some populations."""

    parts: tuple[Population, ...]
    numbers: Mapping[Passage, int]
    """The row of each passage that a part has, those of all parts counted on."""
    rows: NDArray[np.intp]
    """The rows of the passages that are asked for, in their order."""

    @property
    def size(self) -> int:
        """How many passages are asked for."""
        return len(self.rows)

    def gathered(self, columns: Sequence[Column]) -> Column:
        """Of one array for each part, the rows that are asked for."""
        import numpy as np

        return np.asarray((columns[0] if len(columns) == 1 else np.concatenate(columns))[self.rows])

    @property
    def empty(self) -> NDArray[np.bool_]:
        """Which passages have no word that carries meaning."""
        import numpy as np

        return np.concatenate([part.empty for part in self.parts])[self.rows]


def populations_of(passages: Sequence[Passage], *, space: Space, beside: Populations | None) -> Populations:
    """Make passages ready.

    Args:
        passages: Different ones.
        space: Where texts are compared.
        beside: What was made ready before, in the same space, of which most may be there again.
    """
    import numpy as np

    if beside is not None:
        new = [passage for passage in passages if passage not in beside.numbers]
        rows = len(beside.numbers) + len(new)
        grown = len(beside.parts) + bool(new)
        if len(new) <= _MOST_NEW * len(passages) and rows <= _MOST_UNUSED * len(passages) and grown <= _MOST_PARTS:
            numbers = {**beside.numbers, **{passage: place for place, passage in enumerate(new, len(beside.numbers))}}
            parts = (*beside.parts, Population(new, space=space)) if new else beside.parts
            return Populations(parts, numbers, np.array([numbers[passage] for passage in passages], np.intp))
    numbers = {passage: place for place, passage in enumerate(passages)}
    return Populations((Population(passages, space=space),), numbers, np.arange(len(passages)))
