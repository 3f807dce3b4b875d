"""Passages that are scored together, made ready for any condition: their words, parts and terms as arrays."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from itertools import chain, pairwise
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeAlias

from stitch.core.protocols import Embedder
from stitch.core.text_cache import text_cache
from stitch.embed.static import StaticEmbedder
from stitch.retrieve.path.scorers.protocol import Passage
from stitch.retrieve.path.scorers.reading import initials_of, parts_of, tells

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Column = NDArray[np.float64]
    Nearness: TypeAlias = Callable[[str], Column]
    """The cosine of each of some texts and a condition; 0 of a text without words."""

_SUMMED_AT_ONCE = 512
"""So many sums stay in a processor's cache."""
_MOST_VECTORS = 100_000


class Lists(NamedTuple):
    """A list of numbers for each of many things, one after the other; one that is empty holds number 0."""

    places: NDArray[np.intp]
    starts: NDArray[np.intp]

    @classmethod
    def of(cls, lists: Sequence[Collection[int]]) -> Lists:
        """Lists of numbers."""
        import numpy as np

        filled = [each or (0,) for each in lists]
        counts = np.fromiter(map(len, filled), np.intp, len(filled))
        places = np.fromiter(chain.from_iterable(filled), np.intp, int(counts.sum()))
        return cls(places, np.cumsum(counts) - counts)

    def most(self, values: Column) -> Column:
        """Of each list, the greatest of the values of its numbers."""
        import numpy as np

        return np.asarray(np.maximum.reduceat(values[self.places], self.starts))


class Space(Protocol):
    """Compares texts, which are given as lists of numbers of words; word 0 is none."""

    def texts(self, vocabulary: Sequence[str], several: Sequence[Lists]) -> list[Nearness]:
        """The nearness of the texts of each of several lists."""


class _Read:
    """The different words, parts and terms (words, and pairs of words that follow each other) of texts, numbered.

    Args:
        passages: Have these texts.
    """

    def __init__(self, passages: Sequence[Passage]) -> None:
        self.words: dict[str, int] = {"": 0}
        self.parts: dict[tuple[int, ...], int] = {(0,): 0}
        self.terms: dict[tuple[int, ...], int] = {(0,): 0}
        self._texts = {text: self._text(text) for text in dict.fromkeys(chain(*chain(*passages)))}

    def _text(self, text: str) -> tuple[dict[int, None], ...]:
        said = [tuple(self.words.setdefault(word, len(self.words)) for word in part) for part in parts_of(text)]
        words = dict.fromkeys(chain.from_iterable(said))
        parts = (tuple(dict.fromkeys(part)) for part in said)
        terms = chain(((word,) for word in words), chain.from_iterable(map(pairwise, said)))
        return (
            words,
            dict.fromkeys(self.parts.setdefault(part, len(self.parts)) for part in parts),
            dict.fromkeys(self.terms.setdefault(term, len(self.terms)) for term in terms),
        )

    def lists(self, kind: int, texts: Sequence[Sequence[str]]) -> Lists:
        """The words (0), parts (1) or terms (2) of several texts each, every one once."""
        found = self._texts
        return Lists.of([dict.fromkeys(chain.from_iterable(found[text][kind] for text in each)) for each in texts])


class Population:
    """Passages, made ready.

    Args:
        passages: In the order of the nodes.
        space: Where texts are compared.
    """

    def __init__(self, passages: Sequence[Passage], *, space: Space) -> None:
        import numpy as np

        self._passages, self.count = passages, len(passages)
        read = _Read(passages)
        whole = [passage.texts for passage in passages]
        words, self._parts, self._terms = (read.lists(kind, whole) for kind in range(3))
        vocabulary = list(read.words)
        self.terms = [tuple(vocabulary[word] for word in term) for term in read.terms]
        single = [len(term) == 1 for term in self.terms]
        self._telling = np.array([not one or tells(term[0]) for one, term in zip(single, self.terms, strict=True)])
        self._telling[0] = False  # no word
        self.empty = self._terms.most((self._telling & np.array(single)).astype(np.float64)) == 0
        """Passages without a word that carries meaning."""
        lists = [words, Lists.of(list(read.parts)), Lists.of(list(read.terms))]
        if any(passage.below for passage in passages):
            lists.append(read.lists(0, [passage.own for passage in passages]))
        self.whole, self._part, self._term, *own = space.texts(vocabulary, lists)
        self.own = own[0] if own else self.whole

    def part(self, condition: str) -> Column:
        """The nearness of the nearest part of each passage."""
        return self._parts.most(self._part(condition))

    def term(self, condition: str) -> Column:
        """The nearness of the nearest word or pair of words of each passage."""
        return self.best_term(self._term(condition))

    def best_term(self, values: Column) -> Column:
        """Of each passage, the greatest of the values of its words and pairs."""
        import numpy as np

        return self._terms.most(np.where(self._telling, values, 0.0))

    def with_initials(self, initials: str) -> list[int]:
        """The passages that have a name with these initials."""
        return [
            place
            for place, passage in enumerate(self._passages)
            if any(initials in initials_of(text) for text in passage.texts)
        ]


class SummedSpace:
    """Texts by the sums of their words' vectors.

    Args:
        embedder: The table of these vectors.
    """

    def __init__(self, embedder: StaticEmbedder) -> None:
        self._embedder = embedder

    def texts(self, vocabulary: Sequence[str], several: Sequence[Lists]) -> list[Nearness]:
        """As `Space.texts`: only lengths are worked out once, and a condition costs one product a word."""
        import numpy as np

        vectors = self._embedder.sums(vocabulary)

        def of(lists: Lists) -> Nearness:
            lengths = _lengths(vectors, lists)

            def nearness(condition: str) -> Column:
                words = (vectors @ self._embedder.embed([condition])[0]).astype(np.float64)
                said = np.add.reduceat(words[lists.places], lists.starts)
                return np.asarray(np.divide(said, lengths, out=np.zeros_like(said), where=lengths > 1e-9))

            return nearness

        return list(map(of, several))


def _lengths(vectors: NDArray[np.float32], lists: Lists) -> Column:
    """The lengths of the sums of vectors; lists of one length are added up together."""
    import numpy as np

    counts = np.diff(np.append(lists.starts, len(lists.places)))
    lengths = np.zeros(len(counts))
    for count in np.unique(counts).tolist():
        alike = np.flatnonzero(counts == count)
        for first in range(0, len(alike), _SUMMED_AT_ONCE):
            some = alike[first : first + _SUMMED_AT_ONCE]
            sums = vectors.take(lists.places[lists.starts[some]], axis=0)
            for further in range(1, count):
                sums += vectors.take(lists.places[lists.starts[some] + further], axis=0)
            lengths[some] = np.sqrt(np.einsum("ij,ij->i", sums, sums))
    return lengths


class EmbeddedSpace:
    """Texts by any embedder; each different text is embedded once, whatever version of a tree it stands in.

    Args:
        embedder: Turns texts into unit vectors.
    """

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder

    def texts(self, vocabulary: Sequence[str], several: Sequence[Lists]) -> list[Nearness]:
        """As `Space.texts`."""
        import numpy as np

        def of(lists: Lists) -> Nearness:
            ends = [*lists.starts[1:].tolist(), len(lists.places)]
            bags = zip(lists.starts.tolist(), ends, strict=True)
            said = [" ".join(vocabulary[word] for word in lists.places[start:end].tolist()) for start, end in bags]
            known = _vectors(self)
            if len(known) > _MOST_VECTORS:
                known.clear()
            if new := [text for text in dict.fromkeys(said) if text not in known]:
                known.update(zip(new, self._embedder.embed(new), strict=True))
            vectors = np.stack([known[text] for text in said])
            return lambda condition: np.asarray(vectors @ self._embedder.embed([condition])[0], np.float64)

        return list(map(of, several))


@text_cache(maxsize=8)
def _vectors(space: EmbeddedSpace) -> dict[str, NDArray[np.float32]]:
    return {}


class WordlessSpace:
    """No text is near another: words in common have to do."""

    def texts(self, vocabulary: Sequence[str], several: Sequence[Lists]) -> list[Nearness]:
        """As `Space.texts`."""
        import numpy as np

        def of(lists: Lists) -> Nearness:
            return lambda condition: np.zeros(len(lists.starts))

        return list(map(of, several))
