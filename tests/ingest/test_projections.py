"""What is derived follows the journal: the snippets of a store, and whatever else an ingestor is given."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from stitch.embed.hashing import HashingEmbedder
from stitch.embed.lexical import LexicalEncoder
from stitch.ingest.snippets import SnippetProjection
from stitch.journal import Journal
from stitch.lifecycle.erase import erase as erase_steps
from stitch.lifecycle.selection import Selector, select
from stitch.testing.contracts.projection import Derive, ProjectionContract
from stitch.testing.journaling import DictJournal
from stitch.testing.projecting import StepTexts
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


class TestStepTexts(ProjectionContract):
    @pytest.fixture
    def derive(self) -> Derive:
        kept: list[tuple[Journal, dict[Any, str]]] = []

        def made(journal: Journal) -> Any:
            held = next((held for known, held in kept if known is journal), None)
            if held is None:
                held = {}
                kept.append((journal, held))
            projection = StepTexts(journal, held=held)
            return projection, lambda: dict(projection.texts)

        return made


def test_what_else_is_derived_follows_flushes_is_told_of_erasures_first_and_catches_up(
    worlds: Callable[..., Any], steps: Callable[..., Any], tmp_path: Path
) -> None:
    journal, held = DictJournal(), dict[Any, str]()
    projection = StepTexts(journal, held=held)
    world = worlds(journal=journal, projections=[projection])
    world.add(*steps(3))
    assert projection.texts == {}
    world.ingestor.flush()
    assert projection.texts == held == {("a", "t", f"s{n}"): step.content for n, step in enumerate(steps(3))}
    forget, left = journal.erase, list[int]()

    def erase(*given: Any, **named: Any) -> None:
        left.append(len(projection.texts))
        forget(*given, **named)

    journal.erase = erase  # type: ignore[method-assign]
    selected = select(world.ingestor, Selector(trajectory="t", step="s1"), tenant="a")
    erase_steps(world.ingestor, selected, tenant="a", folder=tmp_path)
    assert left == [2], "it was gone before the journal forgot it"
    world.add(*steps(1, start=3))
    again = StepTexts(journal, held=held)
    assert len(again.texts) == 2
    assert worlds(journal=journal, store=world.store, projections=[again]).ingestor.recover() > 0
    assert [step for _, _, step in again.texts] == ["s0", "s2", "s3"]
