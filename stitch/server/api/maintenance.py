"""What is done with steps that are there: corrected, retained, copied, compared, made anew."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import TYPE_CHECKING

from stitch.errors import InputError
from stitch.server.api.forgetting import proof_of
from stitch.server.api.listing import part_of
from stitch.server.api.maintenance_models import (
    BackupRequest,
    BackupResponse,
    CorrectionRow,
    CorrectRequest,
    CorrectResponse,
    DisagreementRow,
    ExpiredRow,
    ExpireRequest,
    ExpireResponse,
    ExportLine,
    ExportRequest,
    HistoryRequest,
    HistoryResponse,
    ImportRequest,
    ImportResponse,
    ReindexResponse,
    RelabelResponse,
    RevisionRow,
    VerifyRequest,
    VerifyResponse,
)
from stitch.server.api.models import Nothing
from stitch.server.api.naming import known_trajectory, trajectory_of

if TYPE_CHECKING:
    from stitch.core import ReferenceRewrite
    from stitch.memory import Memory


def correct(memory: Memory, request: CorrectRequest) -> CorrectResponse:
    """Replace the text or labels of a step, or undo references; what it was stays in its history."""
    step = request.step
    trajectory = known_trajectory(memory, request.trajectory) or trajectory_of(step, memory)
    references = request.references
    if request.undo:
        references = _kept(request.undo, step, trajectory=trajectory, memory=memory)
    memory.lifecycle.correct(
        step,
        trajectory=trajectory,
        text=request.text,
        labels=request.labels,
        references=references,
        asks=request.asks,
        metadata=request.metadata,
        by=request.by,
    )
    revisions = memory.lifecycle.history(step, trajectory=trajectory)
    return CorrectResponse(step=step, trajectory=trajectory, revisions=len(revisions))


def _kept(undone: Collection[str], step: str, *, trajectory: str, memory: Memory) -> list[ReferenceRewrite]:
    """The references of a step but for those undone, which are named by their places from 1, or all at once.

    Raises:
        InputError: The step has no reference of such a number.
    """
    labels = next((entry.labels for entry in memory.steps(trajectory) if entry.id == step), None)
    known = {str(number): reference for number, reference in enumerate(labels.references if labels else (), 1)}
    for name in undone:
        if name not in known and name != "all":
            raise InputError(
                f"step {step!r} has no reference {name!r}: it has {len(known)}", hint="`stitch show --steps` lists them"
            )
    return [] if "all" in undone else [reference for name, reference in known.items() if name not in undone]


def history(memory: Memory, request: HistoryRequest) -> HistoryResponse:
    """Tell what a step was before each of its corrections, oldest first."""
    trajectory = known_trajectory(memory, request.trajectory) or trajectory_of(request.step, memory)
    numbered = list(enumerate(memory.lifecycle.history(request.step, trajectory=trajectory), 1))
    page, following = part_of(numbered, request, name=lambda each: str(each[0]))
    return HistoryResponse(
        step=request.step,
        trajectory=trajectory,
        revisions=tuple(
            RevisionRow(
                until=each.replaced,
                corrected_by=each.by,
                step=each.step.model_dump(mode="json", exclude_defaults=True),
                labels=each.labels and each.labels.model_dump(mode="json", exclude_defaults=True),
            )
            for _, each in page
        ),
        **following,
    )


def corrections(memory: Memory, request: Nothing) -> Iterator[CorrectionRow]:
    """Tell the steps whose labels a person has put right, in the order of acceptance."""
    for each in memory.lifecycle.corrections():
        yield CorrectionRow.made_of(each, kinds=tuple(sorted(each.kinds)))


def expire(memory: Memory, request: ExpireRequest) -> ExpireResponse:
    """Retire or erase what is older than it may be."""
    expiry = memory.lifecycle.expire(
        request.rules, now=request.now, dry_run=request.dry_run, trust_clock=request.trust_clock
    )
    return ExpireResponse(
        rules=tuple(
            ExpiredRow(**each.rule.model_dump(), steps=each.steps, waiting=each.waiting) for each in expiry.rules
        ),
        dry_run=request.dry_run,
        proof=expiry.proof and proof_of(expiry.proof),
        silent_days=expiry.silent_days,
        to_come=expiry.to_come,
    )


def export(memory: Memory, request: ExportRequest) -> Iterator[ExportLine]:
    """Give all of a memory, or one trajectory, as lines that another memory takes in."""
    for line in memory.lifecycle.export(trajectory=request.trajectory):
        yield ExportLine(line=line)


def take_in(memory: Memory, request: ImportRequest, lines: Iterable[str | bytes]) -> ImportResponse:
    """Take in the lines of an export, without loss; what is there already is left alone."""
    imported = memory.lifecycle.import_lines(lines, source=request.source, again=request.again)
    return ImportResponse.made_of(imported)


def backup(memory: Memory, request: BackupRequest) -> BackupResponse:
    """Copy the memory while it is in use."""
    made = memory.lifecycle.backup(request.to)
    return BackupResponse.made_of(made, folder=str(made.folder))


def verify(memory: Memory, request: VerifyRequest) -> VerifyResponse:
    """Compare journal, store and labels, and name each thing that does not agree."""
    found = memory.lifecycle.verify(repair=request.repair)
    rows = tuple(map(DisagreementRow.made_of, found.disagreements))
    return VerifyResponse(**{**found._asdict(), "disagreements": rows})


def reindex(memory: Memory, request: Nothing) -> ReindexResponse:
    """Build the store anew from the journal, for all tenants, while it serves."""
    written = memory.lifecycle.reindex()
    status = memory.status()
    return ReindexResponse(snippets=status.snippets, written=written, embedder=status.embedder)


def relabel(memory: Memory, request: Nothing) -> RelabelResponse:
    """Let the labeler of the settings make the labels that another has made."""
    return RelabelResponse.made_of(memory.lifecycle.relabel())
