"""The texts of a tree, read once for all its versions, and compared with conditions as arrays."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, islice, pairwise
from threading import RLock
from typing import TYPE_CHECKING, NamedTuple

from stitch.core.protocols import Embedder
from stitch.retrieve.path.scorers.protocol import Passage
from stitch.retrieve.path.scorers.reading import PART_ENDS, WORD, initials_of, tells, words_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Column = NDArray[np.float64]


class PassageRead(NamedTuple):
    """A passage by numbers: of what is embedded of it, its own text and its parts; and of its terms."""

    own: int
    parts: tuple[int, ...]
    terms: tuple[int, ...]
    """Of words that carry meaning, and of pairs of words that follow each other."""


class PassageIndex:
    """Numbered texts of passages and of their parts, each embedded once.

    Args:
        embedder: Compares texts; if None, none is near a condition, and words in common have to do.
    """

    def __init__(self, embedder: Embedder | None) -> None:
        self.embedder, self.lock = embedder, RLock()
        self._numbers: dict[str, int] = {"": 0}
        self._vectors: NDArray[np.float32] | None = None
        self.terms: dict[str, int] = {"": 0}
        self._parts: dict[str, tuple[int, tuple[int, ...]]] = {}
        self._known: dict[Passage, PassageRead] = {}

    def read(self, passage: Passage) -> PassageRead:
        """A passage; what was read before is not read again."""
        found = self._known.get(passage)
        if found is None:
            told = dict.fromkeys(PART_ENDS.split("\n".join(passage.texts).lower()))
            parts = [self._parts.get(part) or self._part(part) for part in told]
            terms = tuple(dict.fromkeys(chain.from_iterable([terms for _, terms in parts])))
            own = self._number(words_of("\n".join(passage.own)))
            found = self._known[passage] = PassageRead(own, tuple([part for part, _ in parts]), terms)
        return found

    def _part(self, text: str) -> tuple[int, tuple[int, ...]]:
        words = WORD.findall(text)
        terms = (*filter(tells, words), *map(" ".join, pairwise(words)))
        numbers = tuple([self.terms.setdefault(term, len(self.terms)) for term in terms])
        self._parts[text] = found = self._number(words), numbers
        return found

    def _number(self, words: Sequence[str]) -> int:
        return self._numbers.setdefault(" ".join(words), len(self._numbers))

    def nearness(self, condition: str, *, embedder: Embedder) -> Column:
        """The cosine of each text and a condition, in the order of their numbers."""
        import numpy as np

        known = 0 if self._vectors is None else len(self._vectors)
        if new := list(islice(self._numbers, known, None)):
            vectors = np.asarray(embedder.embed(new))
            self._vectors = vectors if self._vectors is None else np.concatenate([self._vectors, vectors])
        return np.asarray(self._vectors @ embedder.embed([condition])[0], np.float64)


class Population:
    """Passages that are scored together, made ready for any condition."""

    def __init__(self, passages: Sequence[Passage], *, index: PassageIndex) -> None:
        import numpy as np

        self._passages, self._index, self.count = passages, index, len(passages)
        with index.lock:
            read = list(map(index.read, passages))
            self.terms = list(index.terms)
            """Words and pairs in any of them, or in other versions, and one that is empty."""
        self._own = np.array([each.own for each in read], np.intp)
        self._parts, self._terms = _Lists([each.parts for each in read]), _Lists([each.terms for each in read])
        self.empty = self.best_term([float(bool(term) and " " not in term) for term in self.terms]) == 0
        """Passages without a word that carries meaning."""

    def nearness(self, condition: str) -> dict[str, Column]:
        """The nearness of the own text of each passage, and of its nearest part."""
        if (embedder := self._index.embedder) is None:
            return {}
        with self._index.lock:
            near = self._index.nearness(condition, embedder=embedder)
        return {"own": near[self._own], "part": self._parts.most(near)}

    def best_term(self, values: Sequence[float]) -> Column:
        """The greatest value among the terms of each passage."""
        import numpy as np

        return self._terms.most(np.array(values))

    def with_initials(self, initials: str) -> list[int]:
        """The passages that have a name with these initials."""
        return [
            place
            for place, passage in enumerate(self._passages)
            if any(initials in initials_of(text) for text in passage.texts)
        ]


class _Lists:
    """Numbers of each of many things, one after the other; number 0 of a thing that has none."""

    def __init__(self, lists: Sequence[Sequence[int]]) -> None:
        import numpy as np

        filled = [each or (0,) for each in lists]
        counts = np.fromiter(map(len, filled), np.intp, len(filled))
        self._places = np.fromiter(chain.from_iterable(filled), np.intp, int(counts.sum()))
        self._starts = np.cumsum(counts) - counts

    def most(self, values: Column) -> Column:
        """The greatest value among the numbers of each thing."""
        import numpy as np

        return np.asarray(np.maximum.reduceat(values[self._places], self._starts))
