"""Which snippets have a word, and how much it counts in each, in six bytes an occurrence.

Nearly all are in few large arrays, word by word; those that came last are in lists of their own, until there are many.
Snippets of one length have few different weights, so that these stand once, and of each occurrence the number of one.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from stitch.store.columns import Column, narrowed, with_gaps, without_gaps

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Slots = NDArray[np.uint32]

_FRESH = 65_536
"""So many occurrences at least stand in lists of their own before all are put together."""
_FRESH_SHARE = 0.5
"""Of those that are together, so many may: what is added costs the same, however many there are."""
_SHORT = 2**16
"""Of so many different weights, two bytes tell which."""


class WordLists:
    """The slots of each word, ascending, with its weights."""

    def __init__(self) -> None:
        self._words = np.zeros(0, np.uint32)
        """Those with occurrences in the large arrays, ascending."""
        self._ends = np.zeros(0, np.int64)
        """Behind which occurrence those of each word end."""
        self._slots = np.zeros(0, np.uint32)
        self._numbers: NDArray[Any] = np.zeros(0, np.uint16)
        """Of each occurrence, which of the weights it has."""
        self._weights = Column(np.float32)
        self._number_of: dict[float, int] = {}
        self._fresh: dict[int, tuple[array[int], array[int]]] = {}
        self._fresh_size = 0

    def slots(self, word: int) -> Slots:
        """The slots that have a word, as it is kept: the array must be let go before more are added."""
        own, fresh = self._slots[self._place(word)], self._fresh.get(word)
        if fresh is None:
            return own
        new: Slots = np.frombuffer(fresh[0], np.uint32)
        return np.concatenate([own, new]) if len(own) else new

    def weights(self, word: int) -> NDArray[np.float32]:
        """How much it counts in each of these slots."""
        numbers = self._numbers[self._place(word)]
        if (fresh := self._fresh.get(word)) is not None:
            numbers = np.concatenate([numbers, np.frombuffer(fresh[1], np.uint32)])
        found: NDArray[np.float32] = self._weights.values[numbers]
        return found

    def count(self, word: int) -> int:
        """How many slots have a word."""
        place, fresh = self._place(word), self._fresh.get(word)
        count: int = place.stop - place.start
        return count + (len(fresh[0]) if fresh else 0)

    def add(self, word: int, slots: Slots, numbers: NDArray[np.uint32]) -> None:
        """Add slots that stand behind all others of a word."""
        own = self._fresh.get(word)
        if own is None:
            own = self._fresh[word] = (array("I"), array("I"))
        own[0].frombytes(slots.tobytes())
        own[1].frombytes(numbers.tobytes())
        self._fresh_size += len(slots)

    def numbers_of(self, weights: NDArray[np.float32]) -> NDArray[np.uint32]:
        """The numbers of weights; those that are new get one."""
        different, which = np.unique(weights, return_inverse=True)
        new = [weight for weight in different.tolist() if weight not in self._number_of]
        self._number_of.update(zip(new, range(len(self._weights), len(self._weights) + len(new)), strict=True))
        self._weights.extend(new)
        numbers = [self._number_of[weight] for weight in different.tolist()]
        found: NDArray[np.uint32] = np.array(numbers, np.uint32)[which]
        return found

    def settle(self, *, all_of_them: bool = False) -> None:
        """Put together what stands in lists of its own, if it is much."""
        if not self._fresh_size or not (all_of_them or self._fresh_size > max(_FRESH, _FRESH_SHARE * len(self._slots))):
            return
        fresh_words = np.array(sorted(self._fresh), np.uint32)
        lists = [self._fresh[word] for word in fresh_words.tolist()]
        words = np.union1d(self._words, fresh_words)
        sizes = np.zeros((len(words), 2), np.int64)
        sizes[np.searchsorted(words, self._words), 0] = np.diff(self._ends, prepend=0)
        sizes[np.searchsorted(words, fresh_words), 1] = [len(slots) for slots, _ in lists]
        # Of each word first those that were there, then those that came last.
        fresh = np.repeat(np.tile([False, True], len(words)), sizes.ravel())
        short = len(self._weights) <= _SHORT
        self._slots = _merged(fresh, self._slots, [slots for slots, _ in lists], np.uint32)
        self._numbers = _merged(
            fresh, self._numbers, [numbers for _, numbers in lists], np.uint16 if short else np.uint32
        )
        self._words, self._ends = words, np.cumsum(sizes.sum(axis=1))
        self._fresh, self._fresh_size = {}, 0

    def keep(self, alive: NDArray[np.bool_]) -> None:
        """Forget all slots but those; they are numbered anew."""
        self.settle(all_of_them=True)
        slot_now = (np.cumsum(alive) - 1).astype(np.uint32)
        kept = alive[self._slots]
        ends = np.append(0, np.cumsum(kept))[self._ends]
        used, numbers = np.unique(self._numbers[kept], return_inverse=True)
        self._slots, self._numbers = slot_now[self._slots[kept]], numbers.astype(self._numbers.dtype)
        some = np.diff(ends, prepend=0) > 0
        self._words, self._ends = self._words[some], ends[some]
        self._name_weights(self._weights.values[used])

    def dump(self) -> list[NDArray[Any]]:
        """All of it, for `load`."""
        self.settle(all_of_them=True)
        counts = narrowed(np.diff(self._ends, prepend=0))
        return [self._words, counts, *with_gaps(self._slots), narrowed(self._numbers), self._weights.values]

    @classmethod
    def load(cls, arrays: Iterator[NDArray[Any]]) -> WordLists:
        """What was dumped."""
        own = cls()
        own._words, own._ends = next(arrays).copy(), np.cumsum(next(arrays), dtype=np.int64)
        own._slots, own._numbers = without_gaps(arrays), next(arrays).copy()
        own._name_weights(next(arrays))
        return own

    def _name_weights(self, weights: NDArray[np.float32]) -> None:
        self._weights = Column(np.float32, weights)
        self._number_of = {weight: number for number, weight in enumerate(weights.tolist())}

    def _place(self, word: int) -> slice:
        """Where the occurrences of a word stand."""
        at = int(np.searchsorted(self._words, np.uint32(word)))
        if at == len(self._words) or self._words[at] != word:
            return slice(0, 0)
        return slice(int(self._ends[at - 1]) if at else 0, int(self._ends[at]))


def _merged(
    fresh: NDArray[np.bool_], before: NDArray[Any], lists: list[array[int]], dtype: type[np.unsignedinteger[Any]]
) -> NDArray[Any]:
    merged = np.empty(len(fresh), dtype)
    merged[fresh] = np.frombuffer(b"".join(lists), np.uint32)
    merged[~fresh] = before
    return merged
