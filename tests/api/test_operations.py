"""What is asked of a memory through the table of operations, and what it answers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest

from stitch import Memory, Step, errors, open_memory
from stitch.api import models
from stitch.api.failures import Failure, as_error, failure_of
from stitch.api.operations import OPERATIONS, ask, made
from stitch.errors import InputError, ReadOnlyError, StitchError, StoreLockedError

SAID = (
    "Let us plan day 1: find a hotel in Kyoto.",
    "The Maple Inn costs 120 dollars a night.",
    "Now day 2: a train to Nara.",
    "The train leaves at 9:40 and costs 8 dollars.",
)


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with open_memory(tmp_path / "m") as opened:
        opened.add_many([Step(role="user", content=text) for text in SAID], trajectory="trip")
        opened.add(Step(role="user", content="Water the plants."), trajectory="home")
        yield opened


def asked(memory: Memory, operation: str, **fields: Any) -> Any:
    return ask(memory, operation, made(OPERATIONS[operation].request, **fields))


def test_every_operation_says_what_it_takes_and_gives_under_a_path_of_its_own() -> None:
    assert all(name == each.name for name, each in OPERATIONS.items())
    places = [(each.method, each.path) for each in OPERATIONS.values()]
    assert len(set(places)) == len(places)
    assert all(each.path.startswith("/v1/") and each.summary.endswith(".") for each in OPERATIONS.values())
    for each in OPERATIONS.values():
        assert each.request.model_json_schema()["additionalProperties"] is False
        assert each.response.model_json_schema()


def test_no_request_can_name_a_tenant() -> None:
    assert not [each.name for each in OPERATIONS.values() if "tenant" in each.request.model_fields]


def test_steps_that_are_added_come_back_as_receipts_and_are_found(memory: Memory) -> None:
    added = asked(memory, "add", trajectory="trip", steps=[{"role": "user", "content": "Day 3 is for the onsen."}])
    assert [(receipt.step, receipt.state.value) for receipt in added.receipts] == [("4", "stored")]
    assert "onsen" in asked(memory, "search", query="What is day 3 for?", k=1).context


def test_one_rejected_step_stops_the_others_unless_each_is_asked_for(memory: Memory) -> None:
    steps = [{"role": "user", "content": "new", "id": "n"}, {"role": "user", "content": "other", "id": "0"}]
    with pytest.raises(errors.StepRejectedError):
        asked(memory, "add", trajectory="trip", steps=steps)
    added = asked(memory, "add", trajectory="trip", steps=steps, each=True)
    assert [receipt.step for receipt in added.receipts] == ["n"]
    assert [rejected.index for rejected in added.rejected] == [1]


def test_messages_are_stored_once_however_often_they_come(memory: Memory) -> None:
    said = [{"role": "user", "content": "Hello."}, {"stitch_step": {"role": "assistant", "content": "Hi.", "id": "h"}}]
    first = asked(memory, "messages", trajectory="chat", messages=said[:1])
    both = asked(memory, "messages", trajectory="chat", messages=said)
    assert [receipt.repeated for receipt in both.receipts] == [True, False]
    assert (first.receipts[0].step, both.receipts[1].step) == (both.receipts[0].step, "h")
    with pytest.raises(errors.StepRejectedError, match="says something else"):
        asked(memory, "messages", trajectory="chat", messages=[{"role": "user", "content": "Bye."}], start=0)


def test_an_answer_holds_whole_snippets_only_if_they_are_asked_for(memory: Memory) -> None:
    told = asked(memory, "search", query="hotel").model_dump(exclude_unset=True)
    assert all("snippet" not in hit for hit in told["hits"])
    assert "mode" not in told
    whole = asked(memory, "search", query="hotel", whole=True)
    assert whole.hits[0].snippet.text == whole.hits[0].text
    assert whole.mode == "intent"


def test_why_finds_a_step_by_its_place_and_explains_it(memory: Memory) -> None:
    why = asked(memory, "why", query="What does the hotel cost?", step="1", trajectory="trip")
    assert (why.step, why.found) == ("1", True)
    assert why.ranked.rank >= 1
    with pytest.raises(InputError, match="2 trajectories have a step '0'"):
        asked(memory, "why", query="What?", step="0")


def test_a_list_is_read_page_by_page_without_a_gap(memory: Memory) -> None:
    first = asked(memory, "trajectories", limit=1)
    second = asked(memory, "trajectories", limit=1, after=first.next)
    assert [row.trajectory for page in (first, second) for row in page.trajectories] == ["trip", "home"]
    assert second.next is None
    with pytest.raises(InputError, match="any more"):
        asked(memory, "trajectories", after="gone")


def test_a_timeline_is_read_page_by_page(memory: Memory) -> None:
    steps, after = [], None
    while True:
        page = asked(memory, "timeline", trajectory="trip", limit=3, after=after)
        steps += [step.text for step in page.steps]
        if (after := page.next) is None:
            break
    assert steps == list(SAID)
    assert page.length == len(SAID)
    assert [scope.name for scope in page.scopes]
    assert not asked(memory, "timeline", trajectory="trip", steps=False).steps


@pytest.mark.parametrize("after", ["x", "-1", "²", "9" * 30])
def test_a_cursor_that_is_none_is_refused(memory: Memory, after: str) -> None:
    with pytest.raises(InputError, match="is no position"):
        asked(memory, "timeline", trajectory="trip", after=after)


@pytest.mark.parametrize("operation", ["timeline", "labels"])
def test_a_trajectory_that_is_not_there_is_refused(memory: Memory, operation: str) -> None:
    with pytest.raises(InputError, match="no trajectory 'none'"):
        asked(memory, operation, trajectory="none")


def test_labels_stand_in_the_order_of_how_many_steps_carry_them(memory: Memory) -> None:
    counts = list(asked(memory, "labels", trajectory="trip").event_types.values())
    assert counts == sorted(counts, reverse=True)


def test_status_counts_steps_and_calls(memory: Memory) -> None:
    status = asked(memory, "status")
    assert (status.accepted, status.trajectories, status.model.total.calls) == (5, 2, 0)


def test_what_is_forgotten_is_counted_first_then_retired_or_erased_with_proof(memory: Memory) -> None:
    assert asked(memory, "forget", trajectory="trip", dry_run=True).steps == 4
    retired = asked(memory, "forget", trajectory="trip", step="0", action="retire", reason="old")
    assert retired.model_dump(exclude_unset=True) == {"steps": 1, "dry_run": False}
    erased = asked(memory, "forget", trajectory="trip")
    assert (erased.steps, erased.trajectories, erased.proof.found) == (4, 1, ())
    assert [row.trajectory for row in asked(memory, "trajectories").trajectories] == ["home"]


def test_a_step_that_is_not_there_is_not_forgotten(memory: Memory) -> None:
    with pytest.raises(InputError, match="no step '9' in trajectory 'trip'"):
        asked(memory, "forget", trajectory="trip", step="9")
    with pytest.raises(InputError, match="no steps are selected"):
        asked(memory, "forget")


def test_a_field_that_no_request_has_is_named() -> None:
    with pytest.raises(InputError, match=r"^budget: extra inputs are not permitted"):
        made(models.QueryRequest, query="x", budget=3)
    with pytest.raises(InputError, match=r"^trajectory: name is empty"):
        made(OPERATIONS["timeline"].request, trajectory=" ")


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
        response = asked(memory, name, **fields)
        again = OPERATIONS[name].response.model_validate_json(response.model_dump_json(exclude_unset=True))
        assert orjson.loads(again.model_dump_json()) == orjson.loads(response.model_dump_json())


def test_an_error_becomes_the_same_error_again() -> None:
    for error in (InputError("no", hint="do"), StoreLockedError("in use"), ReadOnlyError("/m")):
        again = as_error(Failure.model_validate_json(failure_of(error).model_dump_json()))
        assert (type(again), again.message, again.hint) == (type(error), error.message, error.hint)
        assert (str(again), again.exit_code) == (str(error), error.exit_code)


def test_an_error_whose_class_is_not_known_is_an_error_of_this_library() -> None:
    for name in ("SystemExit", "Sequence", "NewError", ""):
        assert type(as_error(Failure(error=name, message="m"))) is StitchError


def test_themes_are_listed_page_by_page_and_one_shows_who_said_what(memory: Memory) -> None:
    first = asked(memory, "themes", limit=1)
    names, after = [each.id for each in first.themes], first.next
    while after is not None:
        page = asked(memory, "themes", limit=1, after=after)
        names, after = names + [each.id for each in page.themes], page.next
    assert names == [each.id for each in memory.themes()]
    shown = [asked(memory, "theme", theme=name) for name in names]
    said = {each.text: each for theme in shown for each in theme.statements}
    assert "The Maple Inn costs 120 dollars a night." in said
    inn = said["The Maple Inn costs 120 dollars a night."]
    assert (inn.trajectory, inn.steps[-1], inn.speaker, inn.trust) == ("trip", "1", "user", "high")
    with pytest.raises(InputError, match="no theme 't999'"):
        asked(memory, "theme", theme="t999")
    with pytest.raises(InputError, match="any more"):
        asked(memory, "themes", after="t999")
