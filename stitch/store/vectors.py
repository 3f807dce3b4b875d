"""Vectors as stores keep them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from stitch.core.protocols import SparseVector

    Vectors = NDArray[np.float32]


_PARTS = 256


def as_kept(vectors: NDArray[np.floating[Any]]) -> Vectors:
    """Vectors as stores keep them and ask with them: of length one, or zero, rounded to numbers of half precision.

    The similarity of a ranking is that of these, so half the bytes tell all of it. Vectors are along the last axis.
    """
    import numpy as np

    whole = lengths(vectors)
    return (vectors / np.where(whole > 0, whole, 1.0)).astype(np.float16).astype(np.float32)


def words_as_kept(words: SparseVector) -> dict[int, float]:
    """Weights of words as stores keep them and ask with them: in 256ths.

    Their products and sums are exact in single precision then, in whatever order an engine adds them up.
    """
    return {word: kept / _PARTS for word, weight in words.items() if (kept := round(weight * _PARTS))}


def lengths(vectors: NDArray[np.floating[Any]]) -> NDArray[np.floating[Any]]:
    """The lengths of vectors along the last axis, which stays, as `np.linalg.norm` gives them.

    That looks at its arguments for longer than this takes for one vector.
    """
    import numpy as np

    found: NDArray[np.floating[Any]] = np.sqrt(np.add.reduce(vectors * vectors, axis=-1, keepdims=True))
    return found
