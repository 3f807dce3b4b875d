"""The snippets of a store as what they are: derived from the journal."""

from __future__ import annotations

from collections.abc import Sequence

from stitch.core import Change, SnippetStore, StepState, snippet_id
from stitch.ingest.ingestor import Ingestor
from stitch.ingest.records import make_records
from stitch.lifecycle.repair import remove_unknown


class SnippetProjection:
    """The snippets in a store, which follow the journal; a `Projection`.

    Args:
        ingestor: Its journal is followed; its embedder and lexical encoder make the records.
        store: Where the snippets are.
        name: Under which its position is kept.
    """

    def __init__(self, ingestor: Ingestor, store: SnippetStore, *, name: str = "snippets") -> None:
        self.name = name
        self._ingestor, self._store = ingestor, store
        self._applied = self.position()

    def position(self) -> int:
        """The number of the last change that the store holds durably."""
        return self._ingestor.journal.projected(self.name)

    def apply(self, changes: Sequence[Change]) -> None:
        """Put the steps of changes as they are now, and remove those that are retired."""
        entries = list(self._ingestor.journal.entries_of(sorted({seq for each in changes for seq in each.steps})))
        shown = [entry.snippet() for entry in entries if entry.state is not StepState.RETIRED]
        self._store.put(make_records(shown, embedder=self._ingestor.embedder, lexical=self._ingestor.lexical))
        for entry in entries:
            if entry.state is StepState.RETIRED:
                self._store.delete(entry.tenant, [entry.snippet().id])
        self._applied = changes[-1].number

    def erase(self, tenant: str, *, trajectory: str, steps: Sequence[str]) -> None:
        """Remove the snippets of steps."""
        self._store.delete(tenant, [snippet_id(tenant, trajectory, step) for step in steps])

    def checkpoint(self) -> None:
        """Flush the store, and note how far it has come."""
        self._store.flush()
        self._ingestor.journal.record_projected(self.name, self._applied)

    def rebuild(self) -> int:
        """Put all that the store lacks and remove what it must not hold; return how many snippets were put."""
        written = self._ingestor.reindex(self._store)
        for tenant in self._ingestor.journal.tenants():
            remove_unknown(self._ingestor.journal, self._store, tenant=tenant)
        return written
