"""A memory as the session of the OpenAI Agents SDK: `Runner.run(agent, "...", session=MemorySession(memory, "ann"))`.

A session is a history, and a history is a trajectory: what it holds is found by the memory too, with `recall_tool`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, cast

from stitch.errors import missing_extra

try:
    from agents import FunctionTool, function_tool
except ImportError as error:
    raise missing_extra("openai-agents", needed_by=__name__) from error

from stitch.adapters.recalled import recall_of
from stitch.core import StepState
from stitch.lifecycle.selection import Selector
from stitch.retrieve.context.recalled import step_without_recalled
from stitch.sources.attachments import named_attachments
from stitch.sources.given import plain, steps_of_messages

if TYPE_CHECKING:
    from agents.items import TResponseInputItem
    from agents.memory import SessionSettings

    from stitch.core import Step
    from stitch.journal import Entry
    from stitch.memory import Memory

ITEM = "openai_item"
"""Under this name the metadata of the first step of an item hold the item."""


class MemorySession:
    """The history of a session, kept in a memory. Images and files come back named, with size and digest.

    Its name is that of its trajectory. What is popped or cleared is erased, as whatever a memory is told to forget.
    """

    def __init__(self, memory: Memory, session_id: str, *, session_settings: SessionSettings | None = None) -> None:
        self.memory, self.session_id, self.session_settings = memory, session_id, session_settings

    async def get_items(self, limit: int | None = None) -> list[TResponseInputItem]:
        """The items so far, oldest first; the last `limit` of them."""
        if limit is None and self.session_settings is not None:
            limit = self.session_settings.limit
        items = await asyncio.to_thread(lambda: [entry.step.metadata[ITEM] for entry in self._first_steps()])
        return cast("list[TResponseInputItem]", items if limit is None else items[max(0, len(items) - limit) :])

    async def add_items(self, items: list[TResponseInputItem]) -> None:
        """Add items to the history; when this returns they are durable."""
        await asyncio.to_thread(self._add, items)

    async def pop_item(self) -> TResponseInputItem | None:
        """Take back the last item."""
        return await asyncio.to_thread(self._pop)

    async def clear_session(self) -> None:
        """Forget the history."""
        await asyncio.to_thread(self._clear)

    def _add(self, items: list[TResponseInputItem]) -> None:
        known = {
            call.id: call.name
            for entry in self.memory.steps(self.session_id)
            for call in entry.step.tool_calls
            if call.id is not None
        }
        steps: list[Step] = []
        for item in items:
            kept = _sendable(named_attachments(plain(item, where="item")))
            made = [step.model_copy(update={"id": None}) for step in steps_of_messages([item], tools=known)]
            known |= {call.id: call.name for step in made for call in step.tool_calls if call.id is not None}
            first = made[0].model_copy(update={"metadata": {**made[0].metadata, ITEM: kept}})
            steps += [step_without_recalled(step) for step in (first, *made[1:])]
        if steps:
            self.memory.add_many(steps, trajectory=self.session_id)

    def _pop(self) -> TResponseInputItem | None:
        entries = [entry for entry in self.memory.steps(self.session_id) if entry.state is not StepState.RETIRED]
        last = next((at for at in range(len(entries) - 1, -1, -1) if ITEM in entries[at].step.metadata), None)
        if last is None:
            return None
        item = entries[last].step.metadata[ITEM]
        for entry in entries[last:]:
            self.memory.lifecycle.erase(Selector(trajectory=self.session_id, step=entry.id))
        return cast("TResponseInputItem", item)

    def _clear(self) -> None:
        if self.session_id in self.memory.trajectories():
            self.memory.lifecycle.erase(Selector(trajectory=self.session_id))

    def _first_steps(self) -> Iterator[Entry]:
        for entry in self.memory.steps(self.session_id):
            if entry.state is not StepState.RETIRED and ITEM in entry.step.metadata:
                yield entry


def recall_tool(memory: Memory, *, k: int = 10, budget_tokens: int = 2000) -> FunctionTool:
    """A tool with which an agent asks all trajectories of a memory."""
    return function_tool(recall_of(memory, k=k, budget_tokens=budget_tokens))


def _sendable(item: Any) -> Any:
    """An item as it can be sent again: an attachment that is named now is a text of the user."""
    content = item.get("content") if isinstance(item, Mapping) else None
    if not isinstance(content, list):
        return item
    parts = [
        {"type": "input_text", "text": part["text"]} if isinstance(part, Mapping) and "attached" in part else part
        for part in content
    ]
    return {**item, "content": parts}
