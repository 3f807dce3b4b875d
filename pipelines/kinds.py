"""Make the table of kinds of things from WordNet's nouns, once: `python -m stitch.pipelines.kinds FOLDER`.

FOLDER holds WordNet's `data.noun`, `index.noun` and `noun.exc`, as the Debian package `wordnet-base` has them in
`usr/share/wordnet`. Written is `kinds.txt.gz`, which `stitch.text.kinds` reads: sorted lines, so that one word is found
without reading all.
"""

from __future__ import annotations

import gzip
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from stitch.errors import SettingsError, StitchError
from stitch.text import kinds
from stitch.text.words import stem

_SENSES = 3
"""Rarer senses of a word bring in more that is wrong than they find."""
_LIVING = ("05", "20")
"""WordNet's files of animals and plants: what is written with a capital letter there is a Latin name."""
_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"


class _Concept(NamedTuple):
    parents: tuple[str, ...]
    words: tuple[str, ...]
    names: frozenset[str]
    """The words that are written with a capital letter."""
    living: bool


def make_table(folder: Path) -> list[str]:
    """The lines of the table, sorted.

    Raises:
        SettingsError: The folder does not hold WordNet.
    """
    try:
        concepts = dict(_concepts(folder / "data.noun"))
        senses = dict(_senses(folder / "index.noun"))
        exceptions = dict(line.split()[:2] for line in (folder / "noun.exc").read_text("ascii").splitlines())
    except OSError as error:
        raise SettingsError(
            f"cannot read WordNet's nouns: {error}", hint="give the folder usr/share/wordnet of Debian's wordnet-base"
        ) from error
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


def _meanings(senses: dict[str, list[str]], concepts: dict[str, _Concept]) -> dict[str, list[str]]:
    """The common meanings of each word that is no name and no number."""
    used: dict[str, list[str]] = {}
    for lemma, offsets in senses.items():
        kept = [offset for offset in offsets if offset in concepts and not _only_a_name(lemma, concepts[offset])]
        if kept and not any(map(str.isdigit, lemma)):
            used[lemma] = kept[:_SENSES]
    return used


def _line(offset: str, concept: _Concept, numbers: dict[str, str]) -> str:
    parents = ",".join(numbers[parent] for parent in concept.parents if parent in numbers)
    return f"{kinds.CONCEPT}{numbers[offset]}\t{parents}\t{' '.join(_stems(concept))}"


def _concepts(file: Path) -> Iterator[tuple[str, _Concept]]:
    """WordNet's concepts by their offsets; single persons and places are left out."""
    for line in file.read_text("latin-1").splitlines():
        if line.startswith(" "):
            continue
        parts = line.split(" | ")[0].split()
        count = int(parts[3], 16)
        written = parts[4 : 4 + 2 * count : 2]
        pointers = parts[5 + 2 * count :]
        above = [(pointers[place], pointers[place + 1]) for place in range(0, len(pointers) - 3, 4)]
        if any(symbol == "@i" for symbol, _ in above):
            continue
        names = frozenset(word.lower() for word in written if word[:1].isupper())
        yield (
            parts[0],
            _Concept(
                tuple(offset for symbol, offset in above if symbol == "@"),
                tuple(word.lower() for word in written),
                names,
                parts[1] in _LIVING,
            ),
        )


def _senses(file: Path) -> Iterator[tuple[str, list[str]]]:
    for line in file.read_text("latin-1").splitlines():
        if not line.startswith(" "):
            parts = line.split()
            yield parts[0].replace("_", " "), parts[-int(parts[2]) :]


def _only_a_name(lemma: str, concept: _Concept) -> bool:
    return concept.living and lemma.replace(" ", "_") in concept.names


def _with_parents(offsets: Iterator[str], concepts: dict[str, _Concept]) -> set[str]:
    found: set[str] = set()
    pending = list(offsets)
    while pending:
        offset = pending.pop()
        if offset not in found and offset in concepts:
            found.add(offset)
            pending.extend(concepts[offset].parents)
    return found


def _stems(concept: _Concept) -> list[str]:
    said = [part for word in concept.words if word not in concept.names for part in word.split("_")]
    return list(dict.fromkeys(stem(part) for part in said if len(part) > 1))


def _number(place: int) -> str:
    digits = ""
    while place:
        place, digit = divmod(place, 36)
        digits = _DIGITS[digit] + digits
    return digits.rjust(4, "0")


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the table beside `stitch.text.kinds`; returns the exit status."""
    given = sys.argv[1:] if arguments is None else list(arguments)
    if len(given) != 1:
        sys.stderr.write("usage: python -m stitch.pipelines.kinds FOLDER\n")
        return 2
    try:
        lines = make_table(Path(given[0]))
    except StitchError as error:
        sys.stderr.write(f"error: {error.message}\nhint: {error.hint}\n")
        return error.exit_code
    # mtime 0, so that the same words give the same file
    kinds.TABLE.write_bytes(gzip.compress(("\n".join(lines) + "\n").encode(), 9, mtime=0))
    sys.stdout.write(f"{len(lines)} lines, {kinds.TABLE.stat().st_size / 1e6:.1f} MB\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
