"""The lexical baseline: BM25 over the steps of a trajectory, by the library bm25s.

Units are steps with their speaker, "user: ...". Words of two letters and more, Snowball stems; k1 = 1.2, b = 0.75, the
idf of Lucene; function words are dropped, and a word that the question repeats is asked for once.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from stitch.core import Step, with_calls

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_WORD = re.compile(r"\b\w\w+\b")
_STOP_TEXT = """
a an the and or but if of to in on at by for with from as is are was were be been being do does did have has had
i you he she it we they me him her us them my your his its our their this that these those what which who whom
when where why how not no so than then there here can could will would should may might must about into
"""
STOP_WORDS = frozenset(_STOP_TEXT.split())
"""Words that are not searched for."""


def spoken(step: Step) -> str:
    """A step as the baselines read it: with its speaker, and with its calls as text."""
    return f"{step.role}: {with_calls(step.content, step.tool_calls)}"


def terms(text: str) -> list[str]:
    """The stems of the words of a text that are no function words, in order."""
    from stitch.text.words import stem

    return [stem(word) for word in _WORD.findall(text.lower()) if word not in STOP_WORDS]


class Bm25:
    """BM25 scores of the steps of one trajectory."""

    def __init__(self, steps: Sequence[Step]) -> None:
        import bm25s

        self._size = len(steps)
        self._index = bm25s.BM25(k1=1.2, b=0.75, method="lucene")
        corpus = [terms(spoken(step)) for step in steps]
        self._known = frozenset(term for document in corpus for term in document)
        if self._known:
            self._index.index(corpus, show_progress=False)

    def scores(self, question: str) -> NDArray[np.float32]:
        """The score of every step, in order; zeros if the question shares no word with any."""
        import numpy as np

        asked = sorted(self._known.intersection(terms(question)))
        if not asked:
            return np.zeros(self._size, dtype=np.float32)
        scores: NDArray[np.float32] = self._index.get_scores(asked)
        return scores
