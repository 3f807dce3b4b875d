"""WordNet's files, of which `kinds` and `absences` make tables."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

SENSES = 3
"""How many meanings of a word are taken: rarer ones bring in more that is wrong than they find."""


class _Concept(NamedTuple):
    file: str
    parents: tuple[str, ...]
    is_single: bool
    written: tuple[str, ...]
    definition: str


class Concept(_Concept):
    """What some words mean.

    Args:
        file: The number of the file of WordNet that holds it, such as that of animals or that of foods.
        parents: The offsets of what it is a kind of.
        is_single: Whether it is a single person, place or thing, and no kind of them.
        written: Its words as they are written there, with `_` between parts.
        definition: What WordNet says of it, without examples.
    """

    @cached_property
    def words(self) -> tuple[str, ...]:
        """Its words in small letters, with blanks between parts."""
        return tuple(word.partition("(")[0].replace("_", " ").lower() for word in self.written)


def read_concepts(file: Path) -> Iterator[tuple[str, Concept]]:
    """The concepts of a file `data.*` of WordNet, by their offsets."""
    for line in _lines(file):
        head, _, gloss = line.partition(" | ")
        parts = head.split()
        count = int(parts[3], 16)
        pointers = parts[5 + 2 * count :]
        above = [(pointers[place], pointers[place + 1]) for place in range(0, len(pointers) - 3, 4)]
        yield (
            parts[0],
            Concept(
                parts[1],
                tuple(offset for symbol, offset in above if symbol == "@"),
                any(symbol == "@i" for symbol, _ in above),
                tuple(parts[4 : 4 + 2 * count : 2]),
                gloss.partition('; "')[0].strip(),
            ),
        )


def read_senses(file: Path) -> Iterator[tuple[str, list[str]]]:
    """The words of a file `index.*` of WordNet, each with the offsets of its meanings, the commonest first."""
    for line in _lines(file):
        parts = line.split()
        yield parts[0].replace("_", " "), parts[-int(parts[2]) :]


def _lines(file: Path) -> Iterator[str]:
    """The lines behind the license, which is indented."""
    return (line for line in file.read_text("latin-1").splitlines() if not line.startswith(" "))
