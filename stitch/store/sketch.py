"""What is kept in process of vectors and words, so that the engine has to score few snippets and the order is exact.

Of a vector the first coordinates are kept and how long the rest is: by Cauchy and Schwarz that bounds its cosine with
any other. Of words everything is kept: how much each counts in which snippet.
"""

from __future__ import annotations

import math
from array import array
from base64 import b64decode, b64encode
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from stitch.core.protocols import SparseVector
from stitch.store.similarity import Similarity, lexical_similarity

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Slots = NDArray[np.int64]
    Scores = NDArray[np.float64]

_COORDINATES = 32
"""How much of a vector is kept. The default embedder's come in the order of their variance: 32 of 256 leave some
hundreds of 10,000 snippets undecided (measured)."""

_SLACK = 1e-5
"""What is computed in single precision may be off by less."""

_OFTEN = 4
"""A word that more than one of so many snippets has tells little, and is looked up only for those that are left."""


def sketches_of(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """The sketch of each vector: the first coordinates of its direction, and the length of the rest."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    units = vectors / np.where(lengths > 0, lengths, 1.0)
    rest = np.linalg.norm(units[:, _COORDINATES:], axis=1, keepdims=True)
    return np.concatenate([units[:, :_COORDINATES], rest], axis=1, dtype=np.float32)


def pack(sketch: NDArray[np.float32], words: SparseVector) -> str:
    """A sketch and lexical weights as text, fit for a payload."""
    indices = np.fromiter(words.keys(), dtype="<u4", count=len(words))
    weights = np.fromiter(words.values(), dtype="<f4", count=len(words))
    return b64encode(sketch.astype("<f4", copy=False).tobytes() + indices.tobytes() + weights.tobytes()).decode()


class Sketches:
    """What `pack` gave, of several snippets."""

    def __init__(self, packed: Sequence[str], *, dimension: int) -> None:
        width = min(dimension, _COORDINATES) + 1
        head = 4 * width
        parts = [b64decode(each) for each in packed]
        counts = [(len(part) - head) // 8 for part in parts]
        self.vectors = np.frombuffer(b"".join(part[:head] for part in parts), dtype="<f4").reshape(len(parts), width)
        middles = [head + 4 * count for count in counts]
        self.words = np.frombuffer(
            b"".join(part[head:middle] for part, middle in zip(parts, middles, strict=True)), dtype="<u4"
        )
        self.weights = np.frombuffer(
            b"".join(part[middle:] for part, middle in zip(parts, middles, strict=True)), dtype="<f4"
        )
        self.counts = np.array(counts, dtype=np.int64)

    def __len__(self) -> int:
        return len(self.counts)


def join(lists: Iterable[array[Any]], code: str) -> list[NDArray[Any]]:
    """Many arrays as two: their lengths, and one after the other."""
    parts = list(lists)
    return [np.array([len(part) for part in parts], np.int64), np.frombuffer(b"".join(parts), np.dtype(code))]


def split(arrays: Iterator[NDArray[Any]], code: str) -> list[array[Any]]:
    """Many arrays again, of the two that `join` made."""
    ends = np.cumsum(next(arrays)).tolist()
    data = next(arrays).tobytes()
    size = np.dtype(code).itemsize
    return [array(code, data[start * size : end * size]) for start, end in zip([0, *ends], ends, strict=False)]


class WordCounts:
    """How many snippets of a store have each word: what the inverse document frequency is made of."""

    def __init__(self) -> None:
        self._carrying: dict[int, int] = {}
        self._snippets = 0

    def add(self, sketches: Sketches, *, sign: int = 1) -> None:
        """Count snippets; with `sign` -1, count them no longer."""
        words, counts = np.unique(sketches.words, return_counts=True)
        for word, count in zip(words.tolist(), counts.tolist(), strict=True):
            self._carrying[word] = self._carrying.get(word, 0) + sign * count
        self._snippets += sign * int(np.count_nonzero(sketches.counts))

    def dump(self) -> list[NDArray[Any]]:
        """All of it, for `load`."""
        there = {word: count for word, count in self._carrying.items() if count}
        words, counts = (np.fromiter(each, np.int64, len(there)) for each in (there.keys(), there.values()))
        return [words, counts, np.array([self._snippets])]

    @classmethod
    def load(cls, arrays: Iterator[NDArray[Any]]) -> WordCounts:
        """What was dumped."""
        counts = cls()
        counts._carrying = dict(zip(next(arrays).tolist(), next(arrays).tolist(), strict=True))
        counts._snippets = int(next(arrays)[0])
        return counts

    def informativeness(self, word: int) -> float:
        """The inverse document frequency, as Qdrant defines it."""
        carrying = self._carrying.get(word, 0)
        return math.log(1 + (self._snippets - carrying + 0.5) / (carrying + 0.5))


class TenantSketches:
    """The sketches of one tenant's snippets, by slot."""

    def __init__(self) -> None:
        self._size = 0
        self._vectors: NDArray[np.float32] = np.empty((0, 0), dtype=np.float32)
        self._words: dict[int, tuple[array[int], array[float]]] = {}
        self._most: dict[int, float] = {}

    def extend(self, sketches: Sketches) -> None:
        """Take in the sketches of the next slots."""
        first, self._size = self._size, self._size + len(sketches)
        if self._size > len(self._vectors):
            grown = np.empty((max(self._size, len(self._vectors) * 5 // 4), sketches.vectors.shape[1]), np.float32)
            if first:
                grown[:first] = self._vectors[:first]
            self._vectors = grown
        self._vectors[first : self._size] = sketches.vectors
        if not len(sketches.words):
            return
        order = np.argsort(sketches.words, kind="stable")
        slots = np.repeat(np.arange(first, self._size, dtype=np.uint32), sketches.counts)[order]
        words, starts = np.unique(sketches.words[order], return_index=True)
        weights = sketches.weights[order]
        most = np.maximum.reduceat(weights, starts).tolist()
        ends = [*starts[1:].tolist(), len(order)]
        for word, start, end, top in zip(words.tolist(), starts.tolist(), ends, most, strict=True):
            own = self._words.get(word)
            if own is None:
                own = self._words[word] = (array("I"), array("f"))
            own[0].frombytes(slots[start:end].tobytes())
            own[1].frombytes(weights[start:end].tobytes())
            self._most[word] = max(self._most.get(word, 0.0), top)

    def keep(self, alive: NDArray[np.bool_]) -> None:
        """Forget all slots but those; they are numbered anew."""
        slot_now = (np.cumsum(alive) - 1).astype(np.uint32)
        self._vectors = self._vectors[: self._size][alive]
        self._size = len(self._vectors)
        for word, (slots, weights) in list(self._words.items()):
            kept = alive[np.array(slots)]
            if kept.any():
                left = slot_now[np.array(slots)[kept]]
                self._words[word] = (
                    array("I", left.tobytes()),
                    array("f", np.array(weights, dtype=np.float32)[kept].tobytes()),
                )
            else:
                del self._words[word], self._most[word]

    def dump(self) -> list[NDArray[Any]]:
        """All of it, for `load`."""
        words = np.fromiter(self._words, np.uint32, len(self._words))
        most = np.array([self._most[word] for word in self._words], np.float32)
        slots, weights = zip(*self._words.values(), strict=True) if self._words else ((), ())
        return [self._vectors[: self._size], words, most, *join(slots, "I"), *join(weights, "f")]

    @classmethod
    def load(cls, arrays: Iterator[NDArray[Any]]) -> TenantSketches:
        """What was dumped."""
        sketches = cls()
        sketches._vectors = next(arrays)
        sketches._size = len(sketches._vectors)
        words = next(arrays).tolist()
        sketches._most = dict(zip(words, next(arrays).tolist(), strict=True))
        slots, weights = split(arrays, "I"), split(arrays, "f")
        sketches._words = dict(zip(words, zip(slots, weights, strict=True), strict=True))
        return sketches

    def asked(self, similarity: Similarity, counts: WordCounts) -> AskedSketches:
        """What the sketches tell of the similarity to a question."""
        words = {
            word: (weight * counts.informativeness(word), self._most[word], *self._words[word])
            for word, weight in (similarity.words or {}).items()
            if word in self._words
        }
        return AskedSketches(similarity, self._vectors[: self._size], words)


class AskedSketches:
    """What sketches tell of the similarity of snippets to one question."""

    def __init__(
        self,
        similarity: Similarity,
        vectors: NDArray[np.float32],
        words: Mapping[int, tuple[float, float, array[int], array[float]]],
    ) -> None:
        self._similarity = similarity
        self._vectors = vectors
        self._sure = np.zeros(len(vectors))
        self._often: list[tuple[float, array[int], array[float]]] = []
        self._at_most = 0.0
        for asked, most, slots, weights in words.values():
            if len(slots) * _OFTEN > len(vectors):
                self._often.append((asked, slots, weights))
                self._at_most += asked * most
            else:  # a snippet has a word once, so no slot stands twice in the list
                self._sure[np.array(slots)] += asked * np.array(weights, dtype=np.float64)

    def at_most(self, slots: Slots) -> Scores:
        """A similarity that none of these snippets exceeds."""
        similarity = self._similarity
        bound = np.full(len(slots), _SLACK)
        if similarity.words:
            bound += similarity.lexical_share * lexical_similarity(self._sure[slots] + self._at_most)
        if similarity.vector:
            asked = sketches_of(np.array([similarity.vector], dtype=np.float32))[0]
            # Few rows are gathered, of many all are multiplied: that reads memory in order.
            few = 2 * len(slots) < len(self._vectors)
            bound += similarity.dense_share * (
                self._vectors[slots] @ asked if few else (self._vectors @ asked)[slots]
            ).astype(np.float64)
        return bound

    def lexicals(self, slots: Slots) -> Scores:
        """The BM25 scores of these snippets."""
        scores = self._sure[slots]
        for asked, carrying, weights in self._often:
            there = np.array(carrying, dtype=np.int64)
            places = np.minimum(np.searchsorted(there, slots), len(there) - 1)
            has = there[places] == slots
            scores[has] += asked * np.array(weights, dtype=np.float64)[places[has]]
        return scores
