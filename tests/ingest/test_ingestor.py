"""The way of a step from acceptance to the store, and what happens when a part of it fails."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from doubles.labeling import ScriptedLabeler, label_from_the_past
from doubles.observing import RecordingObserver
from stitch.core import (
    DensityQuery,
    Label,
    LabelKind,
    Step,
    StepLabels,
    StepsAccepted,
    StepsFailed,
    StepsStored,
    StepState,
    snippet_id,
)
from stitch.embed.lexical import LexicalEncoder
from stitch.errors import JournalError, ModelUnavailableError, StoreError

Make = Callable[..., Any]

NO_MODEL = ModelUnavailableError("no answer from the provider", hint="try again later")
NO_STORE = StoreError("the disk is full")


def test_a_step_is_labeled_resolved_embedded_and_found(world: Any) -> None:
    world.add(Step(role="user", content="Olympus has 3 rooms", id="s0", session="1", timestamp="9:00"))
    receipt = world.ingestor.add(Step(role="assistant", content="It is full", id="s1"), tenant="a", trajectory="t")
    assert (receipt.step, receipt.position, receipt.state, receipt.repeated) == ("s1", 1, StepState.STORED, False)
    record = world.store.records[snippet_id("a", "t", "s1")]
    snippet = record.snippet
    assert (snippet.text, snippet.resolved) == ("It is full", "It [Olympus] is full")
    assert snippet.intent.event_types == ("it",)
    assert (snippet.summary, snippet.context, snippet.labeled_by) == ("step 1", "Olympus has 3 rooms", "scripted")
    assert snippet.recorded == 1000.0
    (vector,) = world.ingestor.embedder.embed(["It [Olympus] is full\nstep 1"])
    assert record.vector == pytest.approx(vector)
    lexical = LexicalEncoder()
    words = lexical.document("It [Olympus] is full", context=f"{snippet.role} It")
    assert record.words == words | lexical.document("step 1")
    (first,) = world.store.get("a", [snippet_id("a", "t", "s0")])
    assert (first.session, first.happened, first.resolved) == ("1", "9:00", first.text)
    query = DensityQuery(tenant="a", labels={Label(LabelKind.EVENT_TYPE, "it"): frozenset({"it"})}, k=1)
    assert [hit.snippet.step for hit in world.store.rank(query)] == ["s1"]


def test_a_failing_flush_still_closes_store_and_journal(world: Any, steps: Make) -> None:
    world.add(*steps(1))
    world.store.fail_next(NO_STORE)
    with pytest.raises(StoreError):
        world.ingestor.close()
    assert world.store.closed
    with pytest.raises(JournalError):
        world.journal.counts()


def test_events_tell_what_happened(worlds: Make, steps: Make) -> None:
    def two_makers(step: Step, past: Sequence[Step]) -> StepLabels:
        made_by = "local" if len(past) == 1 else "gpt"
        return label_from_the_past(step, past).model_copy(update={"made_by": made_by})

    observer = RecordingObserver()
    world = worlds(observer=observer, labeler=ScriptedLabeler(two_makers))
    world.add(*steps(3))
    world.labeler.fail_next(NO_MODEL)
    world.add(*steps(1, start=3))
    of = {"tenant": "a", "trajectory": "t"}
    assert observer.events == [
        StepsAccepted(**of, steps=("s0", "s1", "s2")),
        StepsStored(**of, steps=("s0",), made_by="gpt"),
        StepsStored(**of, steps=("s1",), made_by="local"),
        StepsStored(**of, steps=("s2",), made_by="gpt"),
        StepsAccepted(**of, steps=("s3",)),
        StepsFailed(**of, steps=("s3",), reason="no answer from the provider (try again later)"),
    ]
