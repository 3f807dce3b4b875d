"""The texts of a tree as numbers of words, read once for all its versions, and compared with conditions as arrays."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, islice, pairwise
from threading import RLock
from typing import TYPE_CHECKING, NamedTuple, Protocol

from stitch.core.protocols import Embedder
from stitch.embed.static import StaticEmbedder
from stitch.retrieve.path.scorers.protocol import Passage
from stitch.retrieve.path.scorers.reading import PART_ENDS, WORD, initials_of, tells

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Column = NDArray[np.float64]

Bag = tuple[int, ...]
"""A text by the numbers of its different words."""
_SUMMED_AT_ONCE = 512
"""So many sums stay in a processor's cache."""


class Lists(NamedTuple):
    """A list of numbers for each of many things, one after the other; one that is empty holds number 0."""

    places: NDArray[np.intp]
    starts: NDArray[np.intp]

    @classmethod
    def of(cls, lists: Sequence[Bag]) -> Lists:
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


class PassageRead(NamedTuple):
    """A passage by numbers: the bags of the whole and of its own texts, the bags of its parts, and its terms."""

    whole: int
    own: int
    parts: Bag
    terms: Bag


class Reading:
    """The different bags and terms (words, and pairs of words that follow each other) of passages, numbered.

    Args:
        space: Where bags are compared; if None, no bag is near a condition, and words in common have to do.
    """

    def __init__(self, space: Space | None) -> None:
        self.space, self.lock = space, RLock()
        self.words: dict[str, int] = {"": 0}
        self.bags: dict[Bag, int] = {(0,): 0}
        self.terms: dict[tuple[str, ...], int] = {("",): 0}
        self.telling = [False]
        """Of each term, whether it carries meaning."""
        self.term_bags = [0]
        self._parts: dict[str, tuple[Bag, int, Bag]] = {}
        self._known: dict[Passage, PassageRead] = {}
        self.texts = 0
        """The number of texts of all passages that were read."""

    def read(self, passage: Passage) -> PassageRead:
        """A passage by numbers; what was read before is not read again."""
        found = self._known.get(passage)
        if found is None:
            self.texts += len(passage.texts)
            words, parts, terms = self._read(passage.texts)
            own = self._read(passage.own)[0] if passage.below else words
            found = self._known[passage] = PassageRead(self._bag(words), self._bag(own), parts, terms)
        return found

    def _read(self, texts: Sequence[str]) -> tuple[Bag, Bag, Bag]:
        """The different words, bags of parts and terms of texts."""
        known = self._parts
        told = dict.fromkeys(PART_ENDS.split("\n".join(texts).lower()))
        parts = [known.get(part) or self._part(part) for part in told]
        words = tuple(dict.fromkeys(chain.from_iterable([words for words, _, _ in parts])))
        terms = tuple(dict.fromkeys(chain.from_iterable([terms for _, _, terms in parts])))
        return words, tuple([bag for _, bag, _ in parts if bag]), terms

    def _part(self, text: str) -> tuple[Bag, int, Bag]:
        said, known = WORD.findall(text), self.terms
        numbers = tuple([self.words.setdefault(word, len(self.words)) for word in dict.fromkeys(said)])
        terms = tuple([known.get(term) or self._term(term) for term in (*zip(said), *pairwise(said))])
        self._parts[text] = found = numbers, self._bag(numbers), terms
        return found

    def _term(self, words: tuple[str, ...]) -> int:
        self.terms[words] = term = len(self.terms)
        self.telling.append(len(words) > 1 or tells(words[0]))
        self.term_bags.append(self._bag(tuple(self.words[word] for word in words)))
        return term

    def _bag(self, words: Bag) -> int:
        return self.bags.setdefault(words, len(self.bags)) if words else 0


class Population:
    """Passages that are scored together, made ready for any condition.

    Args:
        passages: In the order of the nodes.
        reading: Of the tree, whatever its version.
    """

    def __init__(self, passages: Sequence[Passage], *, reading: Reading) -> None:
        import numpy as np

        self._passages, self._reading, self.count = passages, reading, len(passages)
        with reading.lock:
            read = list(map(reading.read, passages))
            self.words = list(reading.terms)
            """The words of each term."""
            self._term_bags, self._telling = np.array(reading.term_bags, np.intp), np.array(reading.telling)
        self._whole = np.array([each.whole for each in read], np.intp)
        self._own = np.array([each.own for each in read], np.intp)
        self._parts = Lists.of([each.parts for each in read])
        self._terms = Lists.of([each.terms for each in read])
        single = np.fromiter((len(term) == 1 for term in self.words), bool, len(self.words))
        self.empty = self._terms.most((self._telling & single).astype(np.float64)) == 0
        """Passages without a word that carries meaning."""

    def nearness(self, condition: str) -> dict[str, Column]:
        """The nearness of each passage as a whole, of its own words, of its nearest part and its nearest term."""
        if self._reading.space is None:
            return {}
        with self._reading.lock:
            near = self._reading.space.nearness(condition, reading=self._reading)
        return {
            "whole": near[self._whole],
            "own": near[self._own],
            "part": self._parts.most(near),
            "word": self.best_term(near[self._term_bags]),
        }

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


class Space(Protocol):
    """Compares the bags of one reading, of which there are more from call to call, with conditions."""

    def nearness(self, condition: str, *, reading: Reading) -> Column:
        """The cosine of each bag and a condition; 0 of a bag without words."""


class SummedSpace:
    """Bags as the sums of their words' vectors: only lengths are worked out, and a condition costs one product a word.

    Args:
        embedder: The table of these vectors.
    """

    def __init__(self, embedder: StaticEmbedder) -> None:
        import numpy as np

        self._embedder = embedder
        self._vectors = np.zeros((0, embedder.dimension), np.float32)
        self._lists, self._lengths = Lists.of([]), np.zeros(0)

    def nearness(self, condition: str, *, reading: Reading) -> Column:
        """As `Space.nearness`."""
        import numpy as np

        if new := list(islice(reading.bags, len(self._lengths), None)):
            words = list(islice(reading.words, len(self._vectors), None))
            self._vectors = np.concatenate([self._vectors, self._embedder.sums(words)])
            added, (places, starts) = Lists.of(new), self._lists
            self._lists = Lists(
                np.concatenate([places, added.places]), np.concatenate([starts, len(places) + added.starts])
            )
            self._lengths = np.concatenate([self._lengths, _lengths(self._vectors, added)])
        words = (self._vectors @ self._embedder.embed([condition])[0]).astype(np.float64)
        said = np.add.reduceat(words[self._lists.places], self._lists.starts)
        return np.asarray(np.divide(said, self._lengths, out=np.zeros_like(said), where=self._lengths > 1e-9))


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
    """Bags by any embedder; each different text is embedded once, whatever version of a tree it stands in.

    Args:
        embedder: Turns texts into unit vectors.
    """

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._vectors: NDArray[np.float32] | None = None

    def nearness(self, condition: str, *, reading: Reading) -> Column:
        """As `Space.nearness`."""
        import numpy as np

        known = 0 if self._vectors is None else len(self._vectors)
        if new := list(islice(reading.bags, known, None)):
            words = list(reading.words)
            vectors = np.asarray(self._embedder.embed([" ".join(words[word] for word in bag) for bag in new]))
            self._vectors = vectors if self._vectors is None else np.concatenate([self._vectors, vectors])
        return np.asarray(self._vectors @ self._embedder.embed([condition])[0], np.float64)
