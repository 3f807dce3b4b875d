"""The lexical side of an embedded store, in process: how much each word counts in which snippet."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from itertools import compress
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from stitch.core.protocols import SparseVector
from stitch.store.similarity import informativeness
from stitch.store.word_lists import WordLists

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Slots = NDArray[np.int64]
    Scores = NDArray[np.float64]

_Value = TypeVar("_Value", bound=np.generic)

_FLOAT_BYTES = _WORD_BYTES = 4
_MOST_WEIGHTS = 255
"""So many different weights a byte tells apart."""

_OFTEN = 4
"""The weights of a word that more than one of so many snippets has are spread out by slot when it is asked for."""

_FEW = 16
"""Slots that are so many times fewer than those of a word are looked for among these."""

_PENDING_WORDS = 2**14
"""So many words wait at most to be sorted in: those of many steps at once take a tenth of the time of one by one."""

_SPREAD_BYTES = 64 * 2**20
"""So much of that is kept for the next question: many have the same small words."""


def pack(words: SparseVector) -> bytes:
    """Lexical weights as bytes: how many different ones there are, these, the words, and which weight each has.

    Where there are more than a byte tells, 0, the words, and the weight of each.
    """
    indices = np.fromiter(words.keys(), dtype="<u4", count=len(words)).tobytes()
    weights = np.fromiter(words.values(), dtype="<f4", count=len(words))
    rounded = weights.tolist()
    different = sorted(set(rounded))  # there are few: `np.unique` takes three times as long
    if len(different) > _MOST_WEIGHTS:
        return b"\0" + indices + weights.tobytes()
    number = {weight: place for place, weight in enumerate(different)}
    which = bytes([number[weight] for weight in rounded])
    return bytes([len(different)]) + np.array(different, dtype="<f4").tobytes() + indices + which


def _unpack(part: bytes) -> tuple[bytes, bytes]:
    """The words, and the weight of each."""
    start = 1 + _FLOAT_BYTES * part[0]
    if not part[0]:
        middle = start + (len(part) - start) // 2
        return part[start:middle], part[middle:]
    middle = start + _WORD_BYTES * ((len(part) - start) // (_WORD_BYTES + 1))
    which = np.frombuffer(part, np.uint8, offset=middle)
    return part[start:middle], np.frombuffer(part, "<f4", part[0], 1).take(which).tobytes()


class PackedWords:
    """What `pack` gave, of several snippets."""

    def __init__(self, parts: Sequence[bytes]) -> None:
        unpacked = list(map(_unpack, parts))
        self.words = np.frombuffer(b"".join(words for words, _ in unpacked), dtype="<u4")
        self.weights = np.frombuffer(b"".join(weights for _, weights in unpacked), dtype="<f4")
        self.counts = np.array([len(words) // _WORD_BYTES for words, _ in unpacked], dtype=np.int64)
        """How many words each snippet has."""

    def __len__(self) -> int:
        return len(self.counts)


class TenantWords:
    """The words of one tenant's snippets, by slot, and how many of its living snippets have each."""

    def __init__(self) -> None:
        self._size = 0
        self._with_words = 0
        """How many living snippets have any."""
        self._dead: Counter[int] = Counter()
        """Of each word, how many of its slots are dead."""
        self._lists = WordLists()
        self._spread: dict[int, NDArray[np.float32]] = {}
        self._pending: list[PackedWords] = []
        """The words of the last slots, which are sorted in when any word is asked for."""
        self._pending_words = 0

    def extend(self, packed: PackedWords) -> None:
        """Take in the words of the next slots."""
        self._size += len(packed)
        self._with_words += int(np.count_nonzero(packed.counts))
        self._pending.append(packed)
        self._pending_words += len(packed.words)
        if self._pending_words > _PENDING_WORDS:
            self._sorted()

    def _sorted(self) -> WordLists:
        """Of each word the slots that have it, ascending, and its weight in each."""
        if self._pending:
            pending, self._pending, self._pending_words = self._pending, [], 0
            words, weights, counts = (
                np.concatenate([getattr(each, name) for each in pending]) for name in ("words", "weights", "counts")
            )
            self._sort_in(
                words, weights, np.repeat(np.arange(self._size - len(counts), self._size, dtype=np.uint32), counts)
            )
        return self._lists

    def _sort_in(self, said: NDArray[np.uint32], weights: NDArray[np.float32], slots: NDArray[np.uint32]) -> None:
        """Take in words, the weight of each, and in which slot it stands."""
        order = np.argsort(said, kind="stable")
        slots, weights = slots[order], weights[order]
        words, starts = np.unique(said[order], return_index=True)
        numbers = self._lists.numbers_of(weights)
        ends = [*starts[1:].tolist(), len(order)]
        for word, start, end in zip(words.tolist(), starts.tolist(), ends, strict=False):
            self._lists.add(word, slots[start:end], numbers[start:end])
            if (spread := self._spread.get(word)) is not None:
                if self._size <= len(spread):
                    spread[slots[start:end]] = weights[start:end]
                else:
                    del self._spread[word]
        self._lists.settle()

    def remove(self, packed: PackedWords) -> None:
        """Count snippets no longer; their slots are dead, and stay until `keep`."""
        self._with_words -= int(np.count_nonzero(packed.counts))
        self._dead.update(packed.words.tolist())

    def carrying(self, word: int) -> int:
        """How many living snippets have a word."""
        return self._sorted().count(word) - self._dead[word]

    def counted(self, words: Collection[int], slots: Slots | None = None) -> tuple[int, dict[int, int]]:
        """How many living snippets have any word, and how many each of these; of living `slots`, how many these are."""
        if slots is None:
            return self._with_words, {word: self.carrying(word) for word in words}
        asked, here, counts = np.sort(slots).astype(np.uint32), np.zeros(self._size, dtype=bool), {}
        here[slots] = True
        for word in words:
            there = self._sorted().slots(word)
            if len(asked) * _FEW < len(there):  # each is looked for, which takes less than to look at all that have it
                at = np.minimum(np.searchsorted(there, asked), len(there) - 1)
                counts[word] = int(np.count_nonzero(there[at] == asked))
            else:
                counts[word] = int(np.count_nonzero(here[there]))
        return len(asked), counts

    def carried(self, words: Collection[int], slots: Slots) -> list[frozenset[int]]:
        """Of each of these slots, which of the words it has."""
        # What ascends is looked for in less time, and of another type than the lists, each list would be copied for it.
        asked, place = np.unique(slots.astype(np.uint32), return_inverse=True)
        has = np.zeros((len(asked), len(words)), dtype=bool)
        for number, word in enumerate(words):
            if len(there := self._sorted().slots(word)):
                at = np.minimum(np.searchsorted(there, asked), len(there) - 1)
                has[:, number] = there[at] == asked
        rows = has.tolist()
        sets = {row: frozenset(compress(words, row)) for row in set(map(tuple, rows))}  # of many snippets the same
        return [sets[tuple(rows[own])] for own in place.tolist()]

    def slots(self, words: Collection[int]) -> Slots:
        """The slots that have all these words, of which there is at least one; dead ones may be among them."""
        found, *others = sorted(map(self._sorted().slots, words), key=len)
        slots = found.astype(np.int64)
        for there in others if len(slots) else ():  # in which slots ascend
            at = np.searchsorted(there, slots.astype(np.uint32))
            slots = slots[there[np.minimum(at, len(there) - 1)] == slots]
        return slots

    def keep(self, alive: NDArray[np.bool_]) -> None:
        """Forget all slots but those, which are the living ones; they are numbered anew."""
        self._sorted().keep(alive)
        self._dead.clear()
        self._size = int(np.count_nonzero(alive))
        self._spread.clear()

    def dump(self) -> list[NDArray[Any]]:
        """All of it, for `load`; no slot may be dead."""
        return [np.array([self._size, self._with_words]), *self._sorted().dump()]

    @classmethod
    def load(cls, arrays: Iterator[NDArray[Any]]) -> TenantWords:
        """What was dumped."""
        own = cls()
        own._size, own._with_words = next(arrays).tolist()
        own._lists = WordLists.load(arrays)
        return own

    def asked(self, words: SparseVector) -> AskedWords:
        """How well the words of snippets answer those of a question."""
        rare, often = np.zeros(self._size), []
        for word, weight in words.items():
            if not (there := self._sorted().count(word)):
                continue
            asked = weight * informativeness(there - self._dead[word], snippets=self._with_words)
            if there * _OFTEN > self._size:
                often.append((asked, self._by_slot(word)))
            else:  # a snippet has a word once, so no slot stands twice in the list
                rare[self._sorted().slots(word)] += asked * self._sorted().weights(word).astype(np.float64)
        return AskedWords(rare, often)

    def _by_slot(self, word: int) -> NDArray[np.float32]:
        """The weight of a word in each slot."""
        spread = self._spread.pop(word, None)
        if spread is None or len(spread) < self._size:
            spread = np.zeros(self._size + self._size // 8, dtype=np.float32)
            spread[self._sorted().slots(word)] = self._sorted().weights(word)
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
