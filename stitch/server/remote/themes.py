"""The hierarchy of a memory that is somewhere else: what can be read of it by name, and no vectors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, NoReturn

from typing_extensions import override

from stitch.core import Episode, Moment, Near, NearStatement, Statement, Theme, Trust
from stitch.core.hierarchy import check_limit
from stitch.errors import InputError
from stitch.server.api.models import MOST_PAGE_ITEMS
from stitch.server.api.operations import made
from stitch.server.api.theme_models import (
    EpisodesRequest,
    PlacedStatementRow,
    StatementsRequest,
    ThemeRequest,
    ThemeResponse,
    ThemesRequest,
)
from stitch.themes import Themes
from stitch.themes.grouping import number_of

if TYPE_CHECKING:
    from stitch.core.protocols import Vectors
    from stitch.server.remote.asking import Asking


class RemoteThemes(Themes):
    """The episodes, statements and themes of a memory that is somewhere else."""

    def __init__(self, memory: Asking) -> None:
        # Not that of `Themes`: everything that uses its parts is overridden.
        self._memory = memory

    @property
    @override
    def embedder(self) -> str:
        return self._refused()

    @override
    def nearest(
        self,
        vector: Vectors,
        *,
        limit: int,
        trajectory: str | None = None,
        min_trust: Trust | None = None,
        as_of: Moment | None = None,
    ) -> list[NearStatement]:
        return self._refused()

    @override
    def statement(self, id: str) -> Statement | None:
        return next((_statement(row) for row in self._rows(statement=id)), None)

    @override
    def count(self) -> int:
        return sum(len(theme.statements) for theme in self.largest(None))

    @override
    def statements(self) -> list[Statement]:
        return list(map(_statement, self._rows()))

    @override
    def episode(self, id: str) -> Episode | None:
        return next(self._episodes(episode=id), None)

    @override
    def episodes(self, trajectory: str) -> Sequence[Episode]:
        return list(self._episodes(trajectory=trajectory))

    @override
    def theme(self, id: str) -> Theme | None:
        told = self._theme(id)
        if told is None:
            return None
        return Theme(told.id, told.name, told.terms, told.medoid, tuple(each.id for each in told.statements))

    @override
    def theme_of(self, statement_id: str) -> Theme | None:
        [found] = self.theme_ids([statement_id])
        return None if found is None else self.theme(found)

    @override
    def theme_ids(self, statement_ids: Sequence[str]) -> list[str | None]:
        return [next((row.theme for row in self._rows(statement=each)), None) for each in statement_ids]

    @override
    def themes(self, *, as_of: Moment | None = None) -> Sequence[Theme]:
        return sorted(self.largest(None, as_of=as_of), key=lambda theme: number_of(theme.id) or 0)

    @override
    def largest(self, limit: int | None, *, after: str | None = None, as_of: Moment | None = None) -> list[Theme]:
        if as_of is not None and as_of.trajectory is not None:
            raise InputError("themes up to a step are told where the memory is open", hint="give a time")
        return self.listed(limit, after=after, as_of=None if as_of is None else as_of.recorded)

    def listed(self, limit: int | None, *, after: str | None, as_of: float | str | None) -> list[Theme]:
        """As `largest`, at a moment as a caller writes it."""
        check_limit(limit)
        size = MOST_PAGE_ITEMS if limit is None else min(limit, MOST_PAGE_ITEMS)
        moment = str(float(as_of)) if isinstance(as_of, int | float) else as_of  # few digits alone may be a year
        pages = self._memory.pages("themes", made(ThemesRequest, limit=size, after=after, as_of=moment))
        rows = (row for page in pages for row in page.themes)
        return [Theme(**row.model_dump()) for row in islice(rows, limit)]

    @override
    def reassigned(self) -> float:
        return self._refused()

    @override
    def statements_of_step(self, trajectory: str, step: str) -> list[Statement]:
        return list(map(_statement, self._rows(trajectory=trajectory, step=step)))

    @override
    def said_in(self, steps: Sequence[tuple[str, str]]) -> list[list[Statement]]:
        return [
            [each for each in self.statements_of_step(trajectory, step) if each.steps[-1] == step]
            for trajectory, step in steps
        ]

    @override
    def neighbors(self, statement_id: str) -> list[Near]:
        rows = self._rows(statement=statement_id)
        return [Near(each.id, each.similarity) for row in rows for each in row.neighbors]

    @override
    def theme_neighbors(self, theme_id: str) -> list[Near]:
        told = self._theme(theme_id)
        return [] if told is None else [Near(each.id, each.similarity) for each in told.neighbors]

    @override
    def statement_vectors(self) -> tuple[Sequence[str], Vectors]:
        return self._refused()

    @override
    def vectors_of(self, statement_ids: Sequence[str]) -> Vectors:
        return self._refused()

    @override
    def theme_vectors(self) -> tuple[Sequence[str], Vectors]:
        return self._refused()

    @override
    def let_go(self) -> None:
        pass

    def _refused(self) -> NoReturn:
        raise InputError(
            "vectors of statements and themes are read in the process that has the memory open",
            hint="`search(question, retriever='themes')` compares with them there",
        )

    def _theme(self, name: str) -> ThemeResponse | None:
        if number_of(name) is None:
            return None
        try:
            told: ThemeResponse = self._memory.ask("theme", made(ThemeRequest, theme=name))
        except InputError:
            return None
        return told

    def _rows(self, **named: str) -> Iterator[PlacedStatementRow]:
        pages = self._memory.pages("statements", made(StatementsRequest, limit=MOST_PAGE_ITEMS, **named))
        return (row for page in pages for row in page.statements)

    def _episodes(self, **named: str) -> Iterator[Episode]:
        pages = self._memory.pages("episodes", made(EpisodesRequest, limit=MOST_PAGE_ITEMS, **named))
        return (Episode(**row.model_dump()) for page in pages for row in page.episodes)


def _statement(row: PlacedStatementRow) -> Statement:
    told = row.model_dump(include=set(Statement._fields))
    return Statement(**{**told, "trust": Trust(row.trust)})
