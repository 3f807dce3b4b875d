"""What answers what: how well a step follows the last step of a scope, learned from how dialogues go on.

"When do you want to leave?" is answered by "Next Tuesday.", whatever is booked, and no shared word says so. Small
matrices turn the vectors of what was said and the vector of what may follow into a few numbers each, whose product is
high where the one follows the other. They are trained to find the next step of a scope among other steps
(`python -m stitch.bench.fit scopes`). The vectors are those of a table of their own, so that labels depend on no
embedder. It is averaged (`stitch.bench.fit.replies`) and not fitted: what a text answers is also told by forms and
numbers, which say little of what it is about.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from importlib.resources import files
from operator import mul
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import orjson

from stitch.core.text_cache import text_cache
from stitch.embed import StaticEmbedder

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

TABLE = Path(__file__).parent / "table"
"""The token vectors; the tokens are those of the table that comes with the embedder."""

MAX_CHARS = 1_000
"""How much of a step is read: its beginning says what it answers."""

FADING_STEPS = 8
"""A scope is known by about so many of its last steps."""


class Heard(NamedTuple):
    """The numbers of a text."""

    prompt: list[float]
    """As what was said last."""
    matter: list[float]
    """As one of those that were said lately."""
    answer: list[float]
    """As what may follow."""


@dataclass(frozen=True)
class Replies:
    """What turns the vector of a text into the numbers that are compared."""

    last: NDArray[np.float32]
    """For the last step of a scope, shape `(dimension + 1, numbers)`; the last row counts always."""
    gist: NDArray[np.float32]
    """For each of its recent steps, shape `(dimension, numbers)`."""
    answers: NDArray[np.float32]
    """For what may follow, shape `(dimension + 1, numbers)`."""
    start: list[float]
    """The numbers of what nothing precedes: what opens a scope follows it."""

    @cached_property
    def _side_by_side(self) -> NDArray[np.float32]:
        import numpy as np

        return np.hstack([self.last[:-1], self.answers[:-1], self.gist])

    @cached_property
    def _always(self) -> NDArray[np.float32]:
        import numpy as np

        return np.concatenate([self.last[-1], self.answers[-1], 0 * self.gist[0]])

    def hear(self, row: NDArray[np.float32]) -> Heard:
        """The numbers of a text, given its vector."""
        found: list[float] = (row @ self._side_by_side + self._always).round(4).tolist()
        count = len(self.start)
        return Heard(found[:count], found[2 * count :], found[count : 2 * count])


def fit(said: Sequence[float], answer: Sequence[float]) -> float:
    """How well the one follows the other; 0 where nothing was said."""
    return sum(map(mul, said, answer), 0.0)


def blend(mean: Sequence[float], numbers: Sequence[float], *, steps: int) -> list[float]:
    """The running mean over a scope of `steps` steps, the newest of which brought `numbers`: old steps fade."""
    share = 1.0 / min(max(steps, 1), FADING_STEPS)
    return [round(a + share * (b - a), 4) for a, b in zip(mean or [0.0] * len(numbers), numbers, strict=True)]


@text_cache(maxsize=8)
def vector(text: str) -> NDArray[np.float32]:
    """The vector of the beginning of a text, from the table in this folder."""
    row: NDArray[np.float32] = vectors([text])[0]
    return row


def vectors(texts: Sequence[str]) -> NDArray[np.float32]:
    """A row for each text, the same as `vector` gives; many at once cost less."""
    rows: NDArray[np.float32] = _embedder().embed([text[:MAX_CHARS] for text in texts])
    return rows


@lru_cache(maxsize=1)
def _embedder() -> StaticEmbedder:
    return StaticEmbedder(TABLE, vocabulary_of=StaticEmbedder())


@lru_cache(maxsize=1)
def shipped_replies() -> Replies:
    """The matrices made by `stitch.bench.fit.scopes`."""
    return replies_from(orjson.loads(files("stitch.label.local").joinpath("reply_weights.json").read_bytes()))


def replies_from(data: dict[str, Any]) -> Replies:
    """The matrices of a file of weights: rows of whole numbers, and what one is worth."""
    import numpy as np

    def matrix(name: str) -> NDArray[np.float32]:
        whole: NDArray[np.float32] = np.array(data[name], np.float32)
        scaled: NDArray[np.float32] = whole * np.float32(data["unit"])
        return scaled

    return Replies(matrix("last"), matrix("gist"), matrix("answers"), matrix("start").tolist())


def as_data(replies: Replies, *, unit: float = 0.005) -> dict[str, Any]:
    """What `replies_from` reads, as JSON values."""
    import numpy as np

    def whole(numbers: Any) -> Any:
        return np.rint(np.asarray(numbers) / unit).astype(int).tolist()

    return {
        "unit": unit,
        "start": whole(replies.start),
        "last": whole(replies.last),
        "gist": whole(replies.gist),
        "answers": whole(replies.answers),
    }
