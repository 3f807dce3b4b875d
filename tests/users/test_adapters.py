"""A memory where people already work, as the page of adapters shows; each needs its package."""

from __future__ import annotations

import asyncio

import pytest


def test_dspy_programs_recall_and_are_remembered(memory):
    dspy = pytest.importorskip("dspy")
    from dspy.utils import DummyLM

    from stitch.adapters.dspy import Recall, Remembering

    agent = Remembering(dspy.ReAct("question -> answer", tools=[Recall(memory).tool]), memory, trajectory="ann")
    look = {"next_thought": "look", "next_tool_name": "recall", "next_tool_args": {"query": "the boat to Faro"}}
    done = {"next_thought": "done", "next_tool_name": "finish", "next_tool_args": {}}
    with dspy.context(lm=DummyLM([look, done, {"reasoning": "it is said", "answer": "35 euros"}])):
        assert agent(question="What does the boat cost?").answer == "35 euros"
    assert "ann" in memory.trajectories()


def test_dspy_recalls_as_a_module(memory):
    pytest.importorskip("dspy")
    from stitch.adapters.dspy import Recall

    assert "35 euros" in str(Recall(memory)(query="What does the boat to Faro cost?"))


def test_langgraph_stores_values_with_their_versions(memory):
    pytest.importorskip("langgraph")
    from stitch.adapters.langgraph import MemoryStore

    store = MemoryStore(memory)
    store.put(("users", "ann"), "home", {"content": "Ann lives in Porto."})
    store.put(("users", "ann"), "home", {"content": "Ann lives in Faro."})
    kept = store.get(("users", "ann"), "home")
    assert kept is not None
    assert kept.value == {"content": "Ann lives in Faro."}
    assert store.search(("users",), query="Where does Ann live?")[0].value == {"content": "Ann lives in Faro."}
    assert len(store.versions(("users", "ann"), "home")) >= 1
    store.delete(("users", "ann"), "home")
    assert store.get(("users", "ann"), "home") is None


def test_pydantic_ai_stores_what_a_run_says(memory):
    pytest.importorskip("pydantic_ai")
    from pydantic_ai import Agent
    from pydantic_ai.models.test import TestModel

    from stitch.adapters.pydantic_ai import MemoryCapability

    Agent(TestModel(), capabilities=[MemoryCapability(memory, trajectory="ann")]).run_sync("I live in Braga.")
    assert "Braga" in memory.search("Where does Ann live?").context()


def test_openai_agents_keep_their_history(memory):
    pytest.importorskip("agents")
    from stitch.adapters.openai_agents import MemorySession

    session = MemorySession(memory, "ann")
    asyncio.run(session.add_items([{"role": "user", "content": "I live in Braga."}]))
    assert len(asyncio.run(session.get_items())) == 1


def test_telemetry_tells_of_searches_without_their_words(memory, tmp_path):
    pytest.importorskip("opentelemetry.sdk")
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    from stitch import open_memory
    from stitch.adapters.opentelemetry import TelemetryObserver

    kept = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(kept))
    observer = TelemetryObserver("m", provider=provider)
    with open_memory(tmp_path / "m", observers=[observer]) as watched:
        watched.add({"role": "user", "content": "The word is swordfish."}, trajectory="t")
        watched.search("the word")
    spans = kept.get_finished_spans()
    assert spans
    assert "swordfish" not in "".join(span.to_json() for span in spans)


def test_a_tool_server_is_made_of_a_memory(memory):
    pytest.importorskip("mcp")
    from mcp.client import Client

    from stitch.adapters.mcp import make_server

    async def use():
        async with Client(make_server(lambda action, request: memory)) as client:
            return await client.call_tool("search", {"query": "What does the boat to Faro cost?"})

    assert "35 euros" in asyncio.run(use()).structured_content["context"]
