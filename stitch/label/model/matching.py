"""From what a model wrote to labels: cleaned, matched to the names in use, and new only where the rule allows it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from difflib import SequenceMatcher

from stitch.core import ReferenceRewrite, clean_label
from stitch.core.text_cache import text_cache
from stitch.text.words import stems

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
_WORD = re.compile(r"\w")
_COUNTED = re.compile(r"\(\d{1,6}\)$")
_AROUND = re.compile(
    r"""^(?:[-*#•>]+\s+|[\s"'“”‘’*•]+|[.,;:!?]+\s+)|(?<!\w)[-#•]+$|[\s"'“”‘’*•]+$|(?<=[\w)\]"'”’])[.,;:!?]+$"""
)
"""Quotes, marks of lists and ends of sentences around a name; not what belongs to it, as in `.gitignore` or `C#`."""
_SNAKE = re.compile(r"[a-zA-Z0-9]+(?:_[a-zA-Z0-9]+)+")
_CODE = re.compile(r"\w[./\\(]|_|[a-z][A-Z]")


def clean_name_of(value: str) -> str:
    """A label without markup, outer quotes, and the count that a prompt showed with it; names of code as they are.

    Underscores that stand for blanks become blanks: "ask_price", and not "fix __init__.py" or "rename load_rows".
    """
    name = _COUNTED.sub("", clean_label(value))
    while (bare := _AROUND.sub("", name)) != name:
        name = bare
    return clean_label(name.replace("_", " ") if _SNAKE.fullmatch(name) else name) if _WORD.search(name) else ""


def _in_small_letters(name: str) -> str:
    return " ".join(word if _CODE.search(word) else word.lower() for word in name.split())


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
    """A key that names share which differ in inflection, hyphens and order only."""
    return tuple(sorted(set(stems(name.replace("-", " ").replace("_", " ")))))


def _slip(one: str, other: str) -> float:
    """Similarity of two names that differ in one word; 0 if they differ in more or if either word is short."""
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
            chosen[_in_small_letters(cleaned)] = None
    return list(chosen)[:most]


def locate_references(
    text: str,
    references: Iterable[tuple[str, str]],
    *,
    earlier: Sequence[tuple[str | None, str]],
    rejected: Counter[str] | None = None,
) -> tuple[ReferenceRewrite, ...]:
    """Place resolved references in a text: only phrases that stand in it, only names that were said earlier.

    A phrase that is given once stands for the same thing at each of its places; one that is given several times for one
    thing at its first place, and for another at its second.

    Args:
        text: Of the step.
        references: Phrases with what they mean.
        earlier: Ids and texts of earlier steps, oldest first.
        rejected: Counts by reason what is left out.
    """
    found: list[ReferenceRewrite] = []
    rejected = Counter() if rejected is None else rejected
    pairs = list(dict.fromkeys((phrase.strip(), " ".join(means.split())) for phrase, means in references))
    given = Counter(phrase.casefold() for phrase, _ in pairs)
    for phrase, name in pairs:
        said = next((step for step, words in reversed(earlier) if name.casefold() in words.casefold()), "")
        places = list(_places(phrase, text, used=[(other.start, other.end) for other in found])) if phrase else []
        if reason := _why_not(phrase, name, text, said=said != "", placed=bool(places)):
            rejected[reason] += 1
            continue
        for start, end in places[: 1 if given[phrase.casefold()] > 1 else None]:
            found.append(ReferenceRewrite(start=start, end=end, replacement=name, antecedent=said or None))
    return tuple(sorted(found, key=lambda rewrite: rewrite.start))


def _why_not(phrase: str, name: str, text: str, *, said: bool, placed: bool) -> str:
    """The reason a name is not put in for a phrase; empty if it is."""
    if not phrase or not name or len(name) > MAX_REPLACEMENT_CHARS:
        return "no phrase, or no name"
    if name.casefold() in text.casefold():
        return "the step says the name itself"
    if not said:
        return "the name was not said earlier"
    return "" if placed else "the phrase does not stand in the step"


def _places(phrase: str, text: str, *, used: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Spans of a phrase that no other reference has, as it is written first, then in other case; in order."""
    pattern = rf"(?<!\w){re.escape(phrase)}(?!\w)"
    exact = [match.span() for match in re.finditer(pattern, text)]
    folded = [match.span() for match in re.finditer(pattern, text, re.IGNORECASE)]
    for start, end in dict.fromkeys([*exact, *folded]):
        if all(end <= other_start or other_end <= start for other_start, other_end in used):
            yield start, end
