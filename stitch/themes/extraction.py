"""Reads what no model has read yet: goes on where it stopped, and keeps each window before it asks of the next."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from stitch.core import Statement, StepState
from stitch.core.process import ProcessLock
from stitch.errors import ModelError, ReplyError
from stitch.themes.asking import EARLIER, NAMED_FROM, THEMES_A_CALL, StatementModel, Window, windows
from stitch.themes.model_records import Named, read_without_a_model
from stitch.themes.statements import trust_of

if TYPE_CHECKING:
    from stitch.journal import Journal
    from stitch.themes.projection import ThemeProjection


class Extracted(NamedTuple):
    """Counts of an extraction."""

    windows: int
    statements: int
    themes: int
    """Those that got a name."""
    failure: str = ""
    """The reason why it ended before all was read; empty if it did not."""


class Extraction:
    """Lets a model read the steps of a tenant, and name its themes.

    The lock is held while the hierarchy is read or changed, and not while the model is asked.
    """

    def __init__(
        self, projection: ThemeProjection, *, journal: Journal, model: StatementModel, lock: ProcessLock
    ) -> None:
        self._projection, self._journal, self._model, self._lock = projection, journal, model, lock
        self._windows = self._statements = 0

    def run(self) -> Extracted:
        """Read all that was not read, as far as the model answers."""
        named = 0
        try:
            for trajectory in self._journal.trajectories(self._projection.tenant):
                with self._lock:
                    self._projection.bring_up()
                    waiting = self._waiting(trajectory)
                for window in waiting:
                    self._read(window)
            named = self._name()
        except ModelError as error:
            return Extracted(self._windows, self._statements, named, str(error))
        return Extracted(self._windows, self._statements, named)

    def _waiting(self, trajectory: str) -> list[Window]:
        holding, held = self._projection.holding, self._projection.model_statements
        shown = tuple(state for state in StepState if state is not StepState.RETIRED)
        entries = self._journal.entries(self._projection.tenant, trajectory, states=shown)
        return list(windows(entries, covered=held.covers, asserts=holding.asserts))

    def _read(self, window: Window) -> None:
        """Read a window, in halves where nothing of the reply can be used; a single step speaks for itself then."""
        with self._lock:
            earlier = self._earlier(window)
        try:
            reading = self._model.read(window, earlier=earlier)
        except ReplyError:
            if len(window.entries) > 1:
                for half in self._halves(window):
                    self._read(half)
                return
            reading = read_without_a_model(window.entries)
        with self._lock:
            self._projection.bring_up()
            self._projection.tell(reading)
        self._windows += 1
        self._statements += len(reading.said)

    def _halves(self, window: Window) -> list[Window]:
        middle = (len(window.entries) + 1) // 2
        with self._lock:
            asserts = self._projection.holding.asserts
            halves = [
                Window(half, sum(map(asserts, half))) for half in (window.entries[:middle], window.entries[middle:])
            ]
        return [half for half in halves if half.asserting]

    def _earlier(self, window: Window) -> list[Statement]:
        """The nearest statements that were made before, of at least the same trust: those the new ones may correct."""
        holding, rows = self._projection.holding, self._projection.upkeep.vectors
        first = window.entries[0]
        own = [name for each in window.entries for name in holding.of_step(each.trajectory, each.id) if name in rows]
        if not own or len(rows) == len(own):
            return []
        near = rows.similarities(rows.take(own).mean(axis=0))
        trust, steps = min(map(trust_of, window.entries)), {each.id for each in window.entries}
        found: list[Statement] = []
        for place in np.argsort(-near, kind="stable")[: 4 * EARLIER + len(own)].tolist():
            statement = holding.with_episode(holding.statements[rows.names[place]])
            inside = statement.trajectory == first.trajectory and not steps.isdisjoint(statement.steps)
            before = statement.recorded <= first.recorded and (
                statement.trajectory != first.trajectory or statement.position < first.position
            )
            if before and not inside and statement.trust >= trust and statement.superseded_by is None:
                found.append(statement)
        return found[:EARLIER]

    def _name(self) -> int:
        """Name the themes that have grown out of their names, or never had one."""
        named = 0
        with self._lock:
            waiting = self._unnamed()
        for start in range(0, len(waiting), THEMES_A_CALL):
            asked = waiting[start : start + THEMES_A_CALL]
            names = self._model.names([(theme, texts) for theme, texts, _ in asked])
            with self._lock:
                of = {theme: members for theme, _, members in asked}
                there = self._projection.holding.statements.keys()
                kept = {theme: name for theme, name in names.items() if of[theme] <= there}
                self._projection.call((theme, Named(name, of[theme])) for theme, name in kept.items())
            named += len(kept)
        return named

    def _unnamed(self) -> list[tuple[int, list[str], frozenset[str]]]:
        statements, upkeep = self._projection.holding.statements, self._projection.upkeep
        found = []
        for theme, members in sorted(upkeep.grouping.members.items()):
            if len(members) >= NAMED_FROM and not self._projection.names.of(theme, members):
                names = list(members)
                central = np.argsort(-(upkeep.vectors.take(names) @ upkeep.groups[theme].centroid), kind="stable")
                texts = [statements[names[place]].text for place in central.tolist()]
                found.append((theme, texts, frozenset(names)))
        return found
