"""The capability of Pydantic AI, tried with agents whose model is a function."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pydantic_ai")

from pydantic_ai import Agent
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import FunctionModel

from stitch import Memory, Step, open_memory
from stitch.adapters.pydantic_ai import INSTRUCTIONS, MemoryCapability


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with open_memory(tmp_path / "m") as opened:
        opened.add(Step(role="user", content="The hotel in Porto is Casa Azul."), trajectory="old")
        yield opened


def recalling(messages: list[Any], info: Any) -> ModelResponse:
    """Asks the memory, then says what it quoted first."""
    results = [part for part in messages[-1].parts if isinstance(part, ToolReturnPart)]
    if results:
        return ModelResponse(parts=[TextPart("It is Casa Azul." if "Casa Azul" in str(results[0].content) else "?")])
    return ModelResponse(parts=[ToolCallPart("recall", {"query": "hotel in Porto"})])


def test_an_agent_recalls_and_what_is_said_is_stored_once(memory: Memory) -> None:
    agent: Any = Agent(FunctionModel(recalling), capabilities=[MemoryCapability(memory, trajectory="ann")])
    first = asyncio.run(agent.run("Which hotel is in Porto?"))
    assert first.output == "It is Casa Azul."
    said = [(entry.step.role, entry.step.content) for entry in memory.steps("ann")]
    assert ("user", "Which hotel is in Porto?") in said
    assert said[-1] == ("assistant", "It is Casa Azul.")
    assert ("tool", "[recalled: 2 steps]") in said
    asyncio.run(agent.run("And again?", message_history=first.all_messages()))
    again = [entry.step.content for entry in memory.steps("ann")]
    assert again[: len(said)] == [content for _, content in said]
    assert again.count("Which hotel is in Porto?") == 1
    assert again.count("And again?") == 1


def test_the_model_is_told_of_its_memory_and_its_own_conversation_may_be_all_it_knows(memory: Memory) -> None:
    seen = list[str]()

    def model(messages: list[Any], info: Any) -> ModelResponse:
        seen.append(f"{info.instructions} {messages[0].instructions}")
        return recalling(messages, info)

    agent: Any = Agent(FunctionModel(model), capabilities=[MemoryCapability(memory, "new", only_this=True)])
    assert asyncio.run(agent.run("Which hotel?")).output == "?"
    assert INSTRUCTIONS in seen[0]


def test_what_was_said_before_a_run_failed_is_stored(memory: Memory) -> None:
    def failing(messages: list[Any], info: Any) -> ModelResponse:
        raise ValueError("no model")

    agent: Any = Agent(FunctionModel(failing), capabilities=[MemoryCapability(memory, trajectory="ann")])
    with pytest.raises(ValueError, match="no model"):
        asyncio.run(agent.run("Which hotel?"))
    assert [entry.step.content for entry in memory.steps("ann")] == ["Which hotel?"]
