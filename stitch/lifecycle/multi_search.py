"""Many short texts searched for in many bytes at once, whatever the case of letters."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Bytes = bytes | bytearray | memoryview

LEAST_BYTES = 8
"""The shortest text that can be searched for."""

_FEW_COMPARISONS = 1 << 22
_PIECE_BYTES = 1 << 20
"""So much is looked at in one go: it fits into the cache of a processor."""
_HASH_BITS = 20
_FACTOR = {4: np.uint32(0x9E3779B1), 8: np.uint64(0x9E3779B97F4A7C15)}
_FOLD = {4: np.uint32(0x20202020), 8: np.uint64(0x2020202020202020)}
"""Sets the bit by which small letters differ from capitals. Other bytes may become alike: the whole is compared."""


class Needles:
    """Texts to search for.

    Only every 4th or 8th place is looked at: wherever a text begins, at one of these stands one of its parts. Where a
    part was found, the whole is compared.
    Each has at least `LEAST_BYTES` bytes; ASCII letters are small.
    """

    def __init__(self, texts: Iterable[bytes]) -> None:
        self._texts = set(texts)
        self.longest = max(map(len, self._texts), default=0)
        long = [text for text in self._texts if len(text) >= 15]
        short = [text for text in self._texts if len(text) < 15]
        self._parts = [_Parts(group, width) for group, width in ((long, 8), (short, 4)) if group]

    def found_in(self, data: Bytes) -> set[bytes]:
        """Which of the texts stand in the data, in small letters or capitals."""
        if len(self._texts) * len(data) < _FEW_COMPARISONS:
            folded = bytes(data).lower()
            return {text for text in self._texts if text in folded}
        whole, found = memoryview(data), set[bytes]()
        for start in range(0, len(whole), _PIECE_BYTES):
            piece = whole[start : start + _PIECE_BYTES + self.longest]
            for parts in self._parts:
                found |= parts.found_in(piece)
        return found


class _Parts:
    def __init__(self, texts: list[bytes], width: int) -> None:
        self._width = width
        self._type = np.dtype(f"<u{width}")
        often = Counter(text[at : at + width] for text in texts for at in range(len(text) - width + 1))
        by_part: dict[int, set[tuple[int, int]]] = {}
        for text in texts:
            for start in range(width):  # what many texts have is common elsewhere too: look for the rarest part
                places = range(start, len(text) - width + 1, width)
                offset = min(places, key=lambda at: often[text[at : at + width]])
                part = int.from_bytes(text[offset : offset + width], "little") | int(_FOLD[width])
                by_part.setdefault(part, set()).add((offset, len(text)))
        self._keys = np.array(sorted(by_part), dtype=self._type)
        where = [sorted(by_part[part]) for part in self._keys.tolist()]
        self._counts = np.array(list(map(len, where)))
        self._firsts = np.cumsum(self._counts) - self._counts
        self._offsets, self._lengths = np.array([each for pairs in where for each in pairs]).T
        ends = np.frombuffer(b"".join(text[:8] + text[-8:] for text in texts), "<u8").reshape(-1, 2)
        lengths = np.array(list(map(len, texts)))
        self._signs = np.unique(_signs(ends[:, 0], ends[:, 1], lengths))
        self._texts = frozenset(texts)
        self._table = np.zeros(1 << _HASH_BITS, dtype=bool)
        self._table[self._hash(self._keys)] = True

    def _hash(self, parts: NDArray[Any]) -> NDArray[np.int64]:
        hashed = (parts * _FACTOR[self._width]) >> self._type.type(8 * self._width - _HASH_BITS)
        numbers: NDArray[np.int64] = hashed.astype(np.int64) if self._width == 4 else hashed.view(np.int64)
        return numbers

    def found_in(self, data: memoryview) -> set[bytes]:
        """Which of the texts stand in the data."""
        windows = np.frombuffer(data, self._type, len(data) // self._width) | _FOLD[self._width]
        places = np.flatnonzero(self._table.take(self._hash(windows), mode="wrap"))
        keys = np.minimum(np.searchsorted(self._keys, windows[places]), len(self._keys) - 1)
        right = self._keys[keys] == windows[places]
        keys, places = keys[right], places[right] * self._width
        # A part may stand in several places of texts of several lengths: all of these are tried.
        counts = self._counts[keys]
        tried = np.repeat(self._firsts[keys] - (np.cumsum(counts) - counts), counts) + np.arange(counts.sum())
        starts, lengths = np.repeat(places, counts) - self._offsets[tried], self._lengths[tried]
        inside = (starts >= 0) & (starts + lengths <= len(data))
        starts, lengths = starts[inside], lengths[inside]
        if not len(starts):
            return set()
        eights: NDArray[Any] = np.ndarray((len(data) - 7,), "<u8", data, strides=(1,))
        signs = _signs(eights[starts], eights[starts + lengths - 8], lengths)
        nearest = np.minimum(np.searchsorted(self._signs, signs), len(self._signs) - 1)
        same = self._signs[nearest] == signs
        spans = np.stack([starts, starts + lengths], axis=1)[same].tolist()
        return {bytes(data[start:end]).lower() for start, end in spans} & self._texts


def _signs(first: NDArray[Any], last: NDArray[Any], lengths: NDArray[Any]) -> NDArray[Any]:
    """One number for the first and the last 8 bytes of a text and for its length."""
    folded: NDArray[Any] = (first | _FOLD[8]) * _FACTOR[8] + (last | _FOLD[8]) * lengths.astype(np.uint64)
    return folded
