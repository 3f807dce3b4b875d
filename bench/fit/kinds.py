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
    """A meaning of some words.

    Args:
        file: The number of the file of WordNet that holds it, such as that of animals or that of foods.
        parents: The offsets of what it is a kind of.
        is_single: Whether it is a single person, place or thing, and no kind of them.
        written: Its words as they are written there, with `_` between parts.
    """

    file: str
    parents: tuple[str, ...]
    is_single: bool
    written: tuple[str, ...]


def make_table(folder: Path) -> list[str]:
    """The lines of the table, sorted."""
    read = map(_concept, _lines(folder / "data.noun"))
    concepts = {offset: concept for offset, concept in read if not concept.is_single}
    senses = dict(map(_senses, _lines(folder / "index.noun")))
    exceptions = dict(line.split()[:2] for line in (folder / "noun.exc").read_text("ascii").splitlines())
    used = _meanings(senses, concepts)
    needed = _with_parents((offset for offsets in used.values() for offset in offsets), concepts)
    numbers = {offset: _number(place) for place, offset in enumerate(sorted(needed))}
    lines = [_line(offset, concepts[offset], numbers) for offset in numbers]
    lines += [f"{lemma}\t{','.join(numbers[offset] for offset in offsets)}" for lemma, offsets in used.items()]
    lines += [
        f"{plural}\t{kinds.PLURAL}{singular}"
        for plural, singular in exceptions.items()
        if singular in used and plural not in used
    ]
    return sorted(lines)


def _lines(file: Path) -> Iterator[str]:
    """The lines behind the license, which is indented."""
    return (line for line in file.read_text("latin-1").splitlines() if not line.startswith(" "))


def _concept(line: str) -> tuple[str, Concept]:
    """A concept of WordNet's file of data, and its offset."""
    parts = line.partition(" | ")[0].split()
    count = int(parts[3], 16)
    pointers = parts[5 + 2 * count :]
    above = [(pointers[place], pointers[place + 1]) for place in range(0, len(pointers) - 3, 4)]
    parents = tuple(offset for symbol, offset in above if symbol == "@")
    single = any(symbol == "@i" for symbol, _ in above)
    return parts[0], Concept(parts[1], parents, single, tuple(parts[4 : 4 + 2 * count : 2]))


def _senses(line: str) -> tuple[str, list[str]]:
    """A word of WordNet's index with the offsets of its meanings, the commonest first."""
    parts = line.split()
    return parts[0].replace("_", " "), parts[-int(parts[2]) :]


def _meanings(senses: dict[str, list[str]], concepts: dict[str, Concept]) -> dict[str, list[str]]:
    """The common meanings of each word that is no name and no number."""
    used: dict[str, list[str]] = {}
    for lemma, offsets in senses.items():
        kept = [offset for offset in offsets if offset in concepts and not _only_a_name(lemma, concepts[offset])]
        if kept and not any(map(str.isdigit, lemma)):
            used[lemma] = kept[:SENSES]
    return used


def _line(offset: str, concept: Concept, numbers: dict[str, str]) -> str:
    parents = ",".join(numbers[parent] for parent in concept.parents if parent in numbers)
    return f"{kinds.CONCEPT}{numbers[offset]}\t{parents}\t{' '.join(_stems(concept))}"


def _only_a_name(lemma: str, concept: Concept) -> bool:
    return concept.file in _LIVING and lemma.replace(" ", "_") in _names(concept)


def _names(concept: Concept) -> set[str]:
    """The words that are written with a capital letter, in small ones."""
    return {word.lower() for word in concept.written if word[:1].isupper()}


def _with_parents(offsets: Iterator[str], concepts: dict[str, Concept]) -> set[str]:
    found: set[str] = set()
    pending = list(offsets)
    while pending:
        offset = pending.pop()
        if offset not in found and offset in concepts:
            found.add(offset)
            pending.extend(concepts[offset].parents)
    return found


def _stems(concept: Concept) -> list[str]:
    words = [word.lower() for word in concept.written]
    names = _names(concept)
    said = [part for word in words if word not in names for part in word.split("_")]
    return list(dict.fromkeys(stem(part) for part in said if len(part) > 1))


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
