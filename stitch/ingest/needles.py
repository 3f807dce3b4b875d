"""Many short texts searched for in many bytes at once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

LEAST_BYTES = 8
"""The shortest text that can be searched for."""

_FEW_COMPARISONS = 1 << 22
_HASH_BITS = 20
_FACTOR = {4: np.uint32(0x9E3779B1), 8: np.uint64(0x9E3779B97F4A7C15)}


class Needles:
    """Texts to search for.

    Only every 4th or 8th place is looked at: wherever a text begins, at one of these stands one of its parts. Where a
    part was found, the whole is compared.

    Args:
        texts: What to search for, each of at least `LEAST_BYTES` bytes.
    """

    def __init__(self, texts: Iterable[bytes]) -> None:
        self._texts = set(texts)
        self.longest = max(map(len, self._texts), default=0)
        long = [text for text in self._texts if len(text) >= 15]
        short = [text for text in self._texts if len(text) < 15]
        self._parts = [_Parts(group, width) for group, width in ((long, 8), (short, 4)) if group]

    def found_in(self, data: bytes) -> set[bytes]:
        """Which of the texts stand in the data."""
        if len(self._texts) * len(data) < _FEW_COMPARISONS:
            return {text for text in self._texts if text in data}
        return {text for parts in self._parts for text in parts.found_in(data)}


class _Parts:
    def __init__(self, texts: list[bytes], width: int) -> None:
        self._width = width
        self._type = np.dtype(f"<u{width}")
        often = Counter(text[at : at + width] for text in texts for at in range(len(text) - width + 1))
        by_part: dict[int, list[tuple[bytes, int]]] = {}
        for text in sorted(texts):
            for start in range(width):  # what many texts have is common elsewhere too: look for the rarest part
                places = range(start, len(text) - width + 1, width)
                offset = min(places, key=lambda at: often[text[at : at + width]])
                part = int.from_bytes(text[offset : offset + width], "little")
                by_part.setdefault(part, []).append((text, offset))
        self._keys = np.array(sorted(by_part), dtype=self._type)
        self._wanted = [by_part[part] for part in self._keys.tolist()]
        self._table = np.zeros(1 << _HASH_BITS, dtype=bool)
        self._table[self._hash(self._keys)] = True

    def _hash(self, parts: NDArray[Any]) -> NDArray[Any]:
        hashed: NDArray[Any] = (parts * _FACTOR[self._width]) >> self._type.type(8 * self._width - _HASH_BITS)
        return hashed

    def found_in(self, data: bytes) -> set[bytes]:
        windows = np.frombuffer(data, self._type, len(data) // self._width)
        places = np.flatnonzero(self._table[self._hash(windows)])
        keys = np.searchsorted(self._keys, windows[places])
        keys = np.minimum(keys, len(self._keys) - 1)
        right = self._keys[keys] == windows[places]
        keys, places = keys[right], places[right] * self._width
        order = np.argsort(keys, kind="stable")
        distinct, starts = np.unique(keys[order], return_index=True)
        if not len(distinct):
            return set()
        eights: NDArray[Any] = np.ndarray((max(len(data) - 7, 0),), "<u8", data, strides=(1,))
        found: set[bytes] = set()
        for key, at in zip(distinct.tolist(), np.split(places[order], starts[1:]), strict=True):
            for text, offset in self._wanted[key]:
                if text not in found and _stands(text, eights, at - offset):
                    found.add(text)
        return found


def _stands(text: bytes, eights: NDArray[Any], starts: NDArray[Any]) -> bool:
    """Whether the text begins at one of these places; `eights` are the 8 bytes that begin at each place."""
    starts = starts[(starts >= 0) & (starts + len(text) <= len(eights) + 7)]
    for offset in {*range(0, len(text) - 8, 8), len(text) - 8}:
        if not len(starts):
            return False
        starts = starts[eights[starts + offset] == int.from_bytes(text[offset : offset + 8], "little")]
    return len(starts) > 0
