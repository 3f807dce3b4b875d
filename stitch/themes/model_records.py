"""Statements and names of themes by a model: records of the journal, one a window or a theme.

A record holds words, so whatever the model was shown when it was made goes along with it: if one of these steps is
erased, the whole record is, and the other steps of the window say what they say without a model until they are read
again. A step that was corrected since is not the one that was read, and says what it says now.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from pydantic import TypeAdapter, ValidationError

from stitch.core import Statement, Trust
from stitch.journal import DamagedRecordError, Entry, Journal, NewRecord
from stitch.themes.statements import made_of, statement_id, trust_of

KIND = "statements"
"""The kind of the records of windows."""
NAMES_KIND = "theme names"
"""The kind of the records of names."""
_STILL = 0.5
"""A name stands while this share of the statements that it was given for, and of those that are there, is the same."""

_log = logging.getLogger(__name__)
T = TypeVar("T")
Place = tuple[str, str]
"""A trajectory and a step of it."""


class ModelRecords(Generic[T]):
    """The records of one kind of a tenant; if one is damaged there are none, for a model can be asked again."""

    def __init__(self, journal: Journal, *, tenant: str, kind: str, form: TypeAdapter[T]) -> None:
        self._journal, self._tenant, self._kind, self._form = journal, tenant, kind, form
        self._held: dict[str, T] | None = None

    def all(self) -> dict[str, T]:
        """All that is kept, by key, as it came."""
        if self._held is None:
            try:
                records = self._journal.records(self._tenant, kind=self._kind)
                self._held = {record.key: self._form.validate_json(record.payload) for record in records}
            except (DamagedRecordError, ValidationError) as error:
                _log.warning("%s; what a model said is asked of again", error)
                self._journal.erase_records(self._tenant, kind=self._kind)
                self._held = {}
        return self._held

    def put(self, key: str, kept: T) -> None:
        """Keep something, in the place of what its key had."""
        held = self.all()
        record = NewRecord(self._kind, key, self._form.dump_json(kept))
        self._journal.append_records(self._tenant, [record], instead_of=[key] if key in held else ())
        held.pop(key, None)  # what is kept stands in the order of the records, as whoever reads them has it
        held[key] = kept

    def drop(self, keys: Collection[str]) -> list[T]:
        """Erase what keys have, and return it."""
        if keys:
            self._journal.erase_records(self._tenant, kind=self._kind, key=list(keys))
        return [self.all().pop(key) for key in keys]


@dataclass(frozen=True)
class ModelStatement:
    """A statement that a model made of steps."""

    text: str
    steps: tuple[str, ...]
    """The ids of the steps it stands on, in order; the last one says it."""
    date: str | None
    """The day it speaks of, as ISO 8601 writes it."""
    corrects: tuple[str, ...]
    """The ids of the statements that are not right any more."""


@dataclass(frozen=True)
class ReadWindow:
    """A model's reading of a window of steps."""

    trajectory: str
    read: dict[str, str]
    """The digest of each step that was read, by its id."""
    shown: tuple[Place, ...]
    """Other steps of which it was shown something."""
    trust: Trust
    """That of all it was shown."""
    said: tuple[ModelStatement, ...]
    model: str
    """The model; empty of steps of which nothing could be read, which speak for themselves."""


class ModelStatements:
    """Statements of a model on the steps of a tenant."""

    def __init__(self, journal: Journal, *, tenant: str) -> None:
        self._tenant = tenant
        self._kept = ModelRecords(journal, tenant=tenant, kind=KIND, form=TypeAdapter(ReadWindow))
        self._of: dict[Place, str] | None = None

    def covers(self, entry: Entry) -> bool:
        """Whether a step was read as it is now."""
        return self._reading(entry) is not None

    def said_by(self, entry: Entry) -> list[Statement] | None:
        """The statements of which a step is the last; None if no model has read it as it is."""
        reading = self._reading(entry)
        if reading is None or not reading.model:
            return None
        trust = min(trust_of(entry), reading.trust)
        said = [each for each in reading.said if each.steps[-1] == entry.id]
        return [
            made_of(
                entry,
                model_statement_id(self._tenant, entry.trajectory, entry.id, number=number),
                each.text,
                steps=each.steps,
                trust=trust,
                day=each.date,
                corrects=each.corrects,
            )
            for number, each in enumerate(said)
        ]

    def take(self, reading: ReadWindow) -> None:
        """Keep what was said, in the place of what was said of the same window before."""
        key, places = _key(reading), self._places()
        self._kept.put(key, reading)
        places.update(dict.fromkeys(((reading.trajectory, step) for step in reading.read), key))

    def drop(self, trajectory: str, steps: Collection[str]) -> list[ReadWindow]:
        """Erase all that was said by somebody who was shown one of these steps; return it."""
        gone = {(trajectory, step) for step in steps}
        dropped = self._kept.drop([key for key, each in self._kept.all().items() if not gone.isdisjoint(_places(each))])
        if dropped:
            self._of = None
        return dropped

    def ids_in(self, reading: ReadWindow, step: str) -> list[str]:
        """The ids of the statements that a model made of a step of a window."""
        count = sum(each.steps[-1] == step for each in reading.said)
        return [model_statement_id(self._tenant, reading.trajectory, step, number=number) for number in range(count)]

    def _reading(self, entry: Entry) -> ReadWindow | None:
        reading = self._kept.all().get(self._places().get((entry.trajectory, entry.id), ""))
        return reading if reading is not None and reading.read[entry.id] == digest_of(entry) else None

    def _places(self) -> dict[Place, str]:
        """The key of the last record in which each step was read."""
        if self._of is None:
            self._of = {}
            for key, each in self._kept.all().items():
                self._of.update(dict.fromkeys(((each.trajectory, step) for step in each.read), key))
        return self._of


def model_statement_id(tenant: str, trajectory: str, step: str, *, number: int) -> str:
    """The id of a statement that a model made of a step, by its number among these."""
    return statement_id(tenant, trajectory, f"{step}\0told", number=number)


def digest_of(entry: Entry) -> str:
    """A digest that tells a step that was corrected from the one that was read."""
    return hashlib.blake2b(entry.step.content.encode(), digest_size=8).hexdigest()


def _places(reading: ReadWindow) -> set[Place]:
    return {*((reading.trajectory, step) for step in reading.read), *reading.shown}


def _key(reading: ReadWindow) -> str:
    first, count = next(iter(reading.read)), len(reading.read)
    named = f"{len(reading.trajectory)}:{reading.trajectory}{len(first)}:{first}{count}"
    return hashlib.blake2b(named.encode(), digest_size=12).hexdigest()


def read_without_a_model(entries: Sequence[Entry]) -> ReadWindow:
    """The record of steps of which no reply could be used: they speak for themselves, and are not asked of again."""
    read = {entry.id: digest_of(entry) for entry in entries}
    return ReadWindow(entries[0].trajectory, read, (), Trust.LOW, (), "")


@dataclass(frozen=True)
class Named:
    """A name, and what it was given for."""

    name: str
    statements: frozenset[str]


class ThemeNames:
    """The names that a model gave to the themes of a tenant."""

    def __init__(self, journal: Journal, *, tenant: str) -> None:
        self._kept = ModelRecords(journal, tenant=tenant, kind=NAMES_KIND, form=TypeAdapter(Named))

    def of(self, theme: int, statements: Collection[str]) -> str:
        """The name of a theme; empty if it has none, or has become another one."""
        named = self._kept.all().get(str(theme))
        if named is None:
            return ""
        same = len(named.statements.intersection(statements))
        return named.name if same >= _STILL * max(len(named.statements), len(statements)) else ""

    def take(self, names: Iterable[tuple[int, Named]]) -> None:
        """Keep names, in the place of those that these themes had."""
        for theme, named in names:
            self._kept.put(str(theme), named)

    def drop(self, statements: Collection[str]) -> None:
        """Erase the names that were given for one of these statements: they may have its words."""
        self._kept.drop([key for key, named in self._kept.all().items() if not named.statements.isdisjoint(statements)])
