"""The snippets of a store as what they are: derived from the journal."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby

from stitch.core import Change, Embedder, SnippetRecord, SnippetStore, StepState, snippet_id
from stitch.core.progress import counted
from stitch.embed.lexical import LexicalEncoder
from stitch.ingest.records import make_records
from stitch.ingest.state import BATCH_STEPS, chunks
from stitch.journal import Entry, Journal
from stitch.journal.entries import differences

SNIPPETS = "snippets"
"""Under which name the position of the store is kept."""


class SnippetProjection:
    """The snippets in a store, which follow the journal; a `Projection`."""

    def __init__(
        self,
        *,
        journal: Journal,
        store: SnippetStore,
        embedder: Embedder,
        lexical: LexicalEncoder,
        name: str = SNIPPETS,
    ) -> None:
        self.name = name
        self._journal, self._store = journal, store
        self._embedder, self._lexical = embedder, lexical
        self._applied = self.position()

    def position(self) -> int:
        """The number of the last change that the store holds durably."""
        return self._journal.projected(self.name)

    def apply(self, changes: Sequence[Change]) -> None:
        """Put the steps of changes as they are now, and remove those that are retired; the erased are gone already."""
        self.bring_up(sorted({seq for each in changes for seq in each.steps}))
        self._applied = changes[-1].number

    def bring_up(self, seqs: Sequence[int]) -> None:
        """Let the store hold these steps as the journal does now."""
        for chunk in chunks(self._journal.entries_of(seqs), BATCH_STEPS):
            retired: dict[str, list[str]] = {}
            shown: list[Entry] = []
            for entry in chunk:
                if entry.state is StepState.RETIRED:
                    name = snippet_id(entry.tenant, entry.trajectory, entry.id)
                    retired.setdefault(entry.tenant, []).append(name)
                else:
                    shown.append(entry)
            if shown:
                self._store.put(self._records(shown))
            for tenant, names in retired.items():
                self._store.delete(tenant, names)

    def _records(self, entries: Sequence[Entry]) -> list[SnippetRecord]:
        snippets = [entry.snippet() for entry in entries]
        return make_records(snippets, embedder=self._embedder, lexical=self._lexical) if snippets else []

    def erase(self, tenant: str, *, trajectory: str, steps: Sequence[str]) -> None:
        """Remove the snippets of steps, on the disk too: the journal will not say any more what to remove."""
        if self._store.delete(tenant, [snippet_id(tenant, trajectory, step) for step in steps]):
            self._store.flush()

    def checkpoint(self) -> None:
        """Flush the store, and note how far it has come."""
        self._store.flush()
        self._journal.record_projected(self.name, self._applied)

    def rebuild(self) -> int:
        """Put all that the store lacks and remove what it must not hold; return how many snippets were put."""
        reached = self._journal.last_change()
        entries = counted(self._journal.every_entry(), "steps put", of=lambda: self._journal.counts().accepted)
        written = self.put_missing(entries)
        for tenant in self._journal.tenants():
            self.remove_unknown(tenant)
        self._applied = reached
        return written

    def put_missing(self, entries: Iterable[Entry]) -> int:
        """Put those of entries that the store does not hold as they should be; return how many.

        An interrupted run goes on where it was.
        """
        count = 0
        for chunk in chunks(entries, BATCH_STEPS):
            shown = (entry for entry in chunk if entry.state is not StepState.RETIRED)
            for owner, group in groupby(sorted(shown, key=lambda e: e.tenant), key=lambda e: e.tenant):
                wanted = {entry.snippet().id: entry for entry in group}
                held = {snippet.id: snippet for snippet in self._store.get(owner, list(wanted))}
                missing = [
                    entry
                    for name, entry in wanted.items()
                    if name not in held or differences(held[name], entry.snippet())
                ]
                if missing:
                    self._store.put(self._records(missing))
                    count += len(missing)
        self._store.flush()
        return count

    def remove_unknown(self, tenant: str) -> int:
        """Remove a tenant's snippets that the store must not hold, unknown or retired ones; return how many there were.

        A journal that has nothing of the tenant has lost it: it removes nothing.
        """
        retired = {entry.seq for entry in self._journal.every_entry(tenant, state=StepState.RETIRED)}
        known = self._journal.select(tenant)
        shown = {snippet_id(tenant, each.trajectory, each.step) for each in known if each.seq not in retired}
        unwanted = [snippet.id for snippet in self._store.scroll(tenant) if snippet.id not in shown] if known else []
        return self._store.delete(tenant, unwanted) if unwanted else 0
