"""What a model called themes: records of the journal, one a theme, as long as the theme is about what it was then."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import NamedTuple

import orjson

from stitch.journal import Journal, NewRecord
from stitch.themes.told import sound_records

KIND = "theme names"
"""The kind of the records."""
_STILL = 0.5
"""A name stands while this share of the statements that it was given for, and of those that are there, is the same."""


class Named(NamedTuple):
    """A name, and what it was given for."""

    name: str
    statements: frozenset[str]


class ThemeNames:
    """The names that a model gave to the themes of a tenant.

    Args:
        journal: Where they are kept.
        tenant: Whose themes.
    """

    def __init__(self, journal: Journal, *, tenant: str) -> None:
        self._journal, self._tenant = journal, tenant
        self._by_theme: dict[int, Named] | None = None

    def of(self, theme: int, statements: Collection[str]) -> str:
        """The name of a theme; empty if it has none, or has become another one."""
        named = self._all().get(theme)
        if named is None:
            return ""
        same = len(named.statements.intersection(statements))
        return named.name if same >= _STILL * max(len(named.statements), len(statements)) else ""

    def take(self, names: Iterable[tuple[int, Named]]) -> None:
        """Keep names, in the place of those that these themes had."""
        for theme, named in names:
            known = theme in self._all()
            payload = orjson.dumps({"name": named.name, "statements": sorted(named.statements)})
            self._journal.append_records(
                self._tenant, [NewRecord(KIND, str(theme), payload)], instead_of=[str(theme)] if known else ()
            )
            self._all()[theme] = named

    def drop(self, statements: Collection[str]) -> None:
        """Erase the names that were given for one of these statements: they may have its words."""
        gone = [theme for theme, named in self._all().items() if not named.statements.isdisjoint(statements)]
        if gone:
            self._journal.erase_records(self._tenant, kind=KIND, key=[str(theme) for theme in gone])
        for theme in gone:
            del self._all()[theme]

    def _all(self) -> dict[int, Named]:
        if self._by_theme is None:
            self._by_theme = {}
            for record in sound_records(self._journal, self._tenant, kind=KIND):
                read = orjson.loads(record.payload)
                self._by_theme[int(record.key)] = Named(read["name"], frozenset(read["statements"]))
        return self._by_theme
