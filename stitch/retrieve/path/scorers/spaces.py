"""Where texts are compared: by the table that comes with the package, or by any embedder.

The table's vector of a text is the sum of those of its words: of many texts only the lengths have to be worked out
once, and a condition then costs one product for each different word.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from stitch.core.protocols import Embedder
from stitch.core.text_cache import tell_of_clearing
from stitch.embed.static import StaticEmbedder
from stitch.retrieve.path.scorers.population import Bags, Lists

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Column = NDArray[np.float64]
    Matrix = NDArray[np.float32]

_AT_ONCE = 512
"""Texts whose words are added up at once: their sums stay in a processor's cache, which halves the time."""


class SummedSpace:
    """Texts by the sums of their words' vectors; a word counts once in a text.

    Args:
        embedder: The table.
    """

    def __init__(self, embedder: StaticEmbedder) -> None:
        self._embedder = embedder
        self._known: tuple[Sequence[str], Matrix] | None = None
        tell_of_clearing(self)

    def clear_texts(self) -> None:
        """Forget the words that were read last."""
        self._known = None

    def texts(self, said: Bags) -> SummedTexts:
        """Texts, each given by its words."""
        known = self._known
        if known is None or known[0] is not said.vocabulary:
            known = self._known = said.vocabulary, self._embedder.sums(said.vocabulary)
        return SummedTexts(said.words, known[1], self._embedder)


class SummedTexts:
    """Texts in a `SummedSpace`.

    Args:
        said: The words of each.
        words: The vector of each word.
        embedder: The table.
    """

    def __init__(self, said: Lists, words: Matrix, embedder: StaticEmbedder) -> None:
        self._said, self._words, self._embedder = said, words, embedder
        self._lengths = self._lengths_of_sums()

    def _lengths_of_sums(self) -> Column:
        """The lengths of the sums; texts with one number of words are added up together."""
        import numpy as np

        starts = self._said.starts
        counts = np.diff(np.append(starts, len(self._said.places)))
        lengths = np.zeros(len(counts))
        for count in np.unique(counts).tolist():
            texts = np.flatnonzero(counts == count)
            for first in range(0, len(texts), _AT_ONCE):
                some = starts[texts[first : first + _AT_ONCE]]
                sums = self._words.take(self._said.places[some], axis=0)
                for further in range(1, count):
                    sums += self._words.take(self._said.places[some + further], axis=0)
                lengths[texts[first : first + len(some)]] = np.sqrt(np.einsum("ij,ij->i", sums, sums))
        return lengths

    def nearness(self, condition: str) -> Column:
        """The cosine of each text and the condition; 0 of a text without words."""
        import numpy as np

        asked = self._embedder.embed([condition])[0]
        said = np.add.reduceat((self._words @ asked).astype(np.float64)[self._said.places], self._said.starts)
        return np.asarray(np.divide(said, self._lengths, out=np.zeros_like(said), where=self._lengths > 1e-9))


class EmbeddedSpace:
    """Texts by any embedder; each different text is embedded once.

    Args:
        embedder: Turns texts into unit vectors.
    """

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder

    def texts(self, said: Bags) -> EmbeddedTexts:
        """Texts, each given by its words."""
        words = [said.vocabulary[place] for place in said.words.places.tolist()]
        ends = [*said.words.starts[1:].tolist(), len(words)]
        texts = [" ".join(words[start:end]) for start, end in zip(said.words.starts.tolist(), ends, strict=True)]
        return EmbeddedTexts(texts, self._embedder)


class EmbeddedTexts:
    """Texts in an `EmbeddedSpace`.

    Args:
        said: The texts.
        embedder: Turns them into unit vectors.
    """

    def __init__(self, said: Sequence[str], embedder: Embedder) -> None:
        import numpy as np

        self._embedder = embedder
        numbers: dict[str, int] = {}
        self._places = np.array([numbers.setdefault(text, len(numbers)) for text in said], np.intp)
        self._vectors = embedder.embed(list(numbers))

    def nearness(self, condition: str) -> Column:
        """The cosine of each text and the condition."""
        import numpy as np

        return np.asarray(self._vectors @ self._embedder.embed([condition])[0], np.float64)[self._places]


class WordlessSpace:
    """Where no text is near another: words in common have to do."""

    def texts(self, said: Bags) -> FarTexts:
        """Texts, of which only the number matters."""
        return FarTexts(len(said.words.starts))


class FarTexts:
    """Texts in a `WordlessSpace`.

    Args:
        count: How many.
    """

    def __init__(self, count: int) -> None:
        self._count = count

    def nearness(self, condition: str) -> Column:
        """Nothing is near."""
        import numpy as np

        return np.zeros(self._count)
