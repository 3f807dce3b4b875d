"""As of a moment a memory shows what was retired or corrected since, as it was, and never what was erased."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from doubles.storing import ListStore
from stitch import IntentFilter, Memory, Step, open_memory
from stitch.core import DensityQuery, Label, LabelKind
from stitch.embed.lexical import LexicalEncoder
from stitch.ingest.records import make_records
from stitch.lifecycle.overlay import in_order, rank_beside
from stitch.lifecycle.selection import Selector
from stitch.store import EdgeStore
from stitch.testing.hashing import HashingEmbedder

TRIP = [
    Step(id="a", role="user", content="Let's plan day 1. One idea for breakfast is the Olympus Summit."),
    Step(id="b", role="user", content="How much is the first restaurant I raised for day 1's breakfast?"),
    Step(id="c", role="assistant", content="It is priced at $76.22."),
    Step(id="d", role="user", content="Let's plan day 2. We need a museum in the morning."),
]
QUESTION = "breakfast on day 1"


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with open_memory(tmp_path / "m") as opened:
        opened.add_many(TRIP, trajectory="trip")
        opened.add_many(TRIP, trajectory="other trip")
        yield opened


def found(memory: Memory, **options: object) -> list[tuple[str, str, float]]:
    hits = memory.search(QUESTION, **options).hits  # type: ignore[arg-type]
    return [(hit.snippet.trajectory, hit.snippet.step, hit.density) for hit in hits]


@pytest.mark.parametrize("retriever", ["intent", "dense", "lexical", "hybrid"])
def test_as_of_before_it_was_retired_a_step_is_found_as_it_was(memory: Memory, retriever: str) -> None:
    before, moment = found(memory, retriever=retriever), time.time()
    memory.lifecycle.retire(Selector(trajectory="trip", step="a"))
    assert ("trip", "a") not in {hit[:2] for hit in found(memory, retriever=retriever)}
    assert sorted(found(memory, retriever=retriever, as_of=moment)) == sorted(before)
    assert ("trip", "a") in {hit[:2] for hit in found(memory, retriever=retriever, trajectory="trip", as_of="d")}
    assert ("trip", "a") not in {hit[:2] for hit in found(memory, retriever=retriever, as_of=time.time() + 1)}


def test_what_is_erased_never_comes_back(memory: Memory) -> None:
    moment = time.time()
    memory.lifecycle.retire(Selector(trajectory="trip", step="a"))
    memory.lifecycle.correct("b", trajectory="trip", text="How much is breakfast?")
    assert memory.lifecycle.erase(Selector(trajectory="trip", step="a")).proof.found == ()
    assert memory.lifecycle.erase(Selector(trajectory="trip", step="b")).proof.found == ()
    assert {hit[:2] for hit in found(memory, trajectory="trip", as_of=moment)} == {("trip", "c"), ("trip", "d")}


def test_labels_that_were_corrected_since_are_those_of_then(memory: Memory) -> None:
    moment = time.time()
    was = next(entry.labels.intent.scope for entry in memory.steps("trip") if entry.id == "b" and entry.labels)
    assert was is not None
    memory.lifecycle.correct("b", trajectory="trip", labels={"scope": "invoices"})
    old, new = IntentFilter(scopes=(was,)), IntentFilter(scopes=("invoices",))

    def density(intent_filter: IntentFilter, as_of: float | None) -> float:
        hits = memory.search("x", trajectory="trip", intent_filter=intent_filter, as_of=as_of).hits
        return next(hit.density for hit in hits if hit.snippet.step == "b")

    assert (density(old, None), density(new, None)) == (0.0, 1.0)
    assert (density(old, moment), density(new, moment)) == (1.0, 0.0)


@pytest.mark.parametrize("share", [0.0, 0.4, 1.0])
@pytest.mark.parametrize("kind", ["list", "edge"])
def test_ranked_beside_a_store_snippets_score_as_in_it(memory: Memory, tmp_path: Path, kind: str, share: float) -> None:
    embedder, lexical = HashingEmbedder(16), LexicalEncoder()
    snippets = [entry.snippet() for name in memory.trajectories() for entry in memory.steps(name)]
    records = make_records(snippets, embedder=embedder, lexical=lexical)
    store = ListStore() if kind == "list" else EdgeStore(tmp_path / "s", embedder_name=embedder.name, dimension=16)
    store.put(records)
    labels = [Label(LabelKind.SCOPE, scope.name) for scope in memory.inventory().scopes]
    query = DensityQuery(
        tenant=memory.tenant,
        labels={label: frozenset({label.value}) for label in labels},
        vector=embedder.embed([QUESTION])[0],
        words=lexical.query(f"{QUESTION} unheard"),
        lexical_share=share,
        trajectory="trip",
    )
    within, beside = store.rank(query), in_order(rank_beside(query, records, store=store, lexical=lexical))
    assert [hit.snippet.id for hit in beside] == [hit.snippet.id for hit in within]
    assert [hit.density for hit in beside] == [hit.density for hit in within]
    assert [hit.similarity for hit in beside] == pytest.approx([hit.similarity for hit in within], abs=1e-5)
    store.close()
