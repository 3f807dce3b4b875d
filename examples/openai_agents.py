"""An agent of the OpenAI Agents SDK with a memory: `OPENAI_API_KEY=... python examples/openai_agents.py`."""

import asyncio

from agents import Agent, Runner, set_default_openai_api

from stitch import open_memory
from stitch.adapters.openai_agents import MemorySession, recall_tool


async def main() -> None:
    set_default_openai_api("chat_completions")
    with open_memory("agent.memory") as memory:
        guide = Agent("guide", tools=[recall_tool(memory)])
        for said in ("I live in Porto.", "Where do I live?"):
            print((await Runner.run(guide, said, session=MemorySession(memory, "ann"))).final_output)


asyncio.run(main())
