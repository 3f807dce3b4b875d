"""What is done through the table of operations with steps that are there."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from stitch import Memory, Step, open_memory
from stitch.api import listing
from stitch.api.models import MOST_PAGE_CHARS
from stitch.api.operations import OPERATIONS, ask, made
from stitch.errors import InputError

SAID = ("Now day 1: a hotel in Kyoto.", "It costs 120 dollars.", "Now day 2: a train to Nara.", "It leaves at 9:40.")


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with open_memory(tmp_path / "m", recall_log=10) as opened:
        opened.add_many([Step(role="user", content=text) for text in SAID], trajectory="trip")
        yield opened


def asked(memory: Memory, operation: str, lines: Any = (), **fields: Any) -> Any:
    return ask(memory, operation, made(OPERATIONS[operation].request, **fields), lines)


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
    monkeypatch.setattr(listing, "MOST_PAGE_CHARS", MOST_PAGE_CHARS // 100)
    memory.add_many([Step(role="user", content=f"{n} " * 4_500) for n in range(8)], trajectory="long")
    page = asked(memory, "steps", trajectory="long", limit=1000)
    assert 0 < len(page.steps) < 8
    assert page.next == str(page.steps[-1].position)


def test_receipts_are_read_page_by_page(memory: Memory) -> None:
    first = asked(memory, "receipts", limit=3)
    second = asked(memory, "receipts", limit=3, after=first.next)
    assert [receipt.step for page in (first, second) for receipt in page.receipts] == ["0", "1", "2", "3"]
    assert second.next is None
    assert asked(memory, "receipts", state="failed").receipts == ()
    with pytest.raises(InputError, match="is gone"):
        asked(memory, "receipts", after="trip\tgone")


def test_a_step_is_corrected_and_its_history_told(memory: Memory) -> None:
    corrected = asked(memory, "correct", step="1", text="It costs 130 dollars.", labels={"event_types": ["ask price"]})
    assert corrected.model_dump() == {"step": "1", "trajectory": "trip", "revisions": 1}
    history = asked(memory, "history", step="1")
    assert [each.step["content"] for each in history.revisions] == ["It costs 120 dollars."]
    [correction] = asked(memory, "corrections")
    assert (correction.trajectory, correction.position, correction.by) == ("trip", 1, "person")


def test_a_reference_that_is_not_there_is_not_undone(memory: Memory) -> None:
    with pytest.raises(InputError, match="has no reference '9'"):
        asked(memory, "correct", step="0", undo=["9"])
    with pytest.raises(InputError, match="no trajectory has a step 'x'"):
        asked(memory, "history", step="x")


def test_rules_of_a_request_expire_steps(memory: Memory) -> None:
    rules = [{"older_than_days": 1, "action": "retire"}]
    now = max(entry.recorded for entry in memory.steps("trip")) + 3 * 86_400
    counted = asked(memory, "expire", rules=rules, now=now, dry_run=True)
    assert [(rule.action, rule.steps) for rule in counted.rules] == [("retire", 4)]
    assert asked(memory, "expire", rules=rules, now=now).proof is None
    assert memory.status().retired == 4


def test_what_is_exported_is_imported_by_another_memory(memory: Memory, tmp_path: Path) -> None:
    lines = [item.line for item in asked(memory, "export")]
    with open_memory(tmp_path / "other") as other:
        assert asked(other, "import", lines, source="trip.jsonl").steps == 4
        assert [entry.step.content for entry in other.steps("trip")] == list(SAID)
        assert asked(other, "import", lines).known == 4
    assert next(asked(memory, "export", trajectory="trip")).line == lines[0]


def test_the_memory_is_copied_compared_and_built_anew(memory: Memory, tmp_path: Path) -> None:
    copied = asked(memory, "backup", to=str(tmp_path / "copy"))
    assert (copied.folder, copied.steps) == (str(tmp_path / "copy"), 4)
    assert asked(memory, "verify").model_dump(exclude_unset=True)["disagreements"] == ()
    assert asked(memory, "verify", repair=True).choices == ()
    assert asked(memory, "reindex").snippets == 4
    assert asked(memory, "relabel").relabeled == 0


def test_what_was_asked_is_told(memory: Memory) -> None:
    for question in ("hotel", "train"):
        asked(memory, "search", query=question)
    assert [recall.query for recall in asked(memory, "recalls").recalls] == ["hotel", "train"]
    assert [recall.query for recall in asked(memory, "recalls", last=1).recalls] == ["train"]


def test_where_a_step_stands_is_told_whole(memory: Memory) -> None:
    place = asked(memory, "why_not", query="What does the hotel cost?", step="3", trajectory="trip", k=1)
    assert place.hit.snippet.step == "3"
    assert place.last.snippet.step != "3" or place.rank == 1


def test_nothing_fails_waits_or_costs_here(memory: Memory) -> None:
    assert asked(memory, "retry").model_dump() == {"stored": 0, "failed": 0}
    assert asked(memory, "finish", trajectory="trip").steps == 0
    assert asked(memory, "flush").model_dump(exclude_unset=True) == {"done": True, "statements_failure": ""}
    assert asked(memory, "totals").total.calls == 0
    assert asked(memory, "inventory").model_dump(exclude_unset=True) == memory.inventory().model_dump()


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


def test_a_timeline_that_goes_on_need_not_tell_the_scopes_again(memory: Memory) -> None:
    told = asked(memory, "timeline", trajectory="trip", limit=1, after="0", scopes=False)
    assert (told.scopes, [each.step for each in told.steps]) == ((), ["1"])
