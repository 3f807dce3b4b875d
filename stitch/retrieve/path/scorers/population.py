"""Passages that are scored together, made ready for any condition: words, parts and terms as arrays.

All texts are read in one pass and kept as numbers of words: so ten thousand nodes are ready in a tenth of a second.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from stitch.retrieve.path.scorers.protocol import Passage
from stitch.retrieve.path.scorers.reading import END, NOTHING, initials_of, tells, tokens_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Column = NDArray[np.float64]
    Places = NDArray[np.intp]


class Lists(NamedTuple):
    """A list of numbers for each of many things, one after the other; none of them is empty."""

    places: Places
    starts: Places

    def most(self, values: Column) -> Column:
        """Of each list, the greatest of the values of its numbers."""
        import numpy as np

        return np.asarray(np.maximum.reduceat(values[self.places], self.starts))


class Bags(NamedTuple):
    """Texts as the different words they have, in the order in which these are said first."""

    vocabulary: Sequence[str]
    """The words by their numbers; number 0 is no word."""
    words: Lists


class Texts(Protocol):
    """Texts whose nearness to a condition can be told, for many conditions."""

    def nearness(self, condition: str) -> Column:
        """The cosine of each text and the condition."""
        ...


class Space(Protocol):
    """Where texts are compared."""

    def texts(self, said: Bags) -> Texts:
        """Texts, each given by its words."""
        ...


class Population:
    """Passages, made ready.

    Args:
        passages: Different ones.
        space: Where texts are compared.
    """

    def __init__(self, passages: Sequence[Passage], *, space: Space) -> None:
        import numpy as np

        self._passages, self.count = passages, len(passages)
        self._initials: dict[str, set[int]] | None = None
        read = _Read(passages)
        self.vocabulary = read.vocabulary
        telling = np.array([tells(word) for word in read.vocabulary], bool)
        whole = _each_once(read.passage, read.word, count=self.count)
        bags = Bags(read.vocabulary, whole)
        self.whole = space.texts(bags)
        self.own = self.whole
        if not read.own.all():
            own = _each_once(read.passage[read.own], read.word[read.own], count=self.count)
            self.own = space.texts(Bags(read.vocabulary, own))
        part_bags, self.passage_parts = _parts(read, count=self.count)
        self.parts = space.texts(Bags(read.vocabulary, part_bags))

        said_words = np.flatnonzero(telling & (np.bincount(read.word, minlength=len(telling)) > 0))
        number = np.zeros(len(telling), np.intp)
        number[said_words] = np.arange(1, len(said_words) + 1)
        paired = read.before * len(telling) + read.after
        first, which = _different(paired)
        firsts, seconds = read.before[first], read.after[first]
        self.terms: list[tuple[str, ...]] = [(), *((read.vocabulary[word],) for word in said_words.tolist())]
        self.pairs_from = len(self.terms)
        self.terms += [
            (read.vocabulary[first], read.vocabulary[second])
            for first, second in zip(firsts.tolist(), seconds.tolist(), strict=True)
        ]
        two = np.column_stack([firsts, seconds]).ravel()
        self.term_texts = space.texts(
            Bags(
                read.vocabulary,
                Lists(
                    np.concatenate([[0], said_words, two]).astype(np.intp),
                    np.concatenate([np.arange(self.pairs_from), self.pairs_from + 2 * np.arange(len(firsts))]).astype(
                        np.intp
                    ),
                ),
            )
        )
        kept = telling[whole.places]
        passage_of = np.repeat(np.arange(self.count), np.diff(np.append(whole.starts, len(whole.places))))
        self.words = _lists(passage_of[kept], number[whole.places[kept]], count=self.count)
        self.pairs = _lists(read.pair_passage, which + self.pairs_from, count=self.count)
        self.openers = _lists(read.opener_passage, read.opener, count=self.count)
        """Of each passage the first words of its parts, as numbers of the vocabulary."""

    def best_term(self, values: Column) -> Column:
        """Of each passage, the greatest of the values of its words and pairs."""
        import numpy as np

        return np.maximum(self.words.most(values), self.pairs.most(values))

    @property
    def empty(self) -> NDArray[np.bool_]:
        """Which passages have no word that carries meaning."""
        import numpy as np

        return np.asarray(np.maximum.reduceat(self.words.places, self.words.starts) == 0)

    def with_initials(self, initials: str) -> set[int]:
        """Which passages have a name with these initials."""
        if self._initials is None:
            self._initials = {}
            for place, passage in enumerate(self._passages):
                capitalized = [text for text in passage.texts if not text.islower()]
                for found in set(chain.from_iterable(map(initials_of, capitalized))):
                    self._initials.setdefault(found, set()).add(place)
        return self._initials.get(initials, set())


class _Numbers(dict[str, int]):
    """Numbers words as they come."""

    def __missing__(self, word: str) -> int:
        self[word] = number = len(self)
        return number


class _Read:
    """The words of all passages, one after the other, as numbers.

    Args:
        passages: What is read.
    """

    def __init__(self, passages: Sequence[Passage]) -> None:
        import numpy as np

        lengths = np.array([len(each.own) + len(each.below) for each in passages], np.intp)
        all_texts = list(chain.from_iterable(chain.from_iterable(passages)))
        texts = list(dict.fromkeys(all_texts))
        numbers = dict(zip(texts, range(len(texts)), strict=True))
        said = np.fromiter(map(numbers.__getitem__, all_texts), np.intp, len(all_texts))
        passage = np.repeat(np.arange(len(passages)), lengths)
        owned = np.array([len(each.own) for each in passages], np.intp)
        own = np.arange(len(said)) - np.repeat(np.cumsum(lengths) - lengths, lengths) < np.repeat(owned, lengths)

        words = _Numbers({NOTHING: 0, END: 1})
        tokens = tokens_of(texts)
        codes = np.fromiter(map(words.__getitem__, tokens), np.intp, len(tokens))
        self.vocabulary = list(words)
        breaks = np.array([not word[:1].isalnum() for word in self.vocabulary], bool)[codes]
        kept = ~breaks
        word, text, part = codes[kept], np.cumsum(codes == 1)[kept], np.cumsum(breaks)[kept]
        counts = np.bincount(text, minlength=len(texts))
        begins = np.cumsum(counts) - counts
        # of each text that a passage says, the places of its words, one after the other
        times = counts[said]
        place = np.arange(int(times.sum())) + np.repeat(begins[said] - (np.cumsum(times) - times), times)
        self.word, self.part = word[place], part[place]
        self.passage, self.own = np.repeat(passage, times), np.repeat(own, times)
        follows = np.zeros(len(place), bool)
        follows[1:] = (np.diff(self.part) == 0) & (np.diff(place) == 1)
        second = np.flatnonzero(follows)
        self.before, self.after, self.pair_passage = self.word[second - 1], self.word[second], self.passage[second]
        self.opener, self.opener_passage = self.word[~follows], self.passage[~follows]


def _lists(owner: Places, places: Places, *, count: int) -> Lists:
    """Numbers by who has them, `owner` being in order; who has none has 0."""
    import numpy as np

    counts = np.bincount(owner, minlength=count)
    none = np.flatnonzero(counts == 0)
    if len(none):
        places = np.insert(places, np.cumsum(counts)[none], 0)
        counts[none] = 1
    return Lists(places.astype(np.intp, copy=False), (np.cumsum(counts) - counts).astype(np.intp))


def _each_once(owner: Places, words: Places, *, count: int) -> Lists:
    """The different words of each, in the order in which they come first."""
    width = int(words.max(initial=0)) + 1
    first, _ = _different(owner * width + words)
    first.sort()
    return _lists(owner[first], words[first], count=count)


def _parts(read: _Read, *, count: int) -> tuple[Lists, Lists]:
    """The different parts by their words, the first of them empty; and which of them each passage has."""
    import numpy as np

    if not len(read.word):
        nothing = Lists(np.zeros(1, np.intp), np.zeros(1, np.intp))
        return nothing, _lists(read.passage, read.word, count=count)
    changes = np.flatnonzero(np.diff(read.part, prepend=-1) | np.diff(read.passage, prepend=-1))
    number = np.zeros(len(read.word), np.intp)
    number[changes[1:]] = 1
    number = np.cumsum(number)
    bags = _each_once(number, read.word, count=len(changes))
    # parts are equal that have the same words: a sum of scattered numbers of 64 bits tells
    marks = _scattered(len(read.vocabulary))
    first, which = _different(np.add.reduceat(marks[bags.places], bags.starts))
    ends = np.append(bags.starts[1:], len(bags.places))
    sizes = ends[first] - bags.starts[first]
    places = np.arange(int(sizes.sum())) + np.repeat(bags.starts[first] - (np.cumsum(sizes) - sizes), sizes)
    starts = np.concatenate([[0], 1 + np.cumsum(sizes) - sizes]).astype(np.intp)
    different = Lists(np.concatenate([[0], bags.places[places]]).astype(np.intp), starts)
    return different, _lists(read.passage[changes], which + 1, count=count)


def _different(values: NDArray[Any]) -> tuple[Places, Places]:
    """Where each different value comes first, by value; and which of them each value is."""
    import numpy as np

    order = np.argsort(values, kind="stable")
    begins = np.ones(len(values), bool)
    begins[1:] = np.diff(values[order]) != 0
    which = np.empty(len(values), np.intp)
    which[order] = np.cumsum(begins) - 1
    return order[begins], which


def _scattered(count: int) -> NDArray[np.uint64]:
    """As many numbers of 64 bits that have nothing to do with each other (SplitMix64)."""
    import numpy as np

    found = np.arange(1, count + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    found = (found ^ (found >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    found = (found ^ (found >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(found ^ (found >> np.uint64(31)))
