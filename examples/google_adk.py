"""The memory service of Google ADK: give it to a `Runner` as `memory_service`."""

import asyncio

from google.adk.events.event import Event
from google.adk.sessions.session import Session
from google.genai import types

from stitch import open_tenants
from stitch.adapters.google_adk import MemoryService


async def main() -> None:
    with open_tenants("agent.memory") as tenants:
        service = MemoryService(tenants)
        said = Event(author="user", content=types.Content(role="user", parts=[types.Part(text="I live in Porto.")]))
        await service.add_session_to_memory(Session(id="s1", app_name="trips", user_id="ann", events=[said]))
        found = await service.search_memory(app_name="trips", user_id="ann", query="Where does Ann live?")
        print(found.memories[0].content.parts[0].text)


asyncio.run(main())
