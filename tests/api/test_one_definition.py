"""What the library holds and what is told of it over a wire are one thing: neither has a field that the other lacks."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import BaseModel

from stitch.api import labeling_models, listing_models, maintenance_models, models, theme_models
from stitch.core import Decision, Piece, ScopeSummary, Statement, Theme
from stitch.core.snippets import EntityTypeSummary
from stitch.journal import Entry
from stitch.lifecycle.backup import BackedUp
from stitch.lifecycle.corrections import Correction
from stitch.lifecycle.handover import TakenIn
from stitch.lifecycle.relabel import Relabeled
from stitch.lifecycle.repair import Disagreement, Repaired
from stitch.lifecycle.traces import Proof
from stitch.lifecycle.transfer import Imported
from stitch.lm import Totals

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
