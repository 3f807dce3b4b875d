"""Which of some words, and forms of words, no text says.

To cut all texts of a long trajectory into words would take most of the time of an erasure. Most words that an erased
step says turn up in the first texts; of those that are left, a text that has not even their first letters says none.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable

from stitch.text.words import stem

_FEW = 64
"""For more than so many beginnings it takes less time to cut a text than to look for each."""


class Unsaid:
    """Words that no text which was read says, and their forms."""

    def __init__(self, words: Iterable[str], *, cut: Callable[[str], Iterable[str]]) -> None:
        self.words = set(words)
        self.stems = set(map(stem, self.words))
        """Stems of which no text says any form."""
        self._cut = cut
        self._beginnings: Collection[str] = ()
        self._find_beginnings()

    def read(self, text: str) -> None:
        """Take in what a text says."""
        if not self.may_be_in(fold(text)):
            return
        said = set(self._cut(text))
        before = len(self.words), len(self.stems)
        self.words -= said
        self.stems.difference_update(map(stem, said))
        if before != (len(self.words), len(self.stems)):
            self._find_beginnings()

    def may_be_in(self, folded: str) -> bool:
        """Whether a text may have one of the words in any form; False is certain."""
        return len(self._beginnings) > _FEW or any(map(folded.__contains__, self._beginnings))

    def _find_beginnings(self) -> None:
        alone = (word for word in self.words if stem(word) not in self.stems)  # another form of it was said
        self._beginnings = {*map(fold, alone), *map(_beginning, self.stems)}


def fold(text: str) -> str:
    """A text so that it has each of its words, as they are cut anywhere."""
    return text.replace("\u0130", "I").casefold().replace("’", "'")


def _beginning(form: str) -> str:
    """How every word with a stem begins: stemming changes up to two last letters of what it leaves ("dying", "die")."""
    return fold(form if form.isdigit() else form[:-2] or form[:1])
