"""The hierarchies of all tenants of a memory: each is made when it is first asked for, and kept."""

from __future__ import annotations

from collections.abc import Sequence

from stitch.core import Change, Embedder
from stitch.core.process import ProcessLock
from stitch.journal import Journal
from stitch.themes.asking import StatementModel
from stitch.themes.extraction import Extracted, Extraction
from stitch.themes.projection import ThemeProjection
from stitch.themes.reading import Themes

MOST_HELD = 32
"""Of so many tenants the hierarchy is kept in memory; then the one that was not asked for the longest time goes."""


class TenantThemes:
    """The hierarchies of tenants; a `Projection` of the journal.

    It derives only what was asked for, and brings it up when it is asked for again: adding steps costs nothing. So it
    has always followed the journal to its end. It is told of erasures at once. A model says what steps assert when it
    is told to (`extract`); without one they speak for themselves.
    """

    name = "themes"

    def __init__(self, *, journal: Journal, embedder: Embedder, model: StatementModel | None = None) -> None:
        self._journal, self._embedder, self._model = journal, embedder, model
        self._asking = ProcessLock("what a model says of steps")
        self._lock = ProcessLock("the hierarchies of a memory")
        self._held: dict[str, tuple[ThemeProjection, Themes, ProcessLock]] = {}

    def of(self, tenant: str) -> Themes:
        """The hierarchy of a tenant, as the journal is now."""
        projection, themes, lock = self._of(tenant)
        with lock:
            projection.bring_up()
        return themes

    def extract(self, tenant: str) -> Extracted | None:
        """Have the model read the steps that it has not read yet; None without a model."""
        if self._model is None:
            return None
        projection, _, lock = self._of(tenant)
        with self._asking:
            return Extraction(projection, journal=self._journal, model=self._model, lock=lock).run()

    def _of(self, tenant: str) -> tuple[ThemeProjection, Themes, ProcessLock]:
        with self._lock:
            held = self._held.pop(tenant, None)
            if held is None:
                projection = ThemeProjection(journal=self._journal, tenant=tenant, embedder=self._embedder)
                lock = ProcessLock("the hierarchy of a tenant")
                held = projection, Themes(projection, lock=lock), lock
            self._held[tenant] = held
            if len(self._held) > MOST_HELD:
                del self._held[next(iter(self._held))]
            return held

    def position(self) -> int:
        """The number of the last change of the journal: what nobody asked for is not derived."""
        return self._journal.last_change()

    def apply(self, changes: Sequence[Change]) -> None:
        """Nothing: what has changed is taken in when it is asked for."""

    def erase(self, tenant: str, *, trajectory: str, steps: Sequence[str]) -> None:
        """Remove all that was made from steps."""
        projection, themes, lock = self._of(tenant)
        with lock:
            projection.erase(trajectory, steps)
            themes.let_go()

    def checkpoint(self) -> None:
        """Nothing: what is derived is written down when it is."""

    def rebuild(self) -> int:
        """Let go of all that is derived: it is derived anew when it is asked for."""
        with self._lock:
            count, self._held = len(self._held), {}
        return count
