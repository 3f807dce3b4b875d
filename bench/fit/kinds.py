"""The table of kinds of things, from WordNet's nouns: `kinds.txt.gz`, which `stitch.text.kinds` reads.

Its lines are sorted, so that one word is found without reading all.
"""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from pathlib import Path

import click

from stitch.bench.fit.absences import make_table as make_absences
from stitch.bench.fit.wordnet import SENSES, Concept, read_concepts, read_senses
from stitch.errors import SettingsError
from stitch.text import kinds
from stitch.text.words import stem

_LIVING = ("05", "20")
"""WordNet's files of animals and plants: what is written with a capital letter there is a Latin name."""
_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"


def make_table(folder: Path) -> list[str]:
    """The lines of the table, sorted."""
    read = read_concepts(folder / "data.noun")
    concepts = {offset: concept for offset, concept in read if not concept.is_single}
    senses = dict(read_senses(folder / "index.noun"))
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
    """Make both tables of FOLDER, which is usr/share/wordnet of Debian's package wordnet-base."""
    try:
        made = {kinds.TABLE: make_table(folder), kinds.ABSENCES: make_absences(folder)}
    except OSError as error:
        hint = "give the folder usr/share/wordnet of Debian's wordnet-base"
        raise SettingsError(f"cannot read WordNet: {error}", hint=hint) from error
    for path, lines in made.items():
        text = "\n".join(lines) + "\n"
        # mtime 0, so that the same words give the same file
        path.write_bytes(gzip.compress(text.encode(), 9, mtime=0) if path.suffix == ".gz" else text.encode())
        click.echo(f"{path.name}: {len(lines)} lines")
