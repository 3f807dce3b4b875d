"""What is done through the table of operations with steps that are there."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from stitch import Memory, Step, open_memory
from stitch.server.operations import steps
from stitch.server.operations.operation import OPERATIONS

SAID = ("Now day 1: a hotel in Kyoto.", "It costs 120 dollars.", "Now day 2: a train to Nara.", "It leaves at 9:40.")


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with open_memory(tmp_path / "m", recall_log=10) as opened:
        opened.add_many([Step(role="user", content=text) for text in SAID], trajectory="trip")
        yield opened


def asked(memory: Memory, operation: str, **fields: Any) -> Any:
    return OPERATIONS[operation].run(memory, **fields)


def test_steps_are_read_page_by_page_as_the_memory_keeps_them(memory: Memory) -> None:
    rows, after = [], None
    while True:
        page = asked(memory, "steps", trajectory="trip", limit=3, after=after)
        rows += page.steps
        if (after := page.next) is None:
            break
    assert [(row.position, row.step.content) for row in rows] == list(enumerate(SAID))
    assert [row.labels for row in rows] == [entry.labels for entry in memory.steps("trip")]
    assert asked(memory, "steps", trajectory="none").steps == ()


def test_a_page_of_long_steps_ends_early(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(steps, "MOST_PAGE_CHARS", steps.MOST_PAGE_CHARS // 100)
    memory.add_many([Step(role="user", content=f"{n} " * 4_500) for n in range(8)], trajectory="long")
    page = asked(memory, "steps", trajectory="long", limit=1000)
    assert 0 < len(page.steps) < 8
    assert page.next == str(page.steps[-1].position)


@pytest.mark.parametrize(
    ("operation", "fields", "lists"),
    [
        ("inventory", {}, ("scopes", "event_types", "entity_types", "merges")),
        ("labels", {}, ("scopes", "event_types", "entity_types", "merges")),
        ("history", {"step": "1", "trajectory": "trip"}, ("revisions",)),
        ("recalls", {}, ("recalls",)),
        ("theme", {}, ("statements",)),
    ],
)
def test_what_can_be_long_comes_whole_or_in_pages(
    memory: Memory, operation: str, fields: dict[str, Any], lists: tuple[str, ...]
) -> None:
    for text in ("The Maple Inn is full.", "The Oak Inn costs 90 dollars.", "The Oak Inn costs 95 dollars."):
        asked(memory, "correct", step="1", trajectory="trip", text=text)
        asked(memory, "search", query=text)
    if operation == "theme":
        fields = {"theme": max(memory.themes(), key=lambda each: len(each.statements)).id}
    whole = asked(memory, operation, **fields).model_dump(exclude_unset=True)
    assert "next" not in whole
    told: dict[str, Any] = {name: type(whole[name])() for name in lists}
    page = asked(memory, operation, **fields, limit=1)
    while True:
        items = {name: page.model_dump()[name] for name in lists}
        assert sum(map(len, items.values())) == 1
        told = {
            name: {**told[name], **each} if isinstance(each, dict) else told[name] + each
            for name, each in items.items()
        }
        if page.next is None:
            break
        page = asked(memory, operation, **fields, limit=1, after=page.next)
    assert told == {name: whole[name] for name in lists}
