"""The session of the OpenAI Agents SDK, tried with agents whose model is a script."""

import asyncio
import base64
from typing import Any

import pytest

pytest.importorskip("agents")

from agents import Agent, ModelResponse, RunConfig, Runner, Usage
from agents.memory import Session, SessionSettings
from agents.models.interface import Model
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText

from stitch import Memory, Step
from stitch.adapters.openai_agents import MemorySession, recall_tool

CALL = {"type": "function_call", "call_id": "c1", "name": "find", "arguments": "{}"}
ITEMS: list[Any] = [
    {"role": "user", "content": "Which hotel?"},
    CALL,
    {"type": "function_call_output", "call_id": "c1", "output": "Casa Azul"},
    {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Casa Azul."}]},
]


def test_a_session_gives_back_what_it_was_given_and_takes_back_the_last(memory: Memory) -> None:
    session = MemorySession(memory, "ann")
    assert isinstance(session, Session)

    async def use() -> None:
        assert await session.get_items() == []
        assert await session.pop_item() is None
        await session.add_items(ITEMS[:2])
        await session.add_items(ITEMS[2:])
        await session.add_items([])
        assert await session.get_items() == ITEMS
        assert await session.get_items(2) == ITEMS[2:]
        assert await session.get_items(0) == []
        assert await MemorySession(memory, "ann", session_settings=SessionSettings(limit=1)).get_items() == ITEMS[3:]
        assert await session.pop_item() == ITEMS[3]
        assert await session.get_items() == ITEMS[:3]
        await session.add_items([ITEMS[3], ITEMS[3]])
        assert await session.get_items() == [*ITEMS, ITEMS[3]]
        assert await MemorySession(memory, "bob").get_items() == []

    asyncio.run(use())
    steps = [entry.step for entry in memory.steps("ann")]
    assert (steps[2].tool_name, steps[2].content) == ("find", "Casa Azul")
    assert memory.search("Which hotel?").hits
    asyncio.run(session.clear_session())
    asyncio.run(session.clear_session())
    assert asyncio.run(session.get_items()) == []
    assert memory.trajectories() == []


def test_an_image_comes_back_named(memory: Memory) -> None:
    packed = base64.b64encode(b"\x89PNG" + bytes(99)).decode()
    image = {"type": "input_image", "image_url": f"data:image/png;base64,{packed}"}
    text = {"type": "input_text", "text": "What is this?"}
    session: Any = MemorySession(memory, "ann")
    asyncio.run(session.add_items([{"role": "user", "content": [text, image]}]))
    [item] = asyncio.run(session.get_items())
    assert item["content"][0] == text
    assert item["content"][1]["type"] == "input_text"
    assert item["content"][1]["text"].startswith("[image: image/png, 103 bytes, sha256 ")


class Scripted(Model):  # type: ignore[misc]
    """Gives replies one after the other."""

    def __init__(self, *replies: Any) -> None:
        self.replies, self.asked = list(replies), list[Any]()

    async def get_response(self, *args: Any, **kwargs: Any) -> ModelResponse:
        self.asked.append(args[1] if len(args) > 1 else kwargs["input"])
        return ModelResponse(output=[self.replies.pop(0)], usage=Usage(), response_id=None)

    def stream_response(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError


def say(text: str) -> ResponseOutputMessage:
    part = ResponseOutputText(type="output_text", text=text, annotations=[])
    return ResponseOutputMessage(id="m", type="message", role="assistant", status="completed", content=[part])


def test_an_agent_with_a_session_and_a_tool_remembers_and_recalls(memory: Memory) -> None:
    memory.add(Step(role="user", content="The hotel in Porto is Casa Azul."), trajectory="old")
    call = ResponseFunctionToolCall(type="function_call", id="f", call_id="c9", name="recall",
                                    arguments='{"query": "hotel in Porto"}')  # fmt: skip
    model = Scripted(call, say("It is Casa Azul."), say("You are welcome."))
    agent: Any = Agent("Guide", model=model, tools=[recall_tool(memory)])
    session: Any = MemorySession(memory, "ann")
    quiet = RunConfig(tracing_disabled=True)

    async def use() -> None:
        result = await Runner.run(agent, "Which hotel is in Porto?", session=session, run_config=quiet)
        assert result.final_output == "It is Casa Azul."
        await Runner.run(agent, "Thanks!", session=session, run_config=quiet)

    asyncio.run(use())
    assert "Casa Azul" in str(model.asked[1]), "the tool recalled"
    assert "Which hotel is in Porto?" in str(model.asked[2]), "the history came back"
    steps = [(entry.step.role, entry.step.content) for entry in memory.steps("ann")]
    assert steps[0] == ("user", "Which hotel is in Porto?")
    assert ("tool", "[recalled: 2 steps]") in steps
    assert steps[-1] == ("assistant", "You are welcome.")
