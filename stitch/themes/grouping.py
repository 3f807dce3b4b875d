"""The themes of statements, and the events by which they came to them.

The events are the truth: they stand in the journal, as records that are no steps, and hold ids and times, no word. The
same events give the same grouping, whatever was near what when they happened; those up to a moment give it as it was.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Annotated, Final, Literal, NamedTuple

import orjson
from pydantic import BaseModel, Field, ValidationError
from typing_extensions import TypedDict

from stitch.errors import InputError
from stitch.journal import DamagedRecordError

KIND = "themes"
"""The kind of the records."""

ATTACHED: Final = "attached"
LEFT: Final = "left"
SPLIT: Final = "split"
MERGED: Final = "merged"

Number = Annotated[int, Field(ge=0, le=2**53)]


class Event(NamedTuple):
    """A change of themes."""

    at: Annotated[float, Field(allow_inf_nan=False)]
    """Time at which the memory accepted, corrected or retired the step that brought it about, in Unix seconds."""
    kind: Literal["attached", "left", "split", "merged"]
    theme: Number
    """The theme to which it happened; of a statement that left, 0."""
    statements: tuple[str, ...] = ()
    """Those that came, left, or went to `into`; of a merge none: all did."""
    into: Number = 0
    """Of a split the new theme, of a merge the one that stays."""


class Grouping:
    """Themes, by their numbers, and the ids of their statements, the oldest first."""

    def __init__(self) -> None:
        self.members: dict[int, dict[str, None]] = {}
        self.theme_of: dict[str, int] = {}
        self.merged_into: dict[int, int] = {}
        """Themes into which those were merged that are no more."""
        self.next = 1
        """The number of the next theme; none is used twice."""

    def take(self, event: Event) -> None:
        """Apply an event; what concerns a statement that is not there is passed over."""
        if event.kind == MERGED:
            self.merged_into[event.theme] = event.into
        for name in list(self.members.get(event.theme, ())) if event.kind == MERGED else event.statements:
            if event.kind == SPLIT and self.theme_of.get(name) != event.theme:
                continue
            self._leave(name)
            if event.kind != LEFT:
                self._enter(name, event.theme if event.kind == ATTACHED else event.into)
        self.next = max(self.next, event.theme + 1, event.into + 1)

    def _enter(self, name: str, theme: int) -> None:
        self.members.setdefault(theme, {})[name] = None
        self.theme_of[name] = theme

    def _leave(self, name: str) -> None:
        theme = self.theme_of.pop(name, None)
        if theme is not None:
            del self.members[theme][name]
            if not self.members[theme]:
                del self.members[theme]

    def now(self, theme: int) -> int | None:
        """The theme that has what a theme had; None if it has no statement any more."""
        passed = set[int]()
        while theme in self.merged_into and theme not in self.members and theme not in passed:
            passed.add(theme)
            theme = self.merged_into[theme]
        return theme if theme in self.members else None


Counts = dict[Annotated[str, Field(pattern=r"^[0-9]{1,4}$")], Number]


class Measures(TypedDict):
    """The similarities that were counted (`upkeep.Percentiles`)."""

    to_theme: Counts
    to_neighbor: Counts


def encode(events: Sequence[Event], *, next_theme: int, measures: Measures) -> bytes:
    """Events as one record."""
    return orjson.dumps({"next": next_theme, "measures": measures, "events": list(map(tuple, events))})


class Kept(BaseModel, strict=True):
    """One record; its form is checked, for a backup may be anybody's."""

    next: Number
    measures: Measures
    events: list[Event]


def decode(payload: bytes) -> Kept:
    """A record as it was encoded.

    Raises:
        DamagedRecordError: It never was.
    """
    try:
        return Kept.model_validate_json(payload)
    except ValidationError as error:
        raise DamagedRecordError(
            "a record of themes is none", hint="`stitch verify --repair` makes them anew"
        ) from error


def without(events: Iterable[Event], gone: frozenset[str]) -> list[Event]:
    """Events as they would have been without some statements; those of which nothing is left are left out."""
    left = [
        (each, each._replace(statements=tuple(name for name in each.statements if name not in gone))) for each in events
    ]
    return [kept for each, kept in left if kept.statements or not each.statements]


def name_of(theme: int) -> str:
    """The id of a theme, by its number."""
    return f"t{theme}"


def number_of(name: str) -> int | None:
    """The number of a theme, by its id; None if this is no such id.

    Raises:
        InputError: It is no text.
    """
    if not isinstance(name, str):
        raise InputError(f"{name!r} is no id of a theme", hint="`themes()` lists those there are")
    return int(name[1:]) if name[:1] == "t" and name[1:].isascii() and name[1:].isdecimal() else None
