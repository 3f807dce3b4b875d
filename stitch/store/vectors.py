"""The vectors of a store: who keeps them and scores them exactly, in this process or on a server."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from stitch.core.snippets import MemorySnippet

    Vectors = NDArray[np.float32]


def as_kept(vectors: NDArray[np.floating[Any]]) -> Vectors:
    """Vectors as stores keep them and ask with them: of length one, or zero, rounded to numbers of half precision.

    The similarity of a ranking is that of these, so half the bytes tell all of it. Vectors are along the last axis.
    """
    import numpy as np

    whole = lengths(vectors)
    return (vectors / np.where(whole > 0, whole, 1.0)).astype(np.float16).astype(np.float32)


def lengths(vectors: NDArray[np.floating[Any]]) -> NDArray[np.floating[Any]]:
    """The lengths of vectors along the last axis, which stays, as `np.linalg.norm` gives them.

    That looks at its arguments for longer than this takes for one vector.
    """
    import numpy as np

    found: NDArray[np.floating[Any]] = np.sqrt(np.add.reduce(vectors * vectors, axis=-1, keepdims=True))
    return found


class VectorEngine(Protocol):
    """Vectors by row, as `as_kept` gives them; all else of a snippet is kept by the store.

    Every method raises `StoreError` if it cannot do what it says; some of it may be done then.
    """

    @property
    def durable(self) -> bool:
        """Whether what was put survives the death of this process at once, and not only after `flush`.

        A store then puts a vector before it names its row anywhere, under a row that never had one; so whatever
        interrupts it, each row that is named has the vector it should have. Else it writes the vector down first, and
        puts it again after an interruption, where the old one stood.
        """

    @property
    def tells_snippets(self) -> bool:
        """Whether it keeps more of a snippet than its vector, and so has to be told of every change."""

    def put(self, rows: Sequence[int], vectors: Vectors, *, snippets: Sequence[MemorySnippet] = ()) -> None:
        """Write vectors, shape `(len(rows), dimension)`; those of rows that are there are overwritten.

        Args:
            rows: From 0.
            vectors: As `as_kept` gives them.
            snippets: What they are of, for an engine that keeps more of it than its row; none where it has that.
        """

    def delete(self, rows: Sequence[int]) -> None:
        """Delete vectors; rows that are not there are no error."""

    def cosines(self, rows: Sequence[int], vector: Sequence[float]) -> NDArray[np.float64]:
        """The dot product of each of these rows with a vector as it is kept, computed in single precision or better.

        Of equal vectors it is equal, whatever else is asked.

        Raises:
            StoreError: A row is not there.
        """

    def vectors(self, rows: Sequence[int]) -> dict[int, Vectors]:
        """The vectors of these rows, bit for bit; those that are not there are left out."""

    def __len__(self) -> int:
        """How many rows are there."""

    def rows(self) -> list[int]:
        """Every row that is there, in no order."""

    def flush(self) -> None:
        """Make everything written survive a loss of power."""

    def shrink(self) -> None:
        """Give back the room of what was deleted."""

    def close(self) -> None:
        """Let go of it; closing twice is harmless."""

    def leave_to_parent(self) -> None:
        """In a fork: do nothing to it any more, whatever becomes of this process."""
