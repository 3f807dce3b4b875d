"""The hierarchy of one tenant, to be read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from stitch.core import Episode, Moment, Near, NearStatement, Statement, Theme, Trust
from stitch.core.hierarchy import check_limit
from stitch.core.process import ProcessLock
from stitch.errors import InputError
from stitch.themes.grouping import name_of, number_of
from stitch.themes.holding import Holding
from stitch.themes.naming import medoid_of, name_of_terms, terms_of
from stitch.themes.projection import ThemeProjection
from stitch.themes.rows import best_places
from stitch.themes.told import ThemeNames
from stitch.themes.upkeep import Upkeep

if TYPE_CHECKING:
    from stitch.core.protocols import Vectors


LINKS = 20
"""So many themes may be neighbors of one."""
STATEMENT_LINKS = 10
"""The same of statements."""


class Themes:
    """The episodes, statements and themes of a tenant, as the journal had them when they were last brought up.

    Without what is retired, erased, or replaced by a correction. All methods may be called from several threads: the
    lock is held while they are read, and while they are changed.
    """

    def __init__(self, projection: ThemeProjection, *, lock: ProcessLock) -> None:
        self._projection, self._lock = projection, lock
        self._version = -1
        self._now: _View | None = None
        self._then: tuple[int, Moment, _View] | None = None

    @property
    def embedder(self) -> str:
        """The name of the embedding space of the vectors."""
        return self._projection.embedder.name

    def nearest(
        self,
        vector: Vectors,
        *,
        limit: int,
        trajectory: str | None = None,
        min_trust: Trust | None = None,
        as_of: Moment | None = None,
    ) -> list[NearStatement]:
        """The statements most similar to a vector, exactly, the best first; of equals the older first."""
        with self._lock:
            return self._view(as_of).nearest(vector, limit=limit, trajectory=trajectory, min_trust=min_trust)

    def statement(self, id: str) -> Statement | None:  # noqa: A002 - the word of the domain
        """A statement by its id; None if it is not there."""
        with self._lock:
            return self._view().statement(id)

    def count(self) -> int:
        """The number of statements."""
        with self._lock:
            return len(self._view().holding.statements)

    def statements(self) -> list[Statement]:
        """All statements, by trajectory and place."""
        with self._lock:
            view = self._view()
            return [found for name in view.in_order() if (found := view.statement(name)) is not None]

    def episode(self, id: str) -> Episode | None:  # noqa: A002 - the word of the domain
        """An episode by its id; None if it is not there."""
        with self._lock:
            return self._view().episode(id)

    def episodes(self, trajectory: str) -> Sequence[Episode]:
        """The episodes of a trajectory, in order; together they have all its steps that can be found."""
        with self._lock:
            return list(self._view().holding.episodes(trajectory))

    def theme(self, id: str) -> Theme | None:  # noqa: A002 - the word of the domain
        """A theme by its id, or the one that took its place when it was merged; None if there is none."""
        number = number_of(id)
        with self._lock:
            view = self._view()
            now = None if number is None else view.upkeep.grouping.now(number)
            return None if now is None else view.theme(now)

    def theme_of(self, statement_id: str) -> Theme | None:
        """The theme of a statement; None if there is no such statement."""
        with self._lock:
            view = self._view()
            number = view.upkeep.grouping.theme_of.get(statement_id)
            return None if number is None else view.theme(number)

    def theme_ids(self, statement_ids: Sequence[str]) -> list[str | None]:
        """The ids of the themes of statements, without their names; None of one that is not there."""
        with self._lock:
            theme_of = self._view().upkeep.grouping.theme_of
            return [None if (number := theme_of.get(each)) is None else name_of(number) for each in statement_ids]

    def themes(self, *, as_of: Moment | None = None) -> Sequence[Theme]:
        """All themes, or those of a moment; the oldest first."""
        with self._lock:
            view = self._view(as_of)
            return [view.theme(number) for number in sorted(view.upkeep.grouping.members)]

    def largest(self, limit: int | None, *, after: str | None = None, as_of: Moment | None = None) -> list[Theme]:
        """So many themes, or all, those of most statements first; of equals the older first.

        With `after` only those behind this one, with `as_of` those of a moment.

        Raises:
            InputError: `after` is none of them, or `limit` is no number from 1.
        """
        check_limit(limit)
        with self._lock:
            view = self._view(as_of)
            members = view.upkeep.grouping.members
            ordered = sorted(members, key=lambda number: (-len(members[number]), number))
            start = 0
            if after is not None:
                last = number_of(after)
                if last not in members:
                    raise InputError(f"there is no theme {after!r} any more", hint="begin again without `after`")
                start = ordered.index(last) + 1
            return [view.theme(number) for number in ordered[start:][:limit]]

    def reassigned(self) -> float:
        """The share of statements that are in another theme than the one to which they came; 0 without statements."""
        with self._lock:
            now, came = self._view().upkeep.grouping.theme_of, self._projection.came_to()
            return sum(came.get(name, theme) != theme for name, theme in now.items()) / max(1, len(now))

    def statements_of_step(self, trajectory: str, step: str) -> list[Statement]:
        """The statements that a step went into, in order."""
        with self._lock:
            view = self._view()
            found = map(view.statement, view.holding.of_step(trajectory, step))
            return [each for each in found if each is not None]

    def said_in(self, steps: Sequence[tuple[str, str]]) -> list[list[Statement]]:
        """Of each step, by its trajectory and id, the statements that it says; of these no episode is told."""
        with self._lock:
            holding = self._view().holding
            return [holding.said_by(trajectory, step) for trajectory, step in steps]

    def neighbors(self, statement_id: str) -> list[Near]:
        """The statements most like one, the best first."""
        with self._lock:
            rows = self._view().upkeep.vectors
            if statement_id not in rows:
                return []
            near = rows.nearest(rows[statement_id], limit=STATEMENT_LINKS, but=statement_id)
            return [Near(other, similarity) for similarity, other in near]

    def theme_neighbors(self, theme_id: str) -> list[Near]:
        """The themes most like one, the best first. Whoever is a neighbor of another has it as a neighbor too."""
        number = number_of(theme_id)
        with self._lock:
            upkeep = self._view().upkeep
            near = upkeep.neighbors(number, limit=LINKS) if number in upkeep.grouping.members else []
            return [
                Near(name_of(other), similarity)
                for similarity, other in near
                if any(each == number for _, each in upkeep.neighbors(other, limit=LINKS))
            ]

    def statement_vectors(self) -> tuple[Sequence[str], Vectors]:
        """The ids of all statements, and their unit vectors; a copy."""
        with self._lock:
            rows = self._view().upkeep.vectors
            return list(rows.names), rows.matrix.copy()

    def vectors_of(self, statement_ids: Sequence[str]) -> Vectors:
        """The unit vectors of some statements; zeros of what is not there."""
        with self._lock:
            rows = self._view().upkeep.vectors
            found = np.zeros((len(statement_ids), self._projection.embedder.dimension), np.float32)
            there = [place for place, name in enumerate(statement_ids) if name in rows]
            if there:
                found[there] = rows.take([statement_ids[place] for place in there])
            return found

    def theme_vectors(self) -> tuple[Sequence[str], Vectors]:
        """The ids of all themes, and the unit vectors of their centroids; a copy."""
        with self._lock:
            return self._view().theme_vectors()

    def let_go(self) -> None:
        """Forget what was made for reading, such as names of themes: they may have words of what is erased."""
        with self._lock:
            self._now = self._then = None

    def _view(self, moment: Moment | None = None) -> _View:
        projection = self._projection
        projection.load()
        if moment is not None:
            if self._then is None or self._then[:2] != (projection.version, moment):
                self._then = projection.version, moment, _View(*projection.at(moment))
            return self._then[2]
        if self._now is None or self._version != projection.version:
            self._now = _View(projection.holding, projection.upkeep, names=projection.names)
            self._version = projection.version
        return self._now


class _View:
    """The hierarchy now or at a moment; of a moment without names by a model, which may not have been given then."""

    def __init__(self, holding: Holding, upkeep: Upkeep, *, names: ThemeNames | None = None) -> None:
        self.holding, self.upkeep, self._names = holding, upkeep, names
        self._themes: dict[int, Theme] = {}
        self._statements: dict[str, Statement] = {}
        self._episodes: dict[str, Episode] | None = None

    def statement(self, name: str) -> Statement | None:
        made = self._statements.get(name)
        if made is None and (found := self.holding.statements.get(name)) is not None:
            made = self._statements[name] = self.holding.with_episode(found)
        return made

    def in_order(self) -> list[str]:
        statements = self.holding.statements
        return sorted(statements, key=lambda name: (statements[name].trajectory, statements[name].position, name))

    def episode(self, name: str) -> Episode | None:
        if self._episodes is None:
            self._episodes = {each.id: each for one in self.holding.lines for each in self.holding.episodes(one)}
        return self._episodes.get(name)

    def nearest(
        self, vector: Vectors, *, limit: int, trajectory: str | None, min_trust: Trust | None
    ) -> list[NearStatement]:
        rows = self.upkeep.vectors
        if trajectory is not None:
            names: Sequence[str] = list(self.holding.of_trajectory.get(trajectory, ()))
            similarities = rows.take(names) @ vector if names else np.zeros(0, np.float32)
        else:
            names, similarities = rows.names, rows.similarities(vector)
        if min_trust is not None:
            kept = [place for place, name in enumerate(names) if self.holding.statements[name].trust >= min_trust]
            names, similarities = [names[place] for place in kept], similarities[kept]
        places = best_places(similarities, limit)  # equals of the last one, too: the older are first
        found = [(float(similarities[place]), self.holding.statements[names[place]]) for place in places]
        found.sort(key=lambda each: (-each[0], _age(each[1])))
        return [NearStatement(self.holding.with_episode(each), near) for near, each in found[:limit]]

    def theme(self, number: int) -> Theme:
        if number not in self._themes:
            self._themes[number] = self._theme(number)
        return self._themes[number]

    def _theme(self, number: int) -> Theme:
        statements = self.holding.statements
        names = sorted(self.upkeep.grouping.members[number], key=lambda name: _age(statements[name]))
        texts = [statements[name].text for name in names]
        terms = terms_of(texts, usual=self.holding.usual, count=len(statements))
        medoid = medoid_of(names, self.upkeep.vectors.take(names))
        called = self._names.of(number, names) if self._names is not None else ""
        name = called or name_of_terms(terms, medoid=statements[medoid].text)
        return Theme(name_of(number), name, terms, medoid, tuple(names))

    def theme_vectors(self) -> tuple[list[str], Vectors]:
        numbers = sorted(self.upkeep.grouping.members)
        centroids = np.zeros((len(numbers), self.upkeep.vectors.matrix.shape[1]), np.float32)
        for place, number in enumerate(numbers):
            centroids[place] = self.upkeep.group(number).centroid
        return [name_of(number) for number in numbers], centroids


def _age(statement: Statement) -> tuple[float, str, int, str]:
    return statement.recorded, statement.trajectory, statement.position, statement.id
