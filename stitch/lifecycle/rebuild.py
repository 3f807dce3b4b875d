"""The store of a memory built anew from the journal, while the old one serves."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from stitch.core import SnippetStore
from stitch.errors import StoreError
from stitch.ingest.ingestor import Ingestor
from stitch.lifecycle.repair import check_source, claim_next, next_folder, put_in_place


@runtime_checkable
class ReplaceableStore(Protocol):
    """A store that can go on with what another one of its kind holds."""

    path: Path
    """The folder of the store."""

    def sibling(self, path: Path) -> Any:
        """A store like this one in another folder."""

    def unchanged(self) -> AbstractContextManager[None]:
        """Let writers wait; searches go on."""

    def replace_by(self, built: Any, *, move: Callable[[], None]) -> None:
        """Go on with what another store holds."""


def rebuild(ingestor: Ingestor) -> int:
    """Build the store anew, for all tenants, and go on with it; return how many snippets were written.

    Meanwhile steps are added and found as ever. Only at the end do writers wait, until what came in between is in the
    new store too; then the next search is answered from it. An interrupted run leaves the old store, and is taken up
    by the next one, or by `stitch reindex`.

    Raises:
        JournalError: Steps are damaged in the journal; the old store stays as it is.
        StoreError: The store is one that cannot be replaced.
        StoreLockedError: Another process builds one.
    """
    serving = ingestor.store
    if not isinstance(serving, ReplaceableStore):
        raise StoreError("this store is not built anew while it serves", hint="stitch reindex")
    check_source(ingestor.journal, store_holds=serving.count() > 0)
    folder = serving.path
    made = next_folder(folder, embedder_name=ingestor.embedder.name)
    claim = claim_next(folder)
    try:
        built: SnippetStore = serving.sibling(made)
        try:
            snippets = ingestor.snippets_in(built)
            written = snippets.rebuild()
            with serving.unchanged():
                written += snippets.rebuild()
                serving.replace_by(built, move=lambda: put_in_place(folder))
        finally:
            built.close()
    finally:
        claim.release()
    return written
