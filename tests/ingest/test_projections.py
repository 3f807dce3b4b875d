"""Snippets in a store follow the journal as any projection does."""

from __future__ import annotations

from typing import Any

import pytest

from stitch.embed.hashing import HashingEmbedder
from stitch.embed.lexical import LexicalEncoder
from stitch.ingest.snippets import SnippetProjection
from stitch.journal import Journal
from stitch.testing.contracts.projection import Derive, ProjectionContract
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
            projection = SnippetProjection(
                journal=journal, store=store, embedder=HashingEmbedder(8), lexical=LexicalEncoder()
            )

            def derived() -> Any:
                return {name: record.snippet for name, record in sorted(store.records.items())}

            return projection, derived

        return made
