"""The lexical side of an embedded store, in process: how much each word counts in which snippet."""

from __future__ import annotations

import math
from array import array
from base64 import b64decode, b64encode
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from stitch.core.protocols import SparseVector

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Slots = NDArray[np.int64]
    Scores = NDArray[np.float64]

_SLACK = 1e-9
"""Sums of the same numbers in another order may differ by less."""

_LOOKED_UP = 16
"""A list so many times longer than what is looked for is searched; another is spread out by slot."""

_OFTEN = 4
"""A word that more than one of so many snippets has tells little, and is looked up only where that may decide."""


def pack(words: SparseVector) -> str:
    """Lexical weights as text, fit for a payload."""
    indices = np.fromiter(words.keys(), dtype="<u4", count=len(words))
    weights = np.fromiter(words.values(), dtype="<f4", count=len(words))
    return b64encode(indices.tobytes() + weights.tobytes()).decode()


class PackedWords:
    """What `pack` gave, of several snippets."""

    def __init__(self, packed: Sequence[str]) -> None:
        parts = [b64decode(each) for each in packed]
        halves = [len(part) // 2 for part in parts]
        self.words = np.frombuffer(b"".join(part[:n] for part, n in zip(parts, halves, strict=True)), dtype="<u4")
        self.weights = np.frombuffer(b"".join(part[n:] for part, n in zip(parts, halves, strict=True)), dtype="<f4")
        self.counts = np.array(halves, dtype=np.int64) // 4
        """How many words each snippet has."""

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

    def add(self, packed: PackedWords, *, sign: int = 1) -> None:
        """Count snippets; with `sign` -1, count them no longer."""
        words, counts = np.unique(packed.words, return_counts=True)
        for word, count in zip(words.tolist(), counts.tolist(), strict=True):
            self._carrying[word] = self._carrying.get(word, 0) + sign * count
        self._snippets += sign * int(np.count_nonzero(packed.counts))

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


class TenantWords:
    """The words of one tenant's snippets, by slot."""

    def __init__(self) -> None:
        self._size = 0
        self._words: dict[int, tuple[array[int], array[float]]] = {}
        self._most: dict[int, float] = {}

    def extend(self, packed: PackedWords) -> None:
        """Take in the words of the next slots."""
        first, self._size = self._size, self._size + len(packed)
        if not len(packed.words):
            return
        order = np.argsort(packed.words, kind="stable")
        slots = np.repeat(np.arange(first, self._size, dtype=np.uint32), packed.counts)[order]
        words, starts = np.unique(packed.words[order], return_index=True)
        weights = packed.weights[order]
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
        self._size = int(np.count_nonzero(alive))
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
        return [np.array([self._size]), words, most, *join(slots, "I"), *join(weights, "f")]

    @classmethod
    def load(cls, arrays: Iterator[NDArray[Any]]) -> TenantWords:
        """What was dumped."""
        own = cls()
        own._size = int(next(arrays)[0])
        words = next(arrays).tolist()
        own._most = dict(zip(words, next(arrays).tolist(), strict=True))
        slots, weights = split(arrays, "I"), split(arrays, "f")
        own._words = dict(zip(words, zip(slots, weights, strict=True), strict=True))
        return own

    def asked(self, words: SparseVector, counts: WordCounts) -> AskedWords:
        """How well the words of snippets answer those of a question."""
        return AskedWords(
            self._size,
            [
                (weight * counts.informativeness(word), self._most[word], *self._words[word])
                for word, weight in words.items()
                if word in self._words
            ],
        )


class AskedWords:
    """The BM25 scores of snippets for one question.

    Args:
        size: How many slots there are.
        words: Of each word that is asked for: how much it counts in the question, how much it counts in a snippet at
            most, and in which slots it counts how much.
    """

    def __init__(self, size: int, words: Sequence[tuple[float, float, array[int], array[float]]]) -> None:
        self._sure = np.zeros(size)
        self._often: list[tuple[float, NDArray[np.uint32], NDArray[np.float32]]] = []
        self._rest = _SLACK
        for asked, most, slots, weights in words:
            if len(slots) * _OFTEN > size:
                self._often.append((asked, np.array(slots, dtype=np.uint32), np.array(weights, dtype=np.float32)))
                self._rest += asked * most
            else:  # a snippet has a word once, so no slot stands twice in the list
                self._sure[np.array(slots)] += asked * np.array(weights, dtype=np.float64)

    def at_most(self, slots: Slots) -> Scores:
        """A score that none of these snippets exceeds."""
        return self._sure[slots] + self._rest

    def exactly(self, slots: Slots) -> Scores:
        """The score of each of these snippets."""
        scores, wanted = self._sure[slots], slots.astype(np.uint32)
        for asked, carrying, weights in self._often:
            if len(slots) * _LOOKED_UP > len(carrying):
                by_slot = np.zeros(len(self._sure), dtype=np.float32)
                by_slot[carrying] = weights
                scores += asked * by_slot[slots].astype(np.float64)
                continue
            places = np.minimum(np.searchsorted(carrying, wanted), len(carrying) - 1)
            has = carrying[places] == wanted
            scores[has] += asked * weights[places[has]].astype(np.float64)
        return scores
