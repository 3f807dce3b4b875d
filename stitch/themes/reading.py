"""The hierarchy of one tenant, to be read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from operator import attrgetter
from typing import TYPE_CHECKING

import numpy as np

from stitch.core import Episode, Moment, Near, NearStatement, Statement, Theme, Trust
from stitch.core.arguments import told_in_a_line
from stitch.core.hierarchy import check_limit
from stitch.core.process import ProcessLock
from stitch.errors import InputError
from stitch.themes.grouping import name_of, number_of
from stitch.themes.holding import Holding
from stitch.themes.model_records import ThemeNames
from stitch.themes.naming import medoid_of, name_of_terms, terms_of
from stitch.themes.projection import ThemeProjection
from stitch.themes.rows import best_places
from stitch.themes.upkeep import Upkeep

if TYPE_CHECKING:
    from stitch.core.protocols import Vectors


LINKS = 20
"""So many themes may be neighbors of one."""
STATEMENT_LINKS = 10
"""The same of statements."""


@told_in_a_line
class Themes:
    """The episodes, statements and themes of a tenant, as the journal had them when they were last brought up.

    Without what is retired, erased, or replaced by a correction. All methods may be called from several threads: the
    lock is held while they are read, and while they are changed.
    """

    def __init__(self, projection: ThemeProjection, *, lock: ProcessLock) -> None:
        self._projection, self._lock = projection, lock
        self._version = -1
        self._views: dict[Moment | None, _View] = {}
        """Of now, and of the moment that was asked for last."""

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
        with self._held(as_of) as view:
            return view.nearest(vector, limit=limit, trajectory=trajectory, min_trust=min_trust)

    def statement(self, id: str) -> Statement | None:  # noqa: A002 - the word of the domain
        """A statement by its id; None if it is not there."""
        with self._held() as view:
            return view.statement(id)

    def count(self) -> int:
        """The number of statements."""
        with self._held() as view:
            return len(view.holding.statements)

    def statements(self) -> list[Statement]:
        """All statements, by trajectory and place."""
        with self._held() as view:
            ordered = sorted(view.holding.statements.values(), key=attrgetter("trajectory", "position", "id"))
            return list(map(view.holding.with_episode, ordered))

    def episode(self, id: str) -> Episode | None:  # noqa: A002 - the word of the domain
        """An episode by its id; None if it is not there."""
        with self._held() as view:
            lines = view.holding.lines.values()
            return next((each for line in lines for each in line.episodes() if each.id == id), None)

    def episodes(self, trajectory: str) -> Sequence[Episode]:
        """The episodes of a trajectory, in order; together they have all its steps that can be found."""
        with self._held() as view:
            line = view.holding.lines.get(trajectory)
            return list(line.episodes()) if line else []

    def theme(self, id: str) -> Theme | None:  # noqa: A002 - the word of the domain
        """A theme by its id, or the one that took its place when it was merged; None if there is none."""
        number = number_of(id)
        with self._held() as view:
            now = None if number is None else view.upkeep.grouping.now(number)
            return None if now is None else view.theme(now)

    def theme_of(self, statement_id: str) -> Theme | None:
        """The theme of a statement; None if there is no such statement."""
        with self._held() as view:
            number = view.upkeep.grouping.theme_of.get(statement_id)
            return None if number is None else view.theme(number)

    def theme_ids(self, statement_ids: Sequence[str]) -> list[str | None]:
        """The ids of the themes of statements, without their names; None of one that is not there."""
        with self._held() as view:
            theme_of = view.upkeep.grouping.theme_of
            return [None if (number := theme_of.get(each)) is None else name_of(number) for each in statement_ids]

    def themes(self, *, as_of: Moment | None = None) -> Sequence[Theme]:
        """All themes, or those of a moment; the oldest first."""
        with self._held(as_of) as view:
            return [view.theme(number) for number in sorted(view.upkeep.grouping.members)]

    def largest(self, limit: int | None, *, after: str | None = None, as_of: Moment | None = None) -> list[Theme]:
        """The themes of most statements first, up to a limit; of equals the older first.

        With `after` only those behind this one, with `as_of` those of a moment.

        Raises:
            InputError: `after` is none of them, or `limit` is no number from 1.
        """
        check_limit(limit)
        with self._held(as_of) as view:
            members = view.upkeep.grouping.members
            ordered = sorted(members, key=lambda number: (-len(members[number]), number))
            last = None if after is None else number_of(after)
            if after is not None and last not in members:
                raise InputError(f"there is no theme {after!r} any more", hint="begin again without `after`")
            start = 0 if last is None else ordered.index(last) + 1
            return [view.theme(number) for number in ordered[start:][:limit]]

    def reassigned(self) -> float:
        """The share of statements that are in another theme than the one to which they came; 0 without statements."""
        with self._held() as view:
            now, came = view.upkeep.grouping.theme_of, self._projection.came_to()
            return sum(came.get(name, theme) != theme for name, theme in now.items()) / max(1, len(now))

    def statements_of_step(self, trajectory: str, step: str) -> list[Statement]:
        """The statements that a step went into, in order."""
        with self._held() as view:
            holding = view.holding
            return [holding.with_episode(holding.statements[name]) for name in holding.of_step(trajectory, step)]

    def said_in(self, steps: Sequence[tuple[str, str]]) -> list[list[Statement]]:
        """Statements of each step, given by trajectory and id; without their episodes."""
        with self._held() as view:
            return [view.holding.said_by(trajectory, step) for trajectory, step in steps]

    def neighbors(self, statement_id: str) -> list[Near]:
        """The statements most like one, the best first."""
        with self._held() as view:
            rows = view.upkeep.vectors
            if statement_id not in rows:
                return []
            near = rows.nearest(rows[statement_id], limit=STATEMENT_LINKS, but=statement_id)
            return [Near(other, similarity) for similarity, other in near]

    def theme_neighbors(self, theme_id: str) -> list[Near]:
        """The themes most like one, the best first. Whoever is a neighbor of another has it as a neighbor too."""
        number = number_of(theme_id)
        with self._held() as view:
            upkeep = view.upkeep
            near = upkeep.neighbors(number, limit=LINKS) if number in upkeep.grouping.members else []
            return [
                Near(name_of(other), similarity)
                for similarity, other in near
                if any(each == number for _, each in upkeep.neighbors(other, limit=LINKS))
            ]

    def statement_vectors(self) -> tuple[Sequence[str], Vectors]:
        """The ids of all statements, and their unit vectors; a copy."""
        with self._held() as view:
            rows = view.upkeep.vectors
            return list(rows.names), rows.take(rows.names)

    def vectors_of(self, statement_ids: Sequence[str]) -> Vectors:
        """The unit vectors of some statements; zeros of what is not there."""
        found = np.zeros((len(statement_ids), self._projection.embedder.dimension), np.float32)
        with self._held() as view:
            rows = view.upkeep.vectors
            for place, name in enumerate(statement_ids):
                if name in rows:
                    found[place] = rows[name]
        return found

    def theme_vectors(self) -> tuple[Sequence[str], Vectors]:
        """The ids of all themes, and the unit vectors of their centroids; a copy."""
        with self._held() as view:
            numbers = sorted(view.upkeep.grouping.members)
            return list(map(name_of, numbers)), view.upkeep.centroids.take(numbers)

    def let_go(self) -> None:
        """Forget what was made for reading, such as names of themes: they may have words of what is erased."""
        with self._lock:
            self._views = {}

    @contextmanager
    def _held(self, moment: Moment | None = None) -> Iterator[_View]:
        """The hierarchy now or at a moment, which does not change meanwhile."""
        projection = self._projection
        with self._lock:
            if self._version != projection.version:
                self._version, self._views = projection.version, {}
            if moment not in self._views:
                self._views = {None: self._views[None]} if None in self._views else {}
                self._views[moment] = (
                    _View(projection.holding, projection.upkeep, names=projection.names)
                    if moment is None
                    else _View(*projection.at(moment))
                )
            yield self._views[moment]


class _View:
    """The hierarchy now or at a moment; of a moment without names by a model, which may not have been given then."""

    def __init__(self, holding: Holding, upkeep: Upkeep, *, names: ThemeNames | None = None) -> None:
        self.holding, self.upkeep, self._names = holding, upkeep, names
        self._themes: dict[int, Theme] = {}

    def statement(self, name: str) -> Statement | None:
        found = self.holding.statements.get(name)
        return None if found is None else self.holding.with_episode(found)

    def nearest(
        self, vector: Vectors, *, limit: int, trajectory: str | None, min_trust: Trust | None
    ) -> list[NearStatement]:
        rows = self.upkeep.vectors
        names, similarities = rows.names, rows.similarities(vector)
        statements = self.holding.statements
        if trajectory is not None or min_trust is not None:
            kept = [
                place
                for place, each in enumerate(map(statements.__getitem__, names))
                if trajectory in (None, each.trajectory) and (min_trust is None or each.trust >= min_trust)
            ]
            names, similarities = [names[place] for place in kept], similarities[kept]
        places = best_places(similarities, limit)  # equals of the last one, too: the older are first
        found = [(float(similarities[place]), statements[names[place]]) for place in places]
        found.sort(key=lambda each: (-each[0], *_age(each[1])))
        return [NearStatement(self.holding.with_episode(each), near) for near, each in found[:limit]]

    def theme(self, number: int) -> Theme:
        if (made := self._themes.get(number)) is not None:
            return made
        held = self.holding.statements
        statements = sorted((held[name] for name in self.upkeep.grouping.members[number]), key=_age)
        names = [each.id for each in statements]
        terms = terms_of([each.text for each in statements], usual=self.holding.usual, count=len(held))
        medoid = medoid_of(names, self.upkeep.vectors.take(names))
        called = self._names.of(number, names) if self._names is not None else ""
        name = called or name_of_terms(terms, medoid=held[medoid].text)
        made = self._themes[number] = Theme(name_of(number), name, terms, medoid, tuple(names))
        return made


_age = attrgetter("recorded", "trajectory", "position", "id")
