"""A memory as the memory service of Google ADK: `Runner(..., memory_service=MemoryService(tenants))`."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

from stitch.errors import missing_extra

try:
    from google.adk.memory.base_memory_service import BaseMemoryService, SearchMemoryResponse
    from google.adk.memory.memory_entry import MemoryEntry
    from google.genai import types
except ImportError as error:
    raise missing_extra("google-adk", needed_by=__name__) from error

from stitch.adapters.recalled import recalled_steps
from stitch.lifecycle.selection import Selector

if TYPE_CHECKING:
    from google.adk.events.event import Event
    from google.adk.sessions.session import Session

    from stitch.core import MemorySnippet
    from stitch.memory import Memory
    from stitch.tenants import Tenants

NOTES = "notes"
"""The trajectory of memories that are of no session."""


class MemoryService(BaseMemoryService):
    """Keeps the sessions of each user of each application, apart from those of all others: each is a tenant.

    A session that is added again is stored as far as it is new. A search gives at most `k` steps.
    """

    def __init__(self, tenants: Tenants, *, k: int = 10) -> None:
        self.tenants, self.k = tenants, k

    async def add_session_to_memory(self, session: Session) -> None:
        """Store what is new of a session."""
        await self._add(session.app_name, session.user_id, session.id, session.events)

    async def add_events_to_memory(
        self,
        *,
        app_name: str,
        user_id: str,
        events: Sequence[Event],
        session_id: str | None = None,
        custom_metadata: Mapping[str, object] | None = None,
    ) -> None:
        """Store some events of a session."""
        await self._add(app_name, user_id, session_id or NOTES, events)

    async def add_memory(
        self,
        *,
        app_name: str,
        user_id: str,
        memories: Sequence[MemoryEntry],
        custom_metadata: Mapping[str, object] | None = None,
    ) -> None:
        """Store memories as they are."""
        await self._add(app_name, user_id, NOTES, memories)

    async def search_memory(self, *, app_name: str, user_id: str, query: str) -> SearchMemoryResponse:
        """Find what answers a query; the words of each memory are quoted data."""
        result = await self._memory(app_name, user_id).asearch(query, k=self.k, budget_tokens=1)
        return SearchMemoryResponse(memories=[_entry(hit.snippet) for hit in result])

    async def delete_memory(self, *, app_name: str, user_id: str, memory_id: str | None = None) -> None:
        """Erase one memory, by the id that a search gave it, or with none all of the user's."""
        memory = self._memory(app_name, user_id)
        if memory_id is None:
            await asyncio.to_thread(memory.lifecycle.erase, Selector(everything=True))
            return
        trajectory, _, step = memory_id.rpartition("/")
        await asyncio.to_thread(memory.lifecycle.erase, Selector(trajectory=trajectory, step=step))

    async def _add(self, app_name: str, user_id: str, session: str, said: Sequence[Event | MemoryEntry]) -> None:
        messages = [
            _message(each.content, author=each.author, at=each.timestamp, named=each.id)
            for each in said
            if each.content is not None and each.content.parts
        ]
        memory = self._memory(app_name, user_id)
        await asyncio.to_thread(memory.add_messages, messages, trajectory=session, edited="keep")

    def _memory(self, app_name: str, user_id: str) -> Memory:
        return self.tenants.memory(f"{app_name}:{user_id}")


def _message(content: Any, *, author: str | None, at: float | str | None, named: str | None) -> dict[str, Any]:
    """A message of the Gemini kind."""
    said = content.model_dump(exclude_none=True)
    role = author if said.get("role") in (None, "model") and author not in (None, "user") else said.get("role", "user")
    message = {"role": role, "parts": said.get("parts", []), "timestamp": at, "id": named}
    return {key: value for key, value in message.items() if value not in (None, "")}


def _entry(snippet: MemorySnippet) -> MemoryEntry:
    happened = snippet.happened if snippet.happened is not None else snippet.recorded
    when = happened if isinstance(happened, str) else datetime.fromtimestamp(happened, timezone.utc).isoformat()
    return MemoryEntry(
        id=f"{snippet.trajectory}/{snippet.step}",
        author=snippet.role,
        timestamp=when,
        content=types.Content(role="user", parts=[types.Part(text=recalled_steps([snippet]))]),
        custom_metadata={"scope": snippet.intent.scope or "", "trust": snippet.trust.value},
    )
