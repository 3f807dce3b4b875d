"""Snippets in a store follow the journal as any projection does."""

from __future__ import annotations

from typing import Any

import pytest

from stitch.embed.hashing import HashingEmbedder
from stitch.ingest import Ingestor
from stitch.journal import Journal
from stitch.lifecycle.snippets import SnippetProjection
from stitch.testing.contracts.projection import Derive, ProjectionContract
from stitch.testing.labeling import ScriptedLabeler
from stitch.testing.storing import ListStore


class TestSnippetProjection(ProjectionContract):
    @pytest.fixture
    def derive(self) -> Derive:
        stores: list[tuple[Journal, ListStore]] = []

        def made(journal: Journal) -> Any:
            store = next((store for known, store in stores if known is journal), None)
            if store is None:
                store = ListStore()
                stores.append((journal, store))
            store.lose_power()
            ingestor = Ingestor(journal=journal, store=store, embedder=HashingEmbedder(8), labeler=ScriptedLabeler())

            def derived() -> Any:
                return {name: record.snippet for name, record in sorted(store.records.items())}

            return SnippetProjection(ingestor, store), derived

        return made
