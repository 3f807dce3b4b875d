"""The memory service of Google ADK, tried with its own sessions and events."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("google.adk.memory.base_memory_service", exc_type=ImportError)

from google.adk.events.event import Event
from google.adk.sessions.session import Session
from google.genai import types

from stitch import Tenants, open_tenants
from stitch.adapters.google_adk import MemoryService
from stitch.retrieve.context.recalled import is_recalled


@pytest.fixture
def tenants(tmp_path: Path) -> Iterator[Tenants]:
    with open_tenants(tmp_path / "m") as opened:
        yield opened


def event(text: str, *, author: str, id_: str) -> Any:
    role = "user" if author == "user" else "model"
    return Event(
        id=id_, author=author, timestamp=1.7e9, content=types.Content(role=role, parts=[types.Part(text=text)])
    )


def session(*events: Any, user: str = "ann") -> Any:
    return Session(id="s1", app_name="trips", user_id=user, events=list(events))


FIRST = event("Which hotel is in Porto?", author="user", id_="e1")
SECOND = event("It is Casa Azul.", author="guide", id_="e2")


def test_a_session_that_is_added_again_is_stored_as_far_as_it_is_new(tenants: Tenants) -> None:
    service = MemoryService(tenants)

    async def use() -> Any:
        await service.add_session_to_memory(session(FIRST))
        await service.add_session_to_memory(session(FIRST, SECOND))
        await service.add_session_to_memory(session(FIRST, SECOND))
        return await service.search_memory(app_name="trips", user_id="ann", query="Which hotel is in Porto?")

    found = asyncio.run(use())
    assert [entry.id for entry in tenants.memory("trips:ann").steps("s1")] == ["e1", "e2"]
    assert {entry.id for entry in found.memories} == {"s1/e1", "s1/e2"}
    said = {entry.author: entry.content.parts[0].text for entry in found.memories}
    assert set(said) == {"user", "guide"}
    assert all(is_recalled(text) for text in said.values())
    assert "Casa Azul" in said["guide"]
    assert all(entry.timestamp.startswith("2023-11-14T") for entry in found.memories)


def test_nothing_of_one_user_or_application_is_found_by_another(tenants: Tenants) -> None:
    service = MemoryService(tenants)

    async def use() -> list[int]:
        await service.add_session_to_memory(session(FIRST, SECOND))
        asked = [("trips", "bob"), ("bank", "ann"), ("trips", "ann")]
        answers = [await service.search_memory(app_name=app, user_id=user, query="hotel") for app, user in asked]
        return [len(answer.memories) for answer in answers]

    assert asyncio.run(use()) == [0, 0, 2]
