"""An embedder made of hashes alone: for tests, and the floor that a real embedder has to beat."""

from __future__ import annotations

import math
import zlib
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from stitch.core.text_cache import text_cache
from stitch.text.words import words

if TYPE_CHECKING:
    from stitch.core.protocols import Vectors

_PIECE_WEIGHT = 0.35


class HashingEmbedder:
    """Words and their pieces of three and four characters, each hashed to a signed place (the hashing trick).

    Knows spelling and nothing of meaning. Its vectors depend on nothing but the text.
    """

    def __init__(self, dimension: int = 256) -> None:
        if dimension < 1:
            raise ValueError(f"dimension must be at least 1, not {dimension!r}")
        self._dimension = dimension

    @property
    def name(self) -> str:
        """The name of the space, dimension and version included."""
        return f"hashing-{self._dimension}-v1"

    @property
    def dimension(self) -> int:
        """Length of a vector."""
        return self._dimension

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return one unit vector per text, shape `(len(texts), dimension)`; of a text without words, zeros."""
        import numpy as np

        vectors = np.zeros((len(texts), self._dimension), np.float32)
        for row, text in zip(vectors, texts, strict=True):
            for word, count in Counter(words(text)).items():
                times = 1 + math.log(count)
                for feature, weight in _features(word):
                    row[feature % self._dimension] += times * weight
            length = float(np.linalg.norm(row))
            if length > 0:
                row /= length
        return vectors


@text_cache(maxsize=65_536)
def _features(word: str) -> tuple[tuple[int, float], ...]:
    edged = f"<{word}>"
    pieces = [edged[start : start + size] for size in (3, 4) for start in range(len(edged) - size + 1)]
    return (_hashed(word, 1.0), *(_hashed(piece, _PIECE_WEIGHT) for piece in pieces))


def _hashed(text: str, weight: float) -> tuple[int, float]:
    code = zlib.crc32(text.encode())
    return code >> 1, weight if code & 1 else -weight
