"""What is asked of a memory and done with its steps through the table of operations."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

from stitch import Memory, Step, open_memory
from stitch.bench.samples import sample
from stitch.errors import InputError, ReadOnlyError, StoreLockedError
from stitch.server.operations import steps
from stitch.server.operations.labeling import ReplyLine
from stitch.server.operations.operation import OPERATIONS
from stitch.server.protocol import Failure, as_error, failure_of

SAID = (
    "Let us plan day 1: find a hotel in Kyoto.",
    "The Maple Inn costs 120 dollars a night.",
    "Now day 2: a train to Nara.",
    "The train leaves at 9:40 and costs 8 dollars.",
)


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with open_memory(tmp_path / "m", recall_log=10) as opened:
        opened.add_many([Step(role="user", content=text) for text in SAID], trajectory="trip")
        opened.add(Step(role="user", content="Water the plants."), trajectory="home")
        yield opened


def asked(memory: Memory, operation: str, **fields: Any) -> Any:
    return OPERATIONS[operation].run(memory, **fields)


def test_every_operation_says_what_it_takes_and_gives_under_a_path_of_its_own() -> None:
    assert all(name == each.name for name, each in OPERATIONS.items())
    places = [(each.method, each.path) for each in OPERATIONS.values()]
    assert len(set(places)) == len(places)
    assert all(each.path.startswith("/v1/") and each.summary.endswith(".") for each in OPERATIONS.values())
    for each in OPERATIONS.values():
        assert each.request.model_json_schema()["additionalProperties"] is False
        assert TypeAdapter(each.answer).json_schema()


def test_no_request_can_name_a_tenant() -> None:
    assert not [each.name for each in OPERATIONS.values() if "tenant" in each.request.model_fields]


def test_a_window_that_is_labeled_elsewhere_says_what_is_asked_and_takes_the_reply(memory: Memory) -> None:
    labeler = {"model": "ann", "window_steps": 9}
    home, trip = sorted(asked(memory, "label_windows", **labeler), key=lambda window: str(window.trajectory))
    assert (trip.model, trip.trajectory, len(trip.steps)) == ("ann", "trip", len(SAID))
    assert SAID[0] in trip.user
    assert "`readings`" in trip.system
    assert SAID[0] not in trip.system
    assert trip.reply_schema["required"] == ["readings", "renames"]
    readings = [{"n": 1, "scope": "garden", "events": ["ask"], "entities": []}]
    line = ReplyLine(source="mine", line=1, text=json.dumps({"id": home.id, "reply": {"readings": readings}}))
    taken = asked(memory, "label_replies", **labeler, replies=[line])
    assert (taken.windows, taken.steps, taken.rejections) == (1, 1, ())
    assert [scope.name for scope in memory.inventory("home").scopes] == ["garden"]


def test_a_label_is_renamed_in_all_steps_that_carry_it_and_they_say_what_they_had(memory: Memory) -> None:
    scopes = {scope.name: scope.steps for scope in memory.inventory("trip").scopes}
    name = max(scopes, key=lambda each: scopes[each])
    given = {"trajectory": "trip", "name": name, "to": "the journey"}
    would = asked(memory, "rename", **given, dry_run=True)
    assert len(would.steps) == scopes[name]
    assert {scope.name for scope in memory.inventory("trip").scopes} == set(scopes)
    done = asked(memory, "rename", **given, by="ann")
    assert done.steps == would.steps
    assert {scope.name: scope.steps for scope in memory.inventory("trip").scopes}["the journey"] == scopes[name]
    renamed = {each.step for each in done.steps}
    assert {entry.labels.made_by for entry in memory.steps("trip") if entry.id in renamed and entry.labels} == {"ann"}
    for each in done.steps:
        memory.lifecycle.correct(each.step, trajectory="trip", labels=each.labels)
    assert {scope.name: scope.steps for scope in memory.inventory("trip").scopes} == scopes
    assert [each.step for each in asked(memory, "rename", **given, first=1, last=1, dry_run=True).steps] == ["1"]
    assert asked(memory, "rename", trajectory="trip", name="never heard", to="x").steps == ()


def test_event_types_are_merged_by_the_name_of_one_that_is_there(memory: Memory) -> None:
    memory.lifecycle.correct("0", trajectory="trip", labels={"event_types": ("wish", "plan")})
    memory.lifecycle.correct("1", trajectory="trip", labels={"event_types": ("wish",)})
    done = asked(memory, "rename", trajectory="trip", kind="event_type", name="wish", to="plan")
    assert [dict(each.labels) for each in done.steps] == [{"event_types": ("wish", "plan")}, {"event_types": ("wish",)}]
    assert next(entry.labels for entry in memory.steps("trip") if entry.labels).intent.event_types == ("plan",)
    assert "wish" not in memory.inventory("trip").event_types


def test_a_merge_that_the_labeler_made_is_taken_apart(tmp_path: Path) -> None:
    with open_memory(tmp_path / "m") as memory:
        memory.add_many(sample("trip").trajectory.steps, trajectory="trip")
        labeled = {entry.id: entry.labels.intent.scope for entry in memory.steps("trip") if entry.labels}
        merge = next(each for each in memory.inventory("trip").merges if each.alias in labeled.values())
        meant = {name for name, scope in labeled.items() if scope == merge.alias}
        assert (
            asked(memory, "rename", trajectory="trip", name=merge.into, to="x", dry_run=True, merged=True).steps != ()
        )
        apart = asked(memory, "rename", trajectory="trip", name=merge.alias, to="by itself", merged=True)
        assert {each.step for each in apart.steps} == meant
        found = {step.scope for step in asked(memory, "timeline", trajectory="trip").steps if step.step in meant}
        assert found == {"by itself"}


def test_steps_and_a_timeline_are_read_page_by_page(memory: Memory) -> None:
    for operation in ("steps", "timeline"):
        rows, after = [], None
        while True:
            page = asked(memory, operation, trajectory="trip", limit=3, after=after)
            rows += page.steps
            if (after := page.next) is None:
                break
        if operation == "steps":
            assert [(row.position, row.step.content) for row in rows] == list(enumerate(SAID))
            assert [row.labels for row in rows] == [entry.labels for entry in memory.steps("trip")]
        else:
            assert [row.text for row in rows] == list(SAID)
            assert page.length == len(SAID)
            assert [scope.name for scope in page.scopes]
    assert asked(memory, "steps", trajectory="none").steps == ()
    assert not asked(memory, "timeline", trajectory="trip", steps=False).steps


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
    answer = asked(memory, operation, **fields)
    assert "next" not in answer.model_fields_set
    whole = answer.model_dump()
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


@pytest.mark.parametrize("after", ["x", "-1", "²", "9" * 30])
def test_a_cursor_that_is_none_is_refused(memory: Memory, after: str) -> None:
    with pytest.raises(InputError, match="is no position"):
        asked(memory, "timeline", trajectory="trip", after=after)


def test_a_response_comes_back_from_its_json_as_it_was(memory: Memory) -> None:
    asked_for: dict[str, dict[str, Any]] = {
        "search": {"query": "hotel", "whole": True},
        "why": {"query": "hotel", "step": "1", "trajectory": "trip"},
        "timeline": {"trajectory": "trip"},
        "labels": {},
        "status": {},
        "forget": {"trajectory": "trip"},
    }
    for name, fields in asked_for.items():
        answer = asked(memory, name, **fields)
        operation = OPERATIONS[name]
        again = TypeAdapter(operation.answer).validate_json(operation.written(answer))
        assert operation.dumped(again) == operation.dumped(answer)


def test_a_body_is_taken_as_it_is_said_and_a_query_is_read() -> None:
    with pytest.raises(ValidationError):
        OPERATIONS["forget"].request(everything="true")
    assert OPERATIONS["timeline"].request(trajectory="t", steps="false").steps is False  # type: ignore[attr-defined]
    assert OPERATIONS["search"].request(query="x", min_trust="high").min_trust == "high"  # type: ignore[attr-defined]


def test_an_error_becomes_the_same_error_again() -> None:
    for error in (InputError("no", hint="do"), StoreLockedError("in use"), ReadOnlyError("/m")):
        again = as_error(Failure.model_validate_json(failure_of(error).model_dump_json()))
        assert (type(again), again.message, again.hint) == (type(error), error.message, error.hint)
        assert (str(again), again.exit_code) == (str(error), error.exit_code)


def test_a_step_is_named_by_its_id_its_position_or_the_beginning_of_its_id(memory: Memory) -> None:
    steps = [Step(role="user", id=name, content="One more.") for name in ("plan-a", "plan-b")]
    memory.add_many(steps, trajectory="other")

    def named(step: str, **where: str) -> tuple[str, str]:
        found = asked(memory, "history", step=step, **where)
        return found.trajectory, found.step

    assert named("plan-b") == named("1", trajectory="other") == ("other", "plan-b")
    assert named("3") == ("trip", "3")
    for step, says in (("0", "2 trajectories"), ("plan", "2 steps begin"), ("pla", "no trajectory"), ("01", "no traj")):
        with pytest.raises(InputError, match=says):
            named(step)
