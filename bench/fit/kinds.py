"""The table of kinds of things, from WordNet's nouns: `kinds.txt.gz`, which `stitch.text.kinds` reads.

Its lines are sorted, so that one word is found without reading all.
"""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import click

from stitch.errors import SettingsError
from stitch.text import kinds
from stitch.text.words import stem

SENSES = 3
"""The most meanings of a word: rarer ones bring in more that is wrong than they find."""
_LIVING = ("05", "20")
"""WordNet's files of animals and plants: what is written with a capital letter there is a Latin name."""
_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"


class Concept(NamedTuple):
    """A meaning of some words; single persons, places and things are none."""

    file: str
    """The number of the file of WordNet that holds it, such as that of animals or that of foods."""
    parents: tuple[str, ...]
    """The offsets of what it is a kind of."""
    written: tuple[str, ...]
    """Its words as they are written there, with `_` between parts."""

    @property
    def names(self) -> set[str]:
        """The words that are written with a capital letter, in small ones."""
        return {word.lower() for word in self.written if word[:1].isupper()}


def make_table(folder: Path) -> list[str]:
    """The lines of the table, sorted."""
    concepts = dict(_concepts(folder / "data.noun"))
    used = dict(_meanings(folder / "index.noun", concepts))
    needed = _with_parents([offset for offsets in used.values() for offset in offsets], concepts)
    numbers = {offset: _number(place) for place, offset in enumerate(sorted(needed))}
    lines = [f"{kinds.CONCEPT}{number}\t{_told(concepts[offset], numbers)}" for offset, number in numbers.items()]
    lines += [f"{lemma}\t{','.join(numbers[offset] for offset in offsets)}" for lemma, offsets in used.items()]
    exceptions = dict(line.split()[:2] for line in (folder / "noun.exc").read_text("ascii").splitlines())
    lines += [
        f"{plural}\t{kinds.PLURAL}{singular}"
        for plural, singular in exceptions.items()
        if singular in used and plural not in used
    ]
    return sorted(lines)


def _with_parents(pending: list[str], concepts: dict[str, Concept]) -> set[str]:
    found: set[str] = set()
    while pending:
        offset = pending.pop()
        if offset not in found and offset in concepts:
            found.add(offset)
            pending.extend(concepts[offset].parents)
    return found


def _told(concept: Concept, numbers: dict[str, str]) -> str:
    parents = ",".join(numbers[parent] for parent in concept.parents if parent in numbers)
    words = [word.lower() for word in concept.written if word.lower() not in concept.names]
    stems = dict.fromkeys(stem(part) for word in words for part in word.split("_") if len(part) > 1)
    return f"{parents}\t{' '.join(stems)}"


def _lines(file: Path) -> Iterator[str]:
    """The lines behind the license, which is indented."""
    return (line for line in file.read_text("latin-1").splitlines() if not line.startswith(" "))


def _concepts(file: Path) -> Iterator[tuple[str, Concept]]:
    """The concepts of WordNet's file of data, by their offsets."""
    for line in _lines(file):
        parts = line.partition(" | ")[0].split()
        count = int(parts[3], 16)
        pointers = parts[5 + 2 * count :]
        above = [(pointers[place], pointers[place + 1]) for place in range(0, len(pointers) - 3, 4)]
        if not any(symbol == "@i" for symbol, _ in above):
            parents = tuple(offset for symbol, offset in above if symbol == "@")
            yield parts[0], Concept(parts[1], parents, tuple(parts[4 : 4 + 2 * count : 2]))


def _meanings(index: Path, concepts: dict[str, Concept]) -> Iterator[tuple[str, list[str]]]:
    """The common meanings of each word that is no name and no number, the commonest first."""
    for parts in (line.split() for line in _lines(index)):
        lemma, offsets = parts[0], parts[-int(parts[2]) :]
        known = [(offset, concepts[offset]) for offset in offsets if offset in concepts]
        kept = [offset for offset, own in known if own.file not in _LIVING or lemma not in own.names]
        if kept and not any(map(str.isdigit, lemma)):
            yield lemma.replace("_", " "), kept[:SENSES]


def _number(place: int) -> str:
    digits = ""
    while place:
        place, digit = divmod(place, 36)
        digits = _DIGITS[digit] + digits
    return digits.rjust(4, "0")


@click.command()
@click.argument("folder", type=click.Path(path_type=Path, exists=True, file_okay=False))
def command(folder: Path) -> None:
    """Make the table of FOLDER, which is usr/share/wordnet of Debian's package wordnet-base."""
    try:
        lines = make_table(folder)
    except OSError as error:
        hint = "give the folder usr/share/wordnet of Debian's wordnet-base"
        raise SettingsError(f"cannot read WordNet: {error}", hint=hint) from error
    text = "\n".join(lines) + "\n"
    kinds.TABLE.write_bytes(gzip.compress(text.encode(), 9, mtime=0))  # no time: the same words give the same file
    click.echo(f"{kinds.TABLE.name}: {len(lines)} lines")
