"""From what a model wrote to labels: cleaned, matched to the names in use, and new only where the rule allows it."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from difflib import SequenceMatcher

from stitch.core import ReferenceRewrite, clean_label
from stitch.core.text_cache import text_cache
from stitch.label.curation import word_key

MAX_NAME_WORDS = 6
"""A longer event or entity type is a sentence, not a name."""

MAX_SCOPE_WORDS = 10
"""So is a longer scope; prompts ask for two to five words."""

MAX_REPLACEMENT_CHARS = 160

_NO_NAMES = frozenset(("none", "n/a", "na", "null", "nothing", "unknown", "not applicable", "no entities"))
_AS_BEFORE = frozenset(("same", "same scope", "same as above", "same as before", "as above", "as before", "ditto",
                        "current", "current scope", "unchanged", "idem", "wie oben", "igual"))  # fmt: skip
_ALIKE = 0.84
_NUMBER = re.compile(r"\d+")
_QUOTES = "\"'`“”‘’.,;:!?-*#• "


def clean_name_of(value: str) -> str:
    """A label without markup, outer quotes and underscores."""
    return clean_label(clean_label(value).replace("_", " ").strip(_QUOTES))


def is_no_name(value: str) -> bool:
    """Whether a model writes it where it has no name to give, or means the one before."""
    folded = clean_name_of(value).strip("()[] ").casefold()
    return folded in _NO_NAMES or folded in _AS_BEFORE


def match_name(value: str, names: Collection[str]) -> str | None:
    """The name in use that `value` means: the same, but for case, inflection, order of words or a slip of the pen.

    Names that differ in a number never match: "day 1" is not "day 2".
    """
    if value in names:
        return value
    folded, key, numbers = value.casefold(), _key(value), _NUMBER.findall(value)
    best: tuple[float, str] | None = None
    for name in names:
        if name.casefold() == folded:
            return name
        if _NUMBER.findall(name) != numbers:
            continue
        if key and _key(name) == key:
            best = max(best or (0.0, name), (2.0, name))
        elif (likeness := _slip(folded, name.casefold())) >= _ALIKE:
            best = max(best or (0.0, name), (likeness, name))
    return best[1] if best else None


@text_cache(maxsize=4096)
def _key(name: str) -> tuple[str, ...]:
    return word_key(name)


def _slip(one: str, other: str) -> float:
    """How alike two names are that differ in one word; 0 if they differ in more or if either word is short."""
    ours, theirs = one.split(), other.split()
    if len(ours) != len(theirs):
        return 0.0
    pairs = [(a, b) for a, b in zip(ours, theirs, strict=True) if a != b]
    if len(pairs) != 1 or min(map(len, pairs[0])) < 5:
        return 0.0
    return SequenceMatcher(None, *pairs[0], autojunk=False).ratio()


def choose_names(values: Iterable[str], names: Sequence[str], *, most: int, room: bool) -> list[str]:
    """The labels of a step from what a model wrote: known names, and new ones if they are names and there is room.

    Args:
        values: What the model wrote.
        names: Those in use.
        most: How many labels of the kind a step may have.
        room: Whether the vocabulary may grow.
    """
    chosen: dict[str, None] = {}
    for value in values:
        cleaned = clean_name_of(value)
        if cleaned.casefold() in _NO_NAMES and cleaned not in names:
            continue
        known = match_name(cleaned, [*names, *chosen]) if cleaned else None
        if known is not None:
            chosen[known] = None
        elif cleaned and room and len(cleaned.split()) <= MAX_NAME_WORDS:
            chosen[cleaned.lower()] = None
    return list(chosen)[:most]


def locate_references(
    text: str, references: Iterable[tuple[str, str]], *, earlier: Sequence[tuple[str | None, str]]
) -> tuple[ReferenceRewrite, ...]:
    """The ledger of what a model resolved: only phrases that stand in the text, only names that were said earlier.

    Args:
        text: Of the step.
        references: Phrases with what they mean.
        earlier: Ids and texts of earlier steps, oldest first.
    """
    found: list[ReferenceRewrite] = []
    for phrase, means in references:
        name = " ".join(means.split()).strip()
        phrase = phrase.strip()
        if not phrase or not name or len(name) > MAX_REPLACEMENT_CHARS or name.casefold() in text.casefold():
            continue
        said = next((step for step, words in reversed(earlier) if name.casefold() in words.casefold()), "")
        if said == "":
            continue
        for place in _places(phrase, text, used=[(other.start, other.end) for other in found]):
            found.append(ReferenceRewrite(start=place[0], end=place[1], replacement=name, antecedent=said or None))
            break
    return tuple(sorted(found, key=lambda rewrite: rewrite.start))


def _places(phrase: str, text: str, *, used: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Where a phrase stands that no other reference has, as it is written first, then in other case; in order.

    A phrase that a model gives twice stands for one thing at its first place, and for another at its second.
    """
    pattern = rf"(?<!\w){re.escape(phrase)}(?!\w)"
    exact = [match.span() for match in re.finditer(pattern, text)]
    folded = [match.span() for match in re.finditer(pattern, text, re.IGNORECASE)]
    for start, end in dict.fromkeys([*exact, *folded]):
        if all(end <= other_start or other_end <= start for other_start, other_end in used):
            yield start, end
