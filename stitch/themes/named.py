"""What a model called themes: records of the journal, one a theme, as long as the theme is about what it was then."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any, NamedTuple

from stitch.journal import Journal
from stitch.themes.model_records import ModelRecords

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
        self._kept = ModelRecords(journal, tenant=tenant, kind=KIND, plain=_plain, read=_read)

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


def _plain(named: Named) -> dict[str, Any]:
    return {"name": named.name, "statements": sorted(named.statements)}


def _read(plain: Any) -> Named:
    return Named(plain["name"], frozenset(plain["statements"]))
