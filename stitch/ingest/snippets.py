"""The snippets of a store as what they are: derived from the journal."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from enum import Enum
from itertools import groupby

import numpy as np

from stitch.core import Change, Embedder, MemorySnippet, SnippetRecord, SnippetStore, StepState, snippet_id
from stitch.core.progress import counted
from stitch.errors import InputError
from stitch.ingest.records import make_records, words_of
from stitch.ingest.state import BATCH_STEPS, chunks
from stitch.journal import Entry, Journal
from stitch.journal.entries import differences

SNIPPETS = "snippets"
"""Under which name the position of the store is kept."""


class EmbedMode(str, Enum):
    """Time of embedding: with the step, or after it."""

    WITH = "with"
    """A step is put with its vector."""
    AUTO = "auto"
    """A step whose labels are waited for is put with its vector; that of any other follows."""
    AFTER = "after"
    """Vectors follow always."""

    @classmethod
    def of(cls, given: str | None, *, slow: bool) -> EmbedMode:
        """As the setting `vectors` says; if it says nothing, by whether a vector is waited for longer than labels."""
        if given is not None:
            return cls(given)
        return cls.AUTO if slow else cls.WITH


class SnippetProjection:
    """The snippets in a store, which follow the journal; a `Projection`.

    Whoever changes the journal brings the store up to it within `behind`; so every change up to the oldest that
    somebody is still at is in the store.
    With `vectors_follow` steps that are not stored yet may be put without vectors.
    """

    name = SNIPPETS

    def __init__(
        self,
        *,
        journal: Journal,
        store: SnippetStore,
        embedder: Embedder,
        vectors_follow: bool = False,
    ) -> None:
        self._journal, self._store = journal, store
        self._embedder, self._vectors_follow = embedder, vectors_follow
        self._applied = self.position()
        self._found = self._seen = journal.last_change()
        self._follows_all = self._applied == self._found
        self._lock, self._flushing = threading.Lock(), threading.Lock()
        self._begun: dict[object, int] = {}
        """A change before each piece of work that is under way: the last one when the store was last flushed."""
        self._owed: dict[tuple[str, str], int] = {}
        """The same of trajectories with which somebody was not finished when an error came."""
        self.unflushed = 0
        """Number of snippets put since the store was last flushed."""

    def position(self) -> int:
        """The number of the last change that the store holds durably."""
        return self._journal.projected(self.name)

    # A trajectory that is changed.

    @contextmanager
    def behind(self, tenant: str, trajectory: str) -> Iterator[None]:
        """Change the journal, and then the store; if that is interrupted, `owed` names the trajectory."""
        mark, owes = object(), True
        with self._lock:
            self._begun[mark] = self._seen
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

    def put(self, records: Sequence[SnippetRecord]) -> None:
        """Put snippets.

        Raises:
            StoreUnavailableError: The store is away: nothing or only a part was put.
            StoreError: Nothing or only a part was put; putting again is safe.
        """
        self._store.put(records)
        with self._lock:
            self.unflushed += len(records)

    def records(self, entries: Sequence[Entry], *, with_vectors: bool = True) -> list[SnippetRecord]:
        """Records of entries for the store, in order; zeros stand for vectors that follow.

        Raises:
            EmbedderError: They cannot be embedded.
        """
        snippets = [entry.snippet() for entry in entries]
        if with_vectors:
            return make_records(snippets, embedder=self._embedder) if snippets else []
        missing = np.zeros(self._embedder.dimension, dtype=np.float32)
        return [SnippetRecord(snippet, missing, words_of(snippet)) for snippet in snippets]

    # All of them.

    def apply(self, changes: Sequence[Change]) -> None:
        """Put the steps of changes as they are now, and remove those that are retired; the erased are gone already."""
        self.bring_up(sorted({seq for each in changes for seq in each.steps}))
        self._applied = changes[-1].number

    def bring_up(self, seqs: Sequence[int]) -> None:
        """Bring these steps in the store up to the journal."""
        for chunk in chunks(self._journal.entries_of(seqs), BATCH_STEPS):
            retired: dict[str, list[str]] = {}
            waiting, shown = list[Entry](), list[Entry]()
            for entry in chunk:
                if entry.state is StepState.RETIRED:
                    name = snippet_id(entry.tenant, entry.trajectory, entry.id)
                    retired.setdefault(entry.tenant, []).append(name)
                elif self._vectors_follow and entry.state in (StepState.ACCEPTED, StepState.LABELED):
                    waiting.append(entry)
                else:
                    shown.append(entry)
            if waiting or shown:
                self.put(self.records(shown) + self.records(waiting, with_vectors=False))
            for tenant, names in retired.items():
                self._store.delete(tenant, names)

    def erase(self, tenant: str, *, trajectory: str, steps: Sequence[str]) -> None:
        """Remove the snippets of steps, on the disk too: the journal will not say any more what to remove."""
        if self._store.delete(tenant, [snippet_id(tenant, trajectory, step) for step in steps]):
            self._store.flush()

    @contextmanager
    def replaced(self) -> Iterator[None]:
        """Put again what the store holds already; a process that is killed meanwhile may leave it without any of it.

        So whoever opens the memory next compares everything.
        """
        mark, before = object(), self._applied
        with self._lock:
            self._begun[mark], self._applied = 0, 0
        self._journal.record_projected(self.name, 0)
        try:
            yield
        finally:
            with self._lock:
                del self._begun[mark]
                self._applied = before

    def checkpoint(self) -> None:
        """Make journal and store survive a loss of power, and note how far the store has come."""
        with self._flushing:
            last = self._journal.last_change()  # first: who begins after this changes only what comes after it
            with self._lock:
                self.unflushed, self._seen = 0, last
                if self._follows_all:
                    self._applied = min([last, *self._begun.values(), *self._owed.values()])
            self._journal.sync()
            self._store.flush()
            self._journal.record_projected(self.name, self._applied)
            self._follows_all = self._follows_all or self._applied >= self._found

    def rebuild(self) -> int:
        """Put all that the store lacks and remove what it must not hold; return how many snippets were put."""
        reached = self._journal.last_change()
        entries = counted(self._journal.every_entry(), "steps put", of=lambda: self._journal.counts().accepted)
        written = self.put_missing(entries)
        for tenant in self._journal.tenants():
            self.remove_unknown(tenant)
        self._applied = reached
        return written

    def put_missing(self, entries: Iterable[Entry], *, anew: bool = False) -> int:
        """Put those of entries that the store does not hold as they should be, or `anew` all; return how many.

        An interrupted run goes on where it was.
        """
        count = 0
        for chunk in chunks(entries, BATCH_STEPS):
            shown = (entry for entry in chunk if entry.state is not StepState.RETIRED)
            for _, group in groupby(sorted(shown, key=lambda e: e.tenant), key=lambda e: e.tenant):
                own = list(group)
                if missing := own if anew else self.missing(own, alike=True):
                    self.put(self.records(missing))
                    count += len(missing)
        self._store.flush()
        return count

    def missing(self, entries: Sequence[Entry], *, alike: bool = False) -> list[Entry]:
        """Entries of a tenant that the store lacks; with `alike`, also those that it holds otherwise."""
        return [
            entry
            for entry, snippet, held in self.beside(entries)
            if held is None or (alike and differences(held, snippet))
        ]

    def beside(self, entries: Sequence[Entry]) -> list[tuple[Entry, MemorySnippet, MemorySnippet | None]]:
        """Entries of a tenant, each with its snippet and that of the store."""
        wanted = [(entry, entry.snippet()) for entry in entries]
        found = self._store.get(entries[0].tenant, [each.id for _, each in wanted]) if entries else []
        held = {snippet.id: snippet for snippet in found}
        return [(entry, snippet, held.get(snippet.id)) for entry, snippet in wanted]

    def remove_unknown(self, tenant: str) -> int:
        """Remove a tenant's snippets that the store must not hold, unknown or retired ones; return how many there were.

        A journal that has nothing of the tenant has lost it: it removes nothing.
        """
        known = self._journal.select(tenant)
        shown = {snippet_id(tenant, each.trajectory, each.step) for each in known if not each.retired}
        unwanted = [snippet.id for snippet in self._store.scroll(tenant) if snippet.id not in shown] if known else []
        return self._store.delete(tenant, unwanted) if unwanted else 0
