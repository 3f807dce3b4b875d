"""Where texts are compared: by the table that comes with the package, or by any embedder.

The table's vector of a text is the sum of those of its words: of many texts only the lengths have to be worked out
once, and a condition then costs one product for each different word.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from stitch.core.protocols import Embedder
from stitch.embed.static import StaticEmbedder

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Column = NDArray[np.float64]
    Matrix = NDArray[np.float32]

_ROWS = 65_536
"""Vectors that are added up at once; bounds the memory it takes."""


class SummedSpace:
    """Texts by the sums of their words' vectors; a word counts once in a text.

    Args:
        embedder: The table.
    """

    def __init__(self, embedder: StaticEmbedder) -> None:
        self._embedder = embedder

    def texts(self, said: Sequence[tuple[str, ...]]) -> SummedTexts:
        """Texts, each given by its words."""
        return SummedTexts(said, self._embedder)


class SummedTexts:
    """Texts in a `SummedSpace`."""

    def __init__(self, said: Sequence[tuple[str, ...]], embedder: StaticEmbedder) -> None:
        import numpy as np

        self._embedder = embedder
        numbers: dict[str, int] = {}
        texts = [[numbers.setdefault(word, len(numbers)) for word in dict.fromkeys(text)] for text in said]
        self._words = embedder.sums([*numbers, ""])
        nothing = len(numbers)
        self._places = np.array([place for text in texts for place in (text or [nothing])], np.intp)
        self._starts = np.cumsum([0, *(max(len(text), 1) for text in texts[:-1])]).astype(np.intp)
        self._lengths = self._lengths_of(np.array([max(len(text), 1) for text in texts], np.intp))

    def _lengths_of(self, counts: NDArray[np.intp]) -> Column:
        """The lengths of the sums; texts with one number of words are added up together."""
        import numpy as np

        lengths = np.zeros(len(counts))
        for count in np.unique(counts):
            texts = np.flatnonzero(counts == count)
            for first in range(0, len(texts), max(1, _ROWS // int(count))):
                some = texts[first : first + max(1, _ROWS // int(count))]
                places = self._places[self._starts[some][:, None] + np.arange(count)]
                sums = self._words[places[:, 0]].copy()
                for column in range(1, int(count)):
                    sums += self._words[places[:, column]]
                lengths[some] = np.sqrt(np.einsum("ij,ij->i", sums, sums, dtype=np.float64))
        return lengths

    def nearness(self, condition: str) -> Column:
        """The cosine of each text and the condition; 0 of a text without words."""
        import numpy as np

        asked = self._embedder.embed([condition])[0]
        if not len(self._lengths):
            return np.zeros(0)
        said = np.add.reduceat((self._words @ asked).astype(np.float64)[self._places], self._starts)
        return np.asarray(np.divide(said, self._lengths, out=np.zeros_like(said), where=self._lengths > 1e-9))


class EmbeddedSpace:
    """Texts by any embedder; each different text is embedded once.

    Args:
        embedder: Turns texts into unit vectors.
    """

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder

    def texts(self, said: Sequence[tuple[str, ...]]) -> EmbeddedTexts:
        """Texts, each given by its words."""
        return EmbeddedTexts(said, self._embedder)


class EmbeddedTexts:
    """Texts in an `EmbeddedSpace`."""

    def __init__(self, said: Sequence[tuple[str, ...]], embedder: Embedder) -> None:
        self._embedder = embedder
        self._vectors = embedder.embed([" ".join(text) for text in said])

    def nearness(self, condition: str) -> Column:
        """The cosine of each text and the condition."""
        import numpy as np

        return np.asarray(self._vectors @ self._embedder.embed([condition])[0], np.float64)


class WordlessSpace:
    """Where no text is near another: words in common have to do."""

    def texts(self, said: Sequence[tuple[str, ...]]) -> FarTexts:
        """Texts, of which only the number matters."""
        return FarTexts(len(said))


class FarTexts:
    """Texts in a `WordlessSpace`."""

    def __init__(self, count: int) -> None:
        self._count = count

    def nearness(self, condition: str) -> Column:
        """Nothing is near."""
        import numpy as np

        return np.zeros(self._count)
