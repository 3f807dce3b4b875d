"""The themes of statements, and the events by which they came to them.

The events are the truth: they stand in the journal, as records that are no steps, and hold ids and times, no word. The
same events give the same grouping, whatever was near what when they happened; those up to a moment give it as it was.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any, Literal, NamedTuple, cast

import orjson
from pydantic import BaseModel, Field, ValidationError

from stitch.errors import InputError
from stitch.journal import DamagedRecordError

KIND = "themes"
"""The kind of the records."""

ATTACHED, LEFT, SPLIT, MERGED = "attached", "left", "split", "merged"


class Event(NamedTuple):
    """Something that happened to themes."""

    at: float
    """Time at which the memory accepted, corrected or retired the step that brought it about, in Unix seconds."""
    kind: str
    theme: int
    """The theme to which it happened; of a statement that left, 0."""
    statements: tuple[str, ...] = ()
    """Those that came, left, or went to `into`; of a merge none: all did."""
    into: int = 0
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
        """Let an event happen; what concerns a statement that is not there is passed over."""
        if event.kind == ATTACHED:
            for name in event.statements:
                self._leave(name)
                self._enter(name, event.theme)
        elif event.kind == LEFT:
            for name in event.statements:
                self._leave(name)
        elif event.kind == SPLIT:
            for name in event.statements:
                if self.theme_of.get(name) == event.theme:
                    self._leave(name)
                    self._enter(name, event.into)
        else:
            for name in list(self.members.get(event.theme, ())):
                self._leave(name)
                self._enter(name, event.into)
            self.merged_into[event.theme] = event.into
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


def encode(events: Sequence[Event], *, next_theme: int, measures: Any) -> bytes:
    """Events as one record."""
    plain = [[each.at, each.kind, each.theme, each.statements, each.into] for each in events]
    return orjson.dumps({"next": next_theme, "measures": measures, "events": plain})


class Kept(NamedTuple):
    """One record."""

    next_theme: int
    measures: Mapping[str, Mapping[str, int]]
    events: list[Event]


_Number = Annotated[int, Field(ge=0, le=2**53)]
_Time = Annotated[float, Field(allow_inf_nan=False)]
_Count = Annotated[str, Field(pattern=r"^[0-9]{1,4}$")]


class _Written(BaseModel, strict=True):
    """The form of a record: a backup may be anybody's."""

    next: _Number
    measures: dict[Literal["to_theme", "to_neighbor"], dict[_Count, _Number]] = Field(min_length=2)
    events: list[tuple[_Time, Literal["attached", "left", "split", "merged"], _Number, list[str], _Number]]


def decode(payload: bytes) -> Kept:
    """A record as it was encoded.

    Raises:
        DamagedRecordError: It never was.
    """
    try:
        read = _Written.model_validate_json(payload)
    except ValidationError as error:
        raise DamagedRecordError(
            "a record of themes is none", hint="`stitch verify --repair` makes them anew"
        ) from error
    events = [Event(at, kind, theme, tuple(names), into) for at, kind, theme, names, into in read.events]
    return Kept(read.next, cast(Mapping[str, Mapping[str, int]], read.measures), events)


def without(events: Iterable[Event], gone: frozenset[str]) -> list[Event]:
    """Events as they would have been without some statements; those of which nothing is left are left out."""
    left = [
        (event, event._replace(statements=tuple(name for name in event.statements if name not in gone)))
        for event in events
    ]
    return [kept for event, kept in left if kept.statements or not event.statements]


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
