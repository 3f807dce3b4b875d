"""What an index remembers of each snippet, in a few bytes: numbers, texts and ids by slot."""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, DTypeLike, NDArray

_HALF = 2**64 - 1
_FREE, _GONE = -1, -2
_LEAST = 64
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_UUIDS = re.compile(rf"(?:{_UUID.pattern}\n)*")
_FEW = 16
_WIDE = 255
"""A gap that a byte does not hold."""


def narrowed(values: NDArray[Any]) -> NDArray[Any]:
    """Whole numbers in the smallest type that has them all, as they are saved."""
    if values.dtype.kind not in "iu" or not len(values):
        return values
    return values.astype(np.promote_types(np.min_scalar_type(values.min()), np.min_scalar_type(values.max())))


def with_gaps(values: NDArray[np.uint32]) -> list[NDArray[Any]]:
    """Numbers that mostly ascend as two arrays: by how much each is larger, a byte each, and those that take more.

    What is smaller than the one before is larger by what is left to 2**32.
    """
    gaps = np.diff(values, prepend=np.uint32(0))
    return [np.minimum(gaps, _WIDE).astype(np.uint8), gaps[gaps >= _WIDE]]


def without_gaps(arrays: Iterator[NDArray[Any]]) -> NDArray[np.uint32]:
    """The numbers of which `with_gaps` made the next two arrays."""
    gaps, wide = next(arrays).astype(np.uint32), next(arrays)
    gaps[gaps == _WIDE] = wide
    return np.cumsum(gaps, dtype=np.uint32)


class Column:
    """Numbers of one type, one a slot."""

    def __init__(self, dtype: DTypeLike, values: ArrayLike = ()) -> None:
        self._room = np.array(values, dtype=dtype)
        self._size = len(self._room)

    def __len__(self) -> int:
        return self._size

    @property
    def values(self) -> NDArray[Any]:
        """The numbers, not copied: what is written there is written here, until more are added."""
        return self._room[: self._size]

    def extend(self, values: Sequence[Any] | NDArray[Any]) -> None:
        """Add numbers at the end."""
        size = self._size + len(values)
        if size > len(self._room):
            room = np.empty(size + size // 8 + _LEAST, dtype=self._room.dtype)
            room[: self._size] = self.values
            self._room = room
        self._room[self._size : size] = values
        self._size = size

    def keep(self, alive: NDArray[np.bool_]) -> None:
        """Forget all others."""
        self._room = self.values[alive]
        self._size = len(self._room)


class Texts:
    """Short texts, one a slot."""

    def __init__(self) -> None:
        self._bytes = bytearray()
        self._ends = Column(np.int64)

    def __getitem__(self, slot: int) -> str:
        ends = self._ends.values
        return self._bytes[ends[slot - 1] if slot else 0 : ends[slot]].decode()

    def extend(self, texts: Iterable[str]) -> None:
        """Add texts at the end."""
        encoded = [text.encode() for text in texts]
        first = len(self._bytes)
        self._bytes += b"".join(encoded)
        self._ends.extend(first + np.cumsum([len(text) for text in encoded], dtype=np.int64))

    def keep(self, alive: NDArray[np.bool_]) -> None:
        """Forget all others."""
        kept = [self[slot] for slot in np.flatnonzero(alive).tolist()]
        self._bytes, self._ends = bytearray(), Column(np.int64)
        self.extend(kept)

    def dump(self) -> list[NDArray[Any]]:
        """All of it, for `load`."""
        return [np.frombuffer(bytes(self._bytes), np.uint8), narrowed(np.diff(self._ends.values, prepend=0))]

    @classmethod
    def load(cls, arrays: Iterator[NDArray[Any]]) -> Texts:
        """What was dumped."""
        texts = cls()
        texts._bytes = bytearray(next(arrays).tobytes())
        texts._ends = Column(np.int64, np.cumsum(next(arrays), dtype=np.int64))
        return texts


class Ids:
    """Which slot has which id. Ids are UUIDs as `snippet_id` writes them; 16 bytes each and a hash table of slots.

    A dictionary of the same would take ten times as much.
    """

    def __init__(self) -> None:
        self._high, self._low = array("Q"), array("Q")
        self._table = array("i", [_FREE]) * _LEAST
        self._used = 0

    def find(self, snippet: str) -> int | None:
        """The slot of an id; None if it has none, or is no UUID."""
        place = self._place(snippet)
        return None if place is None else self._table[place]

    def find_all(self, snippets: Sequence[str]) -> dict[str, int]:
        """The slots of those of these ids that have one, by id."""
        lines = "".join([f"{name}\n" for name in snippets])
        if len(snippets) < _FEW or not len(self._low) or not _UUIDS.fullmatch(lines):
            return {name: slot for name in snippets if (slot := self.find(name)) is not None}
        asked = np.frombuffer(bytes.fromhex(lines.replace("-", "")), ">u8").astype(np.uint64).reshape(-1, 2)
        table, last = np.frombuffer(self._table, np.int32), len(self._table) - 1
        known = [np.frombuffer(half, np.uint64) for half in (self._high, self._low)]
        places = (asked[:, 1] & np.uint64(last)).astype(np.int64)
        slots, left = np.full(len(asked), _FREE), np.arange(len(asked))
        while len(left):  # as `_place`, for all of them at once
            there = table[places[left]]
            same = (there >= 0) & (known[0][there] == asked[left, 0]) & (known[1][there] == asked[left, 1])
            slots[left[same]] = there[same]
            left = left[~same & (there != _FREE)]
            places[left] = (places[left] + 1) & last
        return {name: slot for name, slot in zip(snippets, slots.tolist(), strict=True) if slot >= 0}

    def names(self, slots: NDArray[np.int64]) -> list[str]:
        """The ids of slots."""
        if not len(slots):
            return []
        halves = [np.frombuffer(half, np.uint64)[slots] for half in (self._high, self._low)]
        digits = np.stack(halves, axis=1).astype(">u8").tobytes().hex()
        return [_hyphened(digits[start : start + 32]) for start in range(0, len(digits), 32)]

    def append(self, snippet: str) -> int:
        """Give the next slot to an id that has none, and return the slot.

        Raises:
            ValueError: It is no UUID.
        """
        number = _number(snippet)
        if number is None:
            raise ValueError(f"{snippet!r} is not the id of a snippet")
        slot = len(self._low)
        self._high.append(number >> 64)
        self._low.append(number & _HALF)
        self._used += 1
        if 2 * self._used > len(self._table):
            there = np.array(self._table)
            self._spread(np.append(there[there >= 0], slot))
            return slot
        mask = len(self._table) - 1
        place = number & mask
        while self._table[place] != _FREE:
            place = (place + 1) & mask
        self._table[place] = slot
        return slot

    def remove(self, snippet: str) -> int:
        """Take its slot from an id, and return the slot; it stays empty.

        Raises:
            KeyError: It has none.
        """
        place = self._place(snippet)
        if place is None:
            raise KeyError(snippet)
        slot, self._table[place] = self._table[place], _GONE
        return slot

    def keep(self, alive: NDArray[np.bool_]) -> None:
        """Forget all other slots; those are numbered anew."""
        self._high = array("Q", np.array(self._high)[alive].tobytes())
        self._low = array("Q", np.array(self._low)[alive].tobytes())
        self._spread(np.arange(len(self._low)))

    def dump(self) -> list[NDArray[Any]]:
        """All of it, for `load`; every slot has to have its id."""
        return [np.array(self._high), np.array(self._low)]

    @classmethod
    def load(cls, arrays: Iterator[NDArray[Any]]) -> Ids:
        """What was dumped."""
        ids = cls()
        ids._high, ids._low = (array("Q", next(arrays).tobytes()) for _ in range(2))
        ids._spread(np.arange(len(ids._low)))
        return ids

    def _place(self, snippet: str) -> int | None:
        number = _number(snippet)
        if number is None:
            return None
        high, low, mask = number >> 64, number & _HALF, len(self._table) - 1
        place = low & mask
        while (slot := self._table[place]) != _FREE:
            if slot != _GONE and self._low[slot] == low and self._high[slot] == high:
                return place
            place = (place + 1) & mask
        return None

    def _spread(self, slots: NDArray[Any]) -> None:
        """Make the table anew of these slots, with room for as many again before it is half full."""
        size = max(_LEAST, 1 << (4 * len(slots) - 1).bit_length())
        table = np.full(size, _FREE, dtype=np.int32)
        left, self._used = slots.astype(np.int64), len(slots)
        if len(left) <= _FEW:  # of many tenants most are small
            self._table = self._spread_few(slots.tolist(), size)
            return
        places = (np.array(self._low, dtype=np.uint64)[left] & np.uint64(size - 1)).astype(np.int64)
        while len(left):  # each goes to the next place that is free; of several, the first may have it
            free, first = np.unique(places, return_index=True)
            first = first[table[free] == _FREE]
            table[places[first]] = left[first]
            others = np.ones(len(left), dtype=bool)
            others[first] = False
            left, places = left[others], (places[others] + 1) & (size - 1)
        self._table = array("i", table.tobytes())

    def _spread_few(self, slots: list[int], size: int) -> array[int]:
        table = array("i", [_FREE]) * size
        for slot in slots:
            place = self._low[slot] & (size - 1)
            while table[place] != _FREE:
                place = (place + 1) & (size - 1)
            table[place] = slot
        return table


def _number(snippet: str) -> int | None:
    return int(snippet.replace("-", ""), 16) if _UUID.fullmatch(snippet) else None


def _hyphened(digits: str) -> str:
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"
