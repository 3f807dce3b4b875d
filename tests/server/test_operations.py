"""What is asked of a memory and done with its steps through the table of operations."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest
from pydantic import BaseModel

from stitch import Memory, Step, open_memory
from stitch.core import Decision, Piece, ScopeSummary, Statement, Theme
from stitch.core.snippets import EntityTypeSummary
from stitch.errors import InputError, ReadOnlyError, StoreLockedError
from stitch.journal import Entry
from stitch.lifecycle.backup import BackedUp
from stitch.lifecycle.correct import Correction
from stitch.lifecycle.handover import TakenIn
from stitch.lifecycle.relabel import Relabeled
from stitch.lifecycle.repair import Disagreement, Repaired
from stitch.lifecycle.traces import Proof
from stitch.lifecycle.transfer import Imported
from stitch.lm import Totals
from stitch.server.api import labeling_models, listing_models, maintenance_models, models, theme_models
from stitch.server.api.operations import OPERATIONS, ask, made
from stitch.server.failures import Failure, as_error, failure_of

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


NOTHING: frozenset[str] = frozenset()

TWINS: tuple[tuple[Any, type[BaseModel], frozenset[str], frozenset[str]], ...] = (
    (Theme, theme_models.ThemeRow, NOTHING, NOTHING),
    (Statement, theme_models.StatementRow, NOTHING, NOTHING),
    (Piece, models.ShownPiece, NOTHING, NOTHING),
    (Decision, models.Decided, NOTHING, NOTHING),
    (Proof, models.ProofModel, NOTHING, NOTHING),
    (Entry, listing_models.StepRow, frozenset({"seq", "tenant", "repeated", "redacted"}), NOTHING),
    (ScopeSummary, listing_models.ScopeRow, frozenset({"terms", "values"}), NOTHING),
    (EntityTypeSummary, listing_models.EntityTypeRow, NOTHING, NOTHING),
    (Totals, listing_models.CallTotals, NOTHING, frozenset({"tokens"})),
    (Imported, maintenance_models.ImportResponse, NOTHING, NOTHING),
    (BackedUp, maintenance_models.BackupResponse, NOTHING, NOTHING),
    (Disagreement, maintenance_models.DisagreementRow, NOTHING, NOTHING),
    (Repaired, maintenance_models.VerifyResponse, NOTHING, NOTHING),
    (Relabeled, maintenance_models.RelabelResponse, NOTHING, NOTHING),
    (Correction, maintenance_models.CorrectionRow, NOTHING, NOTHING),
    (TakenIn, labeling_models.LabelRepliesResponse, NOTHING, NOTHING),
)
"""A value of the library, what is told of it, what of it is told to nobody, and what is told besides."""


@pytest.mark.parametrize(("value", "told", "unsaid", "besides"), TWINS, ids=lambda each: getattr(each, "__name__", ""))
def test_a_field_that_one_of_both_gets_the_other_gets_too(
    value: Any, told: type[BaseModel], unsaid: frozenset[str], besides: frozenset[str]
) -> None:
    fields = set(getattr(value, "_fields", None) or value.model_fields)
    assert set(told.model_fields) - besides == fields - unsaid
    assert unsaid <= fields
