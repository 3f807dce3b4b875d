"""Kinds of things that a noun names: a chickpea is a legume, a duck is poultry.

Out of WordNet 3.0 (its license lies beside the table), made by `stitch.bench.fit.kinds`. A word may have several
meanings; kinds of its rarer ones count for less.
"""

from __future__ import annotations

import gzip
from bisect import bisect_left
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from stitch.core.text_cache import text_cache
from stitch.text.words import stem, word_set

TABLE = Path(__file__).parent / "table" / "kinds.txt.gz"
CONCEPT = "#"
"""Begins the lines of concepts: they sort before all words."""
PLURAL = "="
_WEIGHTS = (0.9, 0.8, 0.6)
"""Of the first, second and third meaning of a word."""
_ENDINGS = (("ies", "y"), ("es", ""), ("s", ""))
_TOO_GENERAL = frozenset(
    map(
        stem,
        word_set("entity physical object thing whole matter substance unit part group act abstraction attribute state"),
    )
)


@text_cache(maxsize=65_536)
def kinds_of(term: str) -> Mapping[str, float]:
    """The stems of all words for the kinds of things that a term names, with how common the meaning is.

    A term is a noun or a compound in lower case, singular or plural.

    Returns:
        Weights by stem, its own word included; empty if it is no noun that is known.
    """
    found: dict[str, float] = {}
    for weight, concept in zip(_WEIGHTS, _meanings(term), strict=False):
        for kind in _kinds(concept):
            found.setdefault(kind, weight)
    return found


@text_cache(maxsize=65_536)
def singular_stem(word: str) -> str:
    """The stem of a word, of an irregular plural that of its singular: "fungi" and "fungus" have one."""
    said = _line(word)
    return stem(said[1:] if said is not None and said.startswith(PLURAL) else word)


def _meanings(term: str) -> list[str]:
    singulars = (term[: -len(ending)] + instead for ending, instead in _ENDINGS if term.endswith(ending))
    said = next((said for each in (term, *singulars) if (said := _line(each)) is not None), None)
    if said is not None and said.startswith(PLURAL):
        said = _line(said[1:])
    return said.split(",") if said else []


@text_cache(maxsize=65_536)
def _kinds(concept: str) -> frozenset[str]:
    """The stems of a concept and of all above it. WordNet's nouns are at most 20 deep."""
    above, _, stems = (_line(CONCEPT + concept) or "\t").partition("\t")
    found = frozenset(stems.split()) - _TOO_GENERAL
    return found.union(*(_kinds(parent) for parent in above.split(",") if parent))


def _line(key: str) -> str | None:
    """The value of a key in the table."""
    if not key or "\t" in key or "\n" in key:
        return None
    table = _table()
    place = bisect_left(table, key + "\t")
    if place < len(table) and table[place].startswith(key + "\t"):
        return table[place][len(key) + 1 :]
    return None


@cache
def _table() -> list[str]:
    return gzip.decompress(TABLE.read_bytes()).decode().splitlines()
