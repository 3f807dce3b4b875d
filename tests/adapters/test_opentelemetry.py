"""What a memory does as spans, read by the SDK's own exporter."""

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("opentelemetry.sdk")

from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode

from stitch import Memory, Step, open_memory
from stitch.adapters.opentelemetry import TelemetryObserver
from stitch.core import InputRejected, Rejection, StepsFailed
from stitch.lifecycle.selection import Selector


@pytest.fixture
def told() -> tuple[TracerProvider, InMemorySpanExporter]:
    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    return provider, exporter


def use(memory: Memory) -> None:
    memory.add_many([Step(id=each, role="user", content=f"hotel {each}") for each in "abc"], trajectory="t")
    memory.search("Which hotel is secret?", trajectory="t", k=2)
    memory.lifecycle.correct("a", trajectory="t", text="hotel A")
    memory.lifecycle.retire(Selector(trajectory="t", step="b"))
    memory.lifecycle.erase(Selector(trajectory="t", step="c"))


def test_operations_are_spans_of_the_conventions_without_a_word_of_anybody(tmp_path: Path, told: Any) -> None:
    provider, exporter = told
    with open_memory(tmp_path / "m", observers=[TelemetryObserver("trip", provider=provider)]) as memory:
        with provider.get_tracer("agent").start_as_current_span("agent") as outer:
            use(memory)
        spans = {span.name: span for span in exporter.get_finished_spans()}
    assert set(spans) == {"create_memory", "search_memory", "update_memory", "delete_memory", "agent"}
    search = spans["search_memory"]
    assert search.kind is SpanKind.INTERNAL
    assert search.parent is not None
    assert search.parent.span_id == outer.get_span_context().span_id
    assert search.end_time > search.start_time
    about = dict(search.attributes)
    assert about["gen_ai.operation.name"] == "search_memory"
    assert (about["gen_ai.memory.store.id"], about["gen_ai.memory.record.count"]) == ("trip", 2)
    assert (about["openinference.span.kind"], about["session.id"]) == ("RETRIEVER", "t")
    assert {f"retrieval.documents.{n}.document.{part}" for n in (0, 1) for part in ("id", "score")} <= about.keys()
    assert spans["create_memory"].attributes["gen_ai.memory.record.count"] == 3
    assert spans["update_memory"].attributes["gen_ai.memory.record.id"] == "a"
    deleted = [span.attributes for span in exporter.get_finished_spans() if span.name == "delete_memory"]
    assert [each["gen_ai.memory.record.count"] for each in deleted] == [1, 1]
    assert "gen_ai.memory.record.id" not in deleted[-1], "nothing is left of what was erased"
    said = str([dict(span.attributes) for span in exporter.get_finished_spans()])
    assert "secret" not in said
    assert "hotel" not in said


def test_what_fails_is_an_error(told: Any) -> None:
    provider, exporter = told
    observer = TelemetryObserver("trip", provider=provider)
    observer.notice(StepsFailed(tenant="t", trajectory="t", steps=("a", "b"), reason="the text of somebody"))
    observer.notice(InputRejected(tenant="t", rejection=Rejection(source="f", line=1, reason="r", text="words")))
    spans = exporter.get_finished_spans()
    assert [span.status.status_code for span in spans] == [StatusCode.ERROR] * 2
    assert [span.attributes["error.type"] for span in spans] == ["steps failed", "input rejected"]
    assert "somebody" not in str([span.to_json() for span in spans])
