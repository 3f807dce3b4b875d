"""The judge that needs no model: containment of normalized strings. An item is met if one string
stands in the other at word boundaries.
"""

from __future__ import annotations

import re
import unicodedata

_MARKS = re.compile(r"[^\w.]+")
_ARTICLES = re.compile(r"\b(?:a|an|the)\b")
_OUTER_POINTS = re.compile(r"(?<!\d)\.|\.(?!\d)")


def normalize(text: str) -> str:
    """Fold case, width and accents' forms; drop marks and English articles; one blank between words.

    Decimal points stay, so that "$76.22" and "7622" differ while "$76.22" and "76.22" do not.
    """
    folded = unicodedata.normalize("NFKC", text).casefold()
    folded = _OUTER_POINTS.sub(" ", _MARKS.sub(" ", folded))
    return " ".join(_ARTICLES.sub(" ", folded).split())


def contains(text: str, item: str) -> bool:
    """Whether the normalized item stands in the normalized text, at word boundaries; an empty item never does."""
    return contains_normalized(normalize(text), normalize(item))


def contains_normalized(text: str, item: str) -> bool:
    """As `contains`, for what is normalized already."""
    return bool(item) and f" {item} " in f" {text} "


def count_contained(gold: tuple[str, ...], generated: tuple[str, ...]) -> int:
    """How many generated candidates are correct: each gold item may be met once, by containment either way."""
    open_items = [normalize(item) for item in gold]
    correct = 0
    for given in map(normalize, generated):
        for place, wanted in enumerate(open_items):
            if contains_normalized(given, wanted) or contains_normalized(wanted, given):
                del open_items[place]
                correct += 1
                break
    return correct
