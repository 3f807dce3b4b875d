"""Snippets on their way into the store, in pieces that let searches go first, and its flushes."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager

from typing_extensions import override

from stitch.core import Embedder, MemorySnippet, SnippetRecord, SnippetStore, StepState
from stitch.embed.lexical import LexicalEncoder
from stitch.errors import InputError, StoreUnavailableError
from stitch.ingest.priorities import RightOfWay
from stitch.ingest.reach import StoreReach
from stitch.ingest.records import make_records, records_without_vectors
from stitch.ingest.snippets import SnippetProjection
from stitch.ingest.state import chunks
from stitch.journal import Entry, Journal

_PUT_STEPS = 48
"""How many steps are put at a time while somebody searches: a search waits for no more than these."""


class SnippetWriter(SnippetProjection):
    """The snippets of the store that serves: whoever changes the journal brings them up to it at once.

    That is done within `behind`; so every change up to the oldest that somebody is still at is in the store.
    With `vectors_follow` steps that are not stored yet may be put without vectors.
    """

    def __init__(
        self,
        *,
        journal: Journal,
        store: SnippetStore,
        embedder: Embedder,
        lexical: LexicalEncoder,
        searches: RightOfWay,
        reach: StoreReach,
        flush_steps: int,
        vectors_follow: bool = False,
    ) -> None:
        super().__init__(journal=journal, store=store, embedder=embedder, lexical=lexical)
        self._searches = searches
        self._reach = reach
        self._vectors_follow = vectors_follow
        self._flush_steps = flush_steps
        self._lock = threading.Lock()
        self._flushing = threading.Lock()
        self._puts = 0
        self._follows_all = self._applied == journal.last_change()
        self._begun: dict[object, int] = {}
        """The last change before each piece of work that is under way."""
        self._owed: dict[tuple[str, str], int] = {}
        """The same of trajectories with which somebody was not finished when an error came."""

    @contextmanager
    def behind(self, tenant: str, trajectory: str) -> Iterator[None]:
        """Change the journal, and then the store; if that is interrupted, `owed` names the trajectory."""
        mark = object()
        with self._lock:
            self._begun[mark] = self._journal.last_change()
        owes = True
        try:
            yield
            owes = False
        except InputError:  # refused before anything was changed
            owes = False
            raise
        finally:
            with self._lock:
                before = self._begun.pop(mark)
                if owes:
                    self._owed.setdefault((tenant, trajectory), before)

    @property
    def owed(self) -> list[tuple[str, str]]:
        """The trajectories of which changes may be missing in the store."""
        with self._lock:
            return list(self._owed)

    def settle(self, tenant: str, trajectory: str) -> None:
        """Put what may be missing of a trajectory, which nobody else changes meanwhile."""
        with self._lock:
            before = self._owed.get((tenant, trajectory))
        if before is None:
            return
        changes = self._journal.changes(after=before, tenant=tenant)
        self.bring_up(sorted({seq for each in changes if each.trajectory == trajectory for seq in each.steps}))
        with self._lock:
            del self._owed[tenant, trajectory]

    @override
    def _records(self, entries: Sequence[Entry]) -> list[SnippetRecord]:
        """The records of entries: of those that are not stored yet without vectors, where these follow."""
        if not self._vectors_follow:
            return super()._records(entries)
        waiting = [entry.snippet() for entry in entries if entry.state in (StepState.ACCEPTED, StepState.LABELED)]
        others = [entry for entry in entries if entry.state not in (StepState.ACCEPTED, StepState.LABELED)]
        return super()._records(others) + self.without_vectors(waiting)

    def put(
        self,
        snippets: Sequence[MemorySnippet],
        *,
        stand_back: Callable[[], None],
        although_away: bool = False,
        embedded: bool = True,
    ) -> None:
        """Put snippets, in small pieces while somebody searches.

        With `although_away` it is tried also while the store is away, to see whether it is back.

        Raises:
            EmbedderError: They cannot be embedded.
            StoreUnavailableError: The store is away: nothing or only a part was put.
            StoreError: Nothing or only a part was put; putting again is safe.
        """

        def pieces() -> Iterator[list[SnippetRecord]]:
            for part in chunks(snippets, _PUT_STEPS if self._searches.wanted else max(1, len(snippets))):
                stand_back()
                yield self.embedded(part) if embedded else self.without_vectors(part)

        self._put(pieces(), although_away=although_away)

    @property
    def away(self) -> str:
        """Why the store cannot be reached; empty if it can."""
        return self._reach.reason

    def embedded(self, snippets: Sequence[MemorySnippet]) -> list[SnippetRecord]:
        """The records of snippets, for `put_records`.

        Raises:
            EmbedderError: They cannot be embedded.
        """
        return make_records(snippets, embedder=self._embedder, lexical=self._lexical)

    def without_vectors(self, snippets: Sequence[MemorySnippet]) -> list[SnippetRecord]:
        """The records of snippets whose vectors follow."""
        return records_without_vectors(snippets, dimension=self._embedder.dimension, lexical=self._lexical)

    def put_records(self, records: Sequence[SnippetRecord]) -> None:
        """Put what is embedded already; as `put`."""
        self._put([records] if records else [], although_away=False)

    def _put(self, pieces: Iterable[Sequence[SnippetRecord]], *, although_away: bool) -> None:
        if not although_away:
            self._reach.check()
        try:
            for records in pieces:
                self._store.put(records)
        except StoreUnavailableError as error:
            self._reach.lose(error)
            raise
        if although_away:
            self._reach.regain()

    def count(self, steps: int) -> None:
        """Take note that so many steps were put with their labels."""
        with self._lock:
            self._puts += steps

    @property
    def is_due(self) -> bool:
        """Whether enough was put since the store was last flushed."""
        return self._puts >= self._flush_steps

    def checkpoint(self) -> None:
        """Make journal and store survive a loss of power, and note how far the store has come."""
        with self._flushing:
            last = self._journal.last_change()  # first: who begins after this changes only what comes after it
            with self._lock:
                self._puts = 0
                if self._follows_all:
                    self._applied = min([last, *self._begun.values(), *self._owed.values()])
            self._journal.sync()
            super().checkpoint()
            self._follows_all = self._follows_all or self._applied == last
