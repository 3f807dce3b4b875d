"""The values of fields as models write them: text, names, objects, counts and choices.

What is read is what was said: a count or a choice is never guessed out of prose.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from stitch.core.json_text import read_json
from stitch.lm.salvage import json_in, objects_in
from stitch.signatures.replies import same_word

_SEPARATORS = re.compile(r"[,;\n]")
_BULLET = re.compile(r"^\s*(?:[-*•]|\d{1,2}[.)])\s+")
_NUMBER_IN_WORDS = {"zero": 0, "none": 0, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5}
_NOTHING_CHARS = 20
"""A text that is longer says something, if only brackets."""


def as_text(value: Any) -> str:
    """Text; of a list its items, one a line would be many, so with semicolons; of an object its values with names.

    Of an object with one value, or with nothing beside its name but null, the value alone.
    """
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    if isinstance(value, list):
        return "; ".join(as_text(one) for one in value)
    if isinstance(value, Mapping):
        told = [own for own in value.values() if own is not None]
        if len(told) == 1:
            return as_text(told[0])
        return "; ".join(f"{name}: {as_text(one)}" for name, one in value.items())
    return str(value)


def as_names(value: Any) -> list[str]:
    """Names where a model gives none, one text, or objects with a name."""
    if value is None:
        return []
    if isinstance(value, str):
        listed = None
        with suppress(ValueError):  # it is no JSON, but names with signs between them
            listed = read_json(value)
        if isinstance(listed, list):
            return as_names(listed)
        value = [_BULLET.sub("", part).strip() for part in _SEPARATORS.split(value)]
        value = [part for part in value if not is_nothing(part)]
    if isinstance(value, Mapping):
        told = all(isinstance(one, (bool, str)) for one in value.values()) and _NAMING.isdisjoint(value)
        value = list(value) if told else [value]  # each name with a reason, or with a yes
    if not isinstance(value, Iterable):
        raise TypeError("no list")
    return [name for name in map(_name_in, value) if name]


def as_scores(value: Any) -> list[float]:
    """Scores in their order, where a model gives a mapping from numbers, or objects with a number and a score each."""
    if isinstance(value, str):
        value = read_json(value)
    if isinstance(value, Mapping):
        value = [value[key] for key in sorted(value, key=lambda key: int(re.sub(r"\D", "", key)))]
    if not isinstance(value, list):
        raise TypeError("no list")
    if value and all(isinstance(one, Mapping) and "n" in one for one in value):
        value = sorted(value, key=lambda one: int(one["n"]))
    return list(map(_score_in, value))


def _score_in(value: Any) -> float:
    """A score, or the only number of an object beside its place in the list."""
    if isinstance(value, Mapping):
        [value] = [own for key, own in value.items() if key != "n" and isinstance(own, (int, float))]
    return float(value)


def as_objects(value: Any) -> list[Any]:
    """Objects where a model gives one, none, or their JSON as text. What is no object stays: who reads it says so."""
    if isinstance(value, str):
        if len(value) <= _NOTHING_CHARS and is_nothing(value):
            return []
        read = json_in(value)
        return as_objects(read) if isinstance(read, list) else list(objects_in(value)) or [value]
    if isinstance(value, Mapping):
        inner = next(iter(value.values())) if len(value) == 1 else None
        return as_objects(inner) if isinstance(inner, list) else [value]
    if value is None:
        return []
    if not isinstance(value, list):
        raise TypeError("no list")
    return [own for one in value for own in as_objects(one)]


def is_nothing(value: str) -> bool:
    """Whether a model says with it that there is none."""
    return value.strip(" .()[]\"'-").casefold() in (
        "",
        "none",
        "n/a",
        "na",
        "null",
        "nothing",
        "empty",
        "keine",
        "ninguno",
    )


_NAMING = frozenset(("name", "label", "type", "value"))


def _name_in(value: Any) -> str:
    """The name that a text, or an object with a name, says; empty if none."""
    if isinstance(value, Mapping):
        texts = [own for own in value.values() if isinstance(own, str)]
        value = next(
            (value[key] for key in ("name", "label", "type", "value") if isinstance(value.get(key), str)), None
        ) or (texts[0] if texts else "")
    return value.strip() if isinstance(value, str) else "" if value is None else str(value)


_OTHER_COUNTS = frozenset(
    [
        "all",
        "denominator",
        "failed",
        "false",
        "incorrect",
        "missed",
        "missing",
        "of",
        "out",
        "total",
        "unmatched",
        "wrong",
    ]
)
"""Words in the name of a number that is no count of what holds: of how many it is, or how many do not."""


def as_count(value: Any) -> int:
    """A count: `3`, "3", 3.0, "3 of 5", "three", or as many as a list has: of those that hold, where it says which.

    Of an object with one field its value, unless its name says that it counts something else, such as `total`.
    """
    if isinstance(value, list):
        return _how_many(value)
    if isinstance(value, Mapping) and len(value) == 1:
        [(name, only)] = value.items()
        if counts_else(str(name)):
            raise ValueError(f"{name!r} counts something else")
        return as_count(only)
    if isinstance(value, bool) or value is None or isinstance(value, Mapping):
        raise ValueError("no count")
    if isinstance(value, (int, float)):
        if value != int(value) or value < 0:
            raise ValueError("no count")
        return int(value)
    folded = str(value).strip().casefold()
    if found := re.match(r"[^\d-]{0,3}(\d{1,12})(?!\d|[.,]\d)", folded):
        return int(found.group(1))
    if (first := folded.split(" ")[0].strip(".,")) in _NUMBER_IN_WORDS:
        return _NUMBER_IN_WORDS[first]
    raise ValueError("no count")


def counts_else(name: str) -> bool:
    """Whether a number of this name is no count of what holds, such as `total` or `missed`."""
    return not _OTHER_COUNTS.isdisjoint(re.findall(r"[a-z]+", name.casefold()))


def _how_many(listed: Sequence[Any]) -> int:
    """How many are listed; where each says with one yes or no whether it holds, those that do."""
    verdicts = [[own for own in one.values() if isinstance(own, bool)] for one in listed if isinstance(one, Mapping)]
    if len(verdicts) == len(listed) and all(len(own) == 1 for own in verdicts):
        return sum(own[0] for own in verdicts)
    return len(listed)


def as_choice(value: Any, options: tuple[Any, ...]) -> Any:
    """The option that is meant: in other case, with signs around it, or by another word that can mean nothing else.

    What is said behind an option, after a full stop or on a line of its own, is a reason.
    """
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    found = _INSIDE.search(str(value))
    said = found.group().casefold() if found else ""
    head = _BEHIND_CHOICE.split(said, maxsplit=1)[0].strip()
    for option in options:
        if _spelled(said) == _spelled(option) or same_word(said, str(option)) or _spelled(head) == _spelled(option):
            return option
    raise ValueError(f"none of {', '.join(map(str, options))}")


def as_choices(value: Any, options: tuple[Any, ...]) -> list[Any]:
    """The options that are meant, each once; none where a model says that there is none.

    Raises:
        ValueError: It says something, and nothing of it is an option.
    """
    said = as_names(value)
    chosen: list[Any] = []
    for name in said:
        with suppress(ValueError):
            chosen.append(as_choice(name, options))
    if said and not chosen:
        raise ValueError(f"none of {', '.join(map(str, options))}")
    return list(dict.fromkeys(chosen))


def says_none(said: str, name: str) -> bool:
    """Whether a reply says in a few words that there is nothing of what a field is for: "No synonyms found."."""
    words = re.findall(r"[^\W_]+", said.casefold())
    return is_nothing(said) or (
        1 < len(words) <= _MOST_WORDS_OF_NONE
        and words[0] == "no"
        and any(word.rstrip("s") == name.casefold().rstrip("s") for word in words)
    )


_INSIDE = re.compile(r"\w(?:.{0,198}\w)?", re.DOTALL)
_BEHIND_CHOICE = re.compile(r"[.;:\n]|\s[-–—]\s")
_MOST_WORDS_OF_NONE = 6


def _spelled(option: Any) -> str:
    """An option without the signs that its words may be joined by."""
    return re.sub(r"[\s_-]+", " ", str(option)).casefold()
