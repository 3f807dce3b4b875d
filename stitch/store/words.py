"""The lexical side of an embedded store, in process: how much each word counts in which snippet."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from stitch.core.protocols import SparseVector
from stitch.store.similarity import informativeness

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Slots = NDArray[np.int64]
    Scores = NDArray[np.float64]

_Value = TypeVar("_Value", bound=np.generic)

_OFTEN = 4
"""The weights of a word that more than one of so many snippets has are spread out by slot when it is asked for."""

_FEW = 16
"""Slots that are so many times fewer than those of a word are looked for among these."""

_PENDING_WORDS = 2**14
"""So many words wait at most to be sorted in: those of many steps at once take a tenth of the time of one by one."""

_SPREAD_BYTES = 64 * 2**20
"""So much of that is kept for the next question: many have the same small words."""


def pack(words: SparseVector) -> bytes:
    """Lexical weights as bytes: the words, then the weight of each."""
    indices = np.fromiter(words.keys(), dtype="<u4", count=len(words))
    weights = np.fromiter(words.values(), dtype="<f4", count=len(words))
    return indices.tobytes() + weights.tobytes()


class PackedWords:
    """What `pack` gave, of several snippets."""

    words: NDArray[np.uint32]
    weights: NDArray[np.float32]
    counts: NDArray[np.int64]
    """How many words each snippet has."""

    def __init__(self, parts: Sequence[bytes]) -> None:
        halves = [len(part) // 2 for part in parts]
        self.words = np.frombuffer(b"".join(part[:n] for part, n in zip(parts, halves, strict=True)), dtype="<u4")
        self.weights = np.frombuffer(b"".join(part[n:] for part, n in zip(parts, halves, strict=True)), dtype="<f4")
        self.counts = np.array(halves, dtype=np.int64) // 4

    def __len__(self) -> int:
        return len(self.counts)


def join(lists: Iterable[array[Any]], code: str) -> list[NDArray[Any]]:
    """Many arrays as two: their lengths, and one after the other."""
    parts = list(lists)
    return [np.array([len(part) for part in parts], np.int64), np.frombuffer(b"".join(parts), np.dtype(code))]


def split(arrays: Iterator[NDArray[Any]], code: str) -> list[array[Any]]:
    """Many arrays again, of the two that `join` made."""
    ends = list(accumulate(next(arrays).tolist()))
    data = next(arrays).tobytes()
    size = np.dtype(code).itemsize
    return [array(code, data[start * size : end * size]) for start, end in zip([0, *ends], ends, strict=False)]


class TenantWords:
    """The words of one tenant's snippets, by slot, and how many of its living snippets have each."""

    def __init__(self) -> None:
        self._size = 0
        self._with_words = 0
        """How many living snippets have any."""
        self._dead: Counter[int] = Counter()
        """Of each word, how many of its slots are dead."""
        self._words: dict[int, tuple[array[int], array[float]]] = {}
        self._spread: dict[int, NDArray[np.float32]] = {}
        self._pending: list[PackedWords] = []
        """The words of the last slots, which are sorted in when any word is asked for."""
        self._pending_words = 0

    def extend(self, packed: PackedWords) -> None:
        """Take in the words of the next slots."""
        self._size += len(packed)
        self._with_words += int(np.count_nonzero(packed.counts))
        self._pending.append(packed)
        self._pending_words += len(packed.words) + len(packed)  # a snippet without words waits too
        if self._pending_words > _PENDING_WORDS:
            self._sorted()

    def _sorted(self) -> dict[int, tuple[array[int], array[float]]]:
        """Of each word the slots that have it, ascending, and its weight in each."""
        if self._pending:
            pending, self._pending, self._pending_words = self._pending, [], 0
            words, weights, counts = (
                np.concatenate([getattr(each, name) for each in pending]) for name in ("words", "weights", "counts")
            )
            self._sort_in(
                words, weights, np.repeat(np.arange(self._size - len(counts), self._size, dtype=np.uint32), counts)
            )
        return self._words

    def _sort_in(self, said: NDArray[np.uint32], weights: NDArray[np.float32], slots: NDArray[np.uint32]) -> None:
        """Take in words, the weight of each, and in which slot it stands."""
        if not len(said):
            return
        order = np.argsort(said, kind="stable")
        slots, weights = slots[order], weights[order]
        words, starts = np.unique(said[order], return_index=True)
        ends = [*starts[1:].tolist(), len(order)]
        for word, start, end in zip(words.tolist(), starts.tolist(), ends, strict=True):
            own = self._words.get(word)
            if own is None:
                own = self._words[word] = (array("I"), array("f"))
            own[0].frombytes(slots[start:end].tobytes())
            own[1].frombytes(weights[start:end].tobytes())
            if (spread := self._spread.get(word)) is not None:
                if self._size <= len(spread):
                    spread[slots[start:end]] = weights[start:end]
                else:
                    del self._spread[word]

    def remove(self, packed: PackedWords) -> None:
        """Count snippets no longer; their slots are dead, and stay until `keep`."""
        self._with_words -= int(np.count_nonzero(packed.counts))
        self._dead.update(packed.words.tolist())

    def carrying(self, word: int) -> int:
        """How many living snippets have a word."""
        slots, _ = self._sorted().get(word, ((), ()))
        return len(slots) - self._dead[word]

    def counted(self, words: Collection[int], slots: Slots | None = None) -> tuple[int, dict[int, int]]:
        """How many living snippets have any word, and how many each of these; of living `slots`, how many these are."""
        if slots is None:
            return self._with_words, {word: self.carrying(word) for word in words}
        asked, here, counts = np.sort(slots).astype(np.uint32), np.zeros(self._size, dtype=bool), {}
        here[slots], known = True, self._sorted()
        for word in words:
            there = np.frombuffer(known[word][0], dtype=np.uint32) if word in known else asked[:0]
            if len(asked) * _FEW < len(there):  # each is looked for, which takes less than to look at all that have it
                at = np.minimum(np.searchsorted(there, asked), len(there) - 1)
                counts[word] = int(np.count_nonzero(there[at] == asked))
            else:
                counts[word] = int(np.count_nonzero(here[there]))
        return len(asked), counts

    def carried(self, words: Collection[int], slots: Slots) -> list[frozenset[int]]:
        """Of each of these slots, which of the words it has."""
        carried: list[list[int]] = [[] for _ in slots]
        order = np.argsort(slots)  # what ascends is looked for in less time
        # Of another type than the lists, each list would be copied to be searched.
        asked, known = slots[order].astype(np.uint32), self._sorted()
        for word in words:
            there = np.frombuffer(known[word][0], dtype=np.uint32) if word in known else ()
            if len(there):
                at = np.minimum(np.searchsorted(there, asked), len(there) - 1)
                for place in order[there[at] == asked].tolist():
                    carried[place].append(word)
        return list(map(frozenset, carried))

    def slots(self, words: Collection[int]) -> Slots:
        """The slots that have all these words, of which there is at least one; dead ones may be among them."""
        known = self._sorted()
        if not all(word in known for word in words):
            return np.empty(0, dtype=np.int64)
        found, *others = sorted((known[word][0] for word in words), key=len)
        slots = np.array(found)
        for other in others:  # in which slots ascend
            at = np.searchsorted(there := np.frombuffer(other, dtype=np.uint32), slots)
            slots = slots[there[np.minimum(at, len(there) - 1)] == slots]
        return slots.astype(np.int64)

    def keep(self, alive: NDArray[np.bool_]) -> None:
        """Forget all slots but those, which are the living ones; they are numbered anew."""
        known = self._sorted()
        self._dead.clear()
        slot_now = (np.cumsum(alive) - 1).astype(np.uint32)
        self._size = int(np.count_nonzero(alive))
        self._spread.clear()
        for word, (slots, weights) in list(known.items()):
            kept = alive[np.array(slots)]
            if kept.any():
                left = slot_now[np.array(slots)[kept]]
                known[word] = (
                    array("I", left.tobytes()),
                    array("f", np.array(weights, dtype=np.float32)[kept].tobytes()),
                )
            else:
                del known[word]

    def dump(self) -> list[NDArray[Any]]:
        """All of it, for `load`; no slot may be dead."""
        known = self._sorted()
        words = np.fromiter(known, np.uint32, len(known))
        slots, weights = zip(*known.values(), strict=True) if known else ((), ())
        return [np.array([self._size, self._with_words]), words, *join(slots, "I"), *join(weights, "f")]

    @classmethod
    def load(cls, arrays: Iterator[NDArray[Any]]) -> TenantWords:
        """What was dumped."""
        own = cls()
        own._size, own._with_words = next(arrays).tolist()
        words = next(arrays).tolist()
        slots, weights = split(arrays, "I"), split(arrays, "f")
        own._words = dict(zip(words, zip(slots, weights, strict=True), strict=True))
        return own

    def asked(self, words: SparseVector) -> AskedWords:
        """How well the words of snippets answer those of a question."""
        rare, often, known = np.zeros(self._size), [], self._sorted()
        for word, weight in words.items():
            if word not in known:
                continue
            asked = weight * informativeness(self.carrying(word), snippets=self._with_words)
            slots, weights = known[word]
            if len(slots) * _OFTEN > self._size:
                often.append((asked, self._by_slot(word)))
            else:  # a snippet has a word once, so no slot stands twice in the list
                rare[np.array(slots, dtype=np.int64)] += asked * np.array(weights, dtype=np.float64)
        return AskedWords(rare, often)

    def _by_slot(self, word: int) -> NDArray[np.float32]:
        """The weight of a word in each slot."""
        spread = self._spread.pop(word, None)
        if spread is None or len(spread) < self._size:
            spread = np.zeros(self._size + self._size // 8, dtype=np.float32)
            slots, weights = self._words[word]
            spread[np.array(slots)] = np.array(weights)
        while self._spread and (len(self._spread) + 1) * spread.nbytes > _SPREAD_BYTES:
            del self._spread[next(iter(self._spread))]
        self._spread[word] = spread  # last: what was not asked for longest is dropped first
        return spread


class AskedWords:
    """The BM25 scores of snippets for one question.

    Args:
        rare: By slot, what the rare words of the question score.
        often: Of each frequent word: how much it counts in the question, and by slot, how much in a snippet.
    """

    def __init__(self, rare: Scores, often: Sequence[tuple[float, NDArray[np.float32]]]) -> None:
        self._rare, self._often = rare, often

    def scores(self, slots: Slots) -> Scores:
        """The score of each of these snippets, whose slots ascend."""
        scores: Scores = at(slots, self._rare).astype(np.float64)
        for asked, weights in self._often:
            scores += np.multiply(at(slots, weights), asked, dtype=np.float64)
        return scores


def at(slots: Slots, values: NDArray[_Value]) -> NDArray[_Value]:
    """The values of slots, which ascend; if none between them is left out, nothing has to be gathered."""
    if len(slots) and (first := int(slots[0])) + len(slots) == (end := int(slots[-1]) + 1):
        return values[first:end]
    return values.take(slots)  # a third faster than indexing
