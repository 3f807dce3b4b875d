"""What was answered, as the library's own values again: results of a search, explanations, steps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from stitch.core import (
    Cause,
    Decision,
    IntentFilter,
    Label,
    LabelInventory,
    LabelKind,
    MemorySnippet,
    Piece,
    RetrievalResult,
    ScoredSnippet,
    Step,
    StepLabels,
    StepState,
    SupersededValue,
    Trust,
)
from stitch.core.ranking import RankingRule
from stitch.core.retention import RetentionRule
from stitch.errors import StoreError
from stitch.journal import Entry, Revision
from stitch.lifecycle.backup import BackedUp
from stitch.lifecycle.correct import Correction
from stitch.lifecycle.repair import Disagreement, Repaired, Verification
from stitch.lifecycle.retention import Expired, Expiry
from stitch.lifecycle.traces import Proof
from stitch.lm.ledger import Totals
from stitch.retrieve.rank.explain import FilterChange, Why, WhyNot
from stitch.server.api.listing_models import CallTotals, InventoryResponse, StepRow
from stitch.server.api.maintenance_models import (
    BackupResponse,
    CorrectionRow,
    ExpireResponse,
    RevisionRow,
    VerifyResponse,
)
from stitch.server.api.models import Hit, ProofModel, QueryResponse, Ranked, Scored, WhyResponse


def result_of(answer: QueryResponse) -> RetrievalResult:
    """The result of a search."""
    request, chosen = answer.request, answer.intent_filter
    if request is None or chosen is None:
        raise _not_whole()
    return RetrievalResult(
        request=request,
        intent_filter=chosen,
        reasons=answer.reasons,
        hits=tuple(
            ScoredSnippet(
                _present(hit.snippet),
                labels_of(hit.matched),
                hit.parts,
                hit.score,
                hit.relevance,
                *_links(hit),
                embedded=hit.embedded,
            )
            for hit in answer.hits
        ),
        context_text=answer.context,
        context_tokens=answer.context_tokens,
        context_hits=answer.context_hits,
        milliseconds=answer.milliseconds,
        mode=answer.mode,
        rule=RankingRule(tiers=answer.rule.tiers, summed=answer.rule.summed),
        pieces=tuple(
            Piece(each.text, each.snippets, each.steps, each.tokens, each.statement, each.theme)
            for each in answer.pieces
        ),
        trace=tuple(Decision(each.what, each.figures, each.reason) for each in answer.trace),
        relevance=answer.relevance,
    )


def why_of(answer: WhyResponse) -> Why:
    """An explanation that was asked for whole."""
    return Why(
        found=answer.found,
        in_context=answer.in_context,
        state=StepState(answer.state),
        trust=Trust(answer.trust),
        intent_filter=IntentFilter() if answer.intent_filter is None else answer.intent_filter,
        reasons=answer.reasons,
        place=None if answer.ranked is None else why_not_of(answer.ranked),
        sentences=answer.explanation,
    )


def why_not_of(answer: Ranked) -> WhyNot:
    """A place in a ranking that was asked for whole."""
    change = answer.change
    return WhyNot(
        hit=_scored(answer.hit),
        rank=answer.rank,
        ranked=answer.of,
        k=answer.k,
        lacking=tuple(sorted(labels_of(answer.lacking))),
        last=_scored(answer.last),
        lost_by=answer.lost_by or "",
        change=None
        if change is None
        else FilterChange(tuple(sorted(labels_of(change.drop))), tuple(sorted(labels_of(change.add)))),
    )


def labels_of(kinds: Mapping[str, Sequence[str]]) -> frozenset[Label]:
    """Labels that are told by kind."""
    return frozenset(Label(LabelKind(kind), value) for kind, values in kinds.items() for value in values)


def inventory_of(pages: Sequence[InventoryResponse]) -> LabelInventory:
    """The label space of which these are all pages."""
    return LabelInventory(
        scopes=tuple(scope for page in pages for scope in page.scopes),
        event_types={name: count for page in pages for name, count in page.event_types.items()},
        entity_types={name: summary for page in pages for name, summary in page.entity_types.items()},
        merges=tuple(merge for page in pages for merge in page.merges),
        steps=pages[0].steps,
    )


def entry_of(row: StepRow, *, tenant: str) -> Entry:
    """A step as a memory hands it out (`Entry.told`)."""
    return Entry(
        seq=row.position,
        tenant=tenant,
        trajectory=row.trajectory,
        position=row.position,
        step=row.step,
        recorded=row.recorded,
        state=row.state,
        reason=row.reason,
        labels=row.labels,
        retired_at=row.retired_at,
    )


def revision_of(row: RevisionRow) -> Revision:
    """What a step was."""
    labels = None if row.labels is None else StepLabels.model_validate(row.labels)
    return Revision(row.until, row.corrected_by, Step.model_validate(row.step), labels)


def correction_of(row: CorrectionRow) -> Correction:
    """What a person has put right."""
    return Correction(row.trajectory, row.position, row.by, frozenset(row.kinds), row.labels)


def proof_of(model: ProofModel) -> Proof:
    """The proof of an erasure."""
    return Proof(**{name: getattr(model, name) for name in Proof._fields})


def expiry_of(answer: ExpireResponse) -> Expiry:
    """What rules came to."""
    rules = tuple(
        Expired(
            RetentionRule(**{name: getattr(row, name) for name in RetentionRule.model_fields}), row.steps, row.waiting
        )
        for row in answer.rules
    )
    return Expiry(rules, None if answer.proof is None else proof_of(answer.proof), answer.silent_days, answer.to_come)


def verification_of(answer: VerifyResponse, *, repaired: bool) -> Verification | Repaired:
    """What was compared."""
    found = tuple(Disagreement(row.trajectory, row.step, row.what) for row in answer.disagreements)
    if repaired:
        return Repaired(answer.steps, answer.snippets, found, answer.choices)
    return Verification(answer.steps, answer.snippets, found)


def backup_of(answer: BackupResponse) -> BackedUp:
    """What a backup holds."""
    return BackedUp(Path(answer.folder), answer.tenants, answer.steps, answer.megabytes)


def totals_of(model: CallTotals) -> Totals:
    """What calls of a model came to."""
    return Totals(**{name: getattr(model, name) for name in Totals.model_fields})


def _scored(model: Scored | None) -> ScoredSnippet:
    if model is None:
        raise _not_whole()
    return ScoredSnippet(model.snippet, labels_of(model.matched), model.parts, model.score, None, *_links(model))


def _links(model: Hit | Scored) -> tuple[tuple[SupersededValue, ...], Cause | None]:
    """What ties a hit to other steps."""
    values = tuple(SupersededValue(**dict(each)) for each in model.superseded)
    return values, None if model.because_of is None else Cause(**dict(model.because_of))


def _present(snippet: MemorySnippet | None) -> MemorySnippet:
    if snippet is None:
        raise _not_whole()
    return snippet


def _not_whole() -> StoreError:
    return StoreError("the answer is not whole", hint="use the same version of this library on both sides")
