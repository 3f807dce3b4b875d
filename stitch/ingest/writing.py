"""Snippets on their way into the store, in pieces that let searches go first, and its flushes."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence

from stitch.core import Embedder, MemorySnippet, SnippetStore
from stitch.embed.lexical import LexicalEncoder
from stitch.errors import StoreError
from stitch.ingest.priorities import RightOfWay
from stitch.ingest.records import make_records
from stitch.ingest.state import chunks
from stitch.journal import Journal

_PUT_STEPS = 16
"""How many steps are put at a time while somebody searches: a search waits for no more than these."""

_log = logging.getLogger(__name__)


class SnippetWriter:
    """Embeds snippets, puts them, and flushes the store when enough were put.

    Args:
        journal: Knows which puts are not flushed yet.
        store: Where snippets go.
        embedder: Makes their vectors.
        lexical: Makes their lexical weights.
        searches: Who searches goes first.
        flush_steps: After how many puts the store is flushed.
    """

    def __init__(
        self,
        *,
        journal: Journal,
        store: SnippetStore,
        embedder: Embedder,
        lexical: LexicalEncoder,
        searches: RightOfWay,
        flush_steps: int,
    ) -> None:
        self._journal = journal
        self._store = store
        self._embedder = embedder
        self._lexical = lexical
        self._searches = searches
        self._flush_steps = flush_steps
        self._lock = threading.Lock()
        self._flushing = threading.Lock()
        self._puts = 0

    def put(self, snippets: Sequence[MemorySnippet], *, stand_back: Callable[[], None]) -> None:
        """Put snippets, in small pieces while somebody searches.

        Args:
            snippets: What to put.
            stand_back: Is called before each piece.

        Raises:
            EmbedderError: They cannot be embedded.
            StoreError: Nothing or only a part was put; putting again is safe.
        """
        for part in chunks(snippets, _PUT_STEPS if self._searches.wanted else max(1, len(snippets))):
            stand_back()
            self._store.put(make_records(part, embedder=self._embedder, lexical=self._lexical))

    def count(self, steps: int) -> None:
        """Take note that so many steps were put with their labels."""
        with self._lock:
            self._puts += steps

    def flush_when_due(self) -> None:
        """Flush if enough was put since the last time; a store that cannot is tried again later."""
        if self._puts >= self._flush_steps:
            try:
                self.flush()
            except StoreError as error:  # what was put is in the store; the next flush has another go
                _log.warning("the store could not be flushed: %s", error)

    def flush(self) -> None:
        """Make journal and store survive a loss of power, and note it."""
        with self._flushing:
            ordinal = self._journal.last_put()
            with self._lock:
                self._puts = 0
            self._journal.sync()
            self._store.flush()
            self._journal.record_flushed(ordinal)
