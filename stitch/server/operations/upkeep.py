"""Upkeep of steps that are there: corrected, forgotten, copied, compared, labeled elsewhere, made anew."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal

from stitch.core import LabelVocabulary, ReferenceRewrite
from stitch.core.retention import RetentionRule
from stitch.core.steps import Name
from stitch.errors import InputError
from stitch.journal import Revision
from stitch.journal.entries import retirements
from stitch.lifecycle.backup import BackedUp
from stitch.lifecycle.correct import PERSON, Correction
from stitch.lifecycle.lifecycle import Lifecycle
from stitch.lifecycle.relabel import Relabeled
from stitch.lifecycle.repair import Repaired
from stitch.lifecycle.selection import Selector
from stitch.lifecycle.traces import Proof
from stitch.lifecycle.transfer import Imported
from stitch.memory import Memory
from stitch.server.operations.answers import Answer, Limit, Page, find_step, gathered, known_trajectory, page
from stitch.server.operations.operation import operation


class Corrected(Answer):
    """Receipt of a correction."""

    step: str
    trajectory: str
    revisions: int
    """Number of earlier versions kept."""


@operation("POST", "/v1/correct", "write", takes=Lifecycle.correct)
def correct(
    memory: Memory, *, step: str, trajectory: Name | None = None, undo: Sequence[str] = (), **right: Any
) -> Corrected:
    """Replace the text or labels of a step; what it was stays in its history.

    See `Lifecycle.correct`. `undo` names references by their numbers in the timeline, or says `all`.
    """
    meant = find_step(memory, step, trajectory=trajectory)
    step, trajectory = meant.step, meant.trajectory
    if undo:
        right["references"] = _kept(undo, step, trajectory=trajectory, memory=memory)
    memory.lifecycle.correct(step, trajectory=trajectory, **right)
    revisions = len(memory.lifecycle.history(step, trajectory=trajectory))
    return Corrected(step=step, trajectory=trajectory, revisions=revisions)


def _kept(undone: Collection[str], step: str, *, trajectory: str, memory: Memory) -> list[ReferenceRewrite]:
    """The references of a step but for those undone, which are named by their places from 1, or all at once.

    Raises:
        InputError: The step has no reference of such a number.
    """
    entry = memory.get(trajectory, step)
    labels = None if entry is None else entry.labels
    known = {str(number): reference for number, reference in enumerate(labels.references if labels else (), 1)}
    for name in undone:
        if name not in known and name != "all":
            raise InputError(
                f"step {step!r} has no reference {name!r}: it has {len(known)}", hint="`stitch show --steps` lists them"
            )
    return [] if "all" in undone else [reference for name, reference in known.items() if name not in undone]


class RevisionRow(Answer):
    """A step before it was corrected, or put back after it was retired."""

    until: float
    """In Unix seconds."""
    corrected_by: str
    retired_at: float | None
    """Since when it was retired, where it was and was put back then, in Unix seconds."""
    step: Mapping[str, Any]
    labels: Mapping[str, Any] | None


class History(Page):
    """Earlier versions of a step, oldest first."""

    step: str
    trajectory: str
    revisions: tuple[RevisionRow, ...]


@operation("GET", "/v1/history", "read")
def history(
    memory: Memory, *, step: str, trajectory: Name | None = None, limit: Limit | None = None, after: str | None = None
) -> History:
    """Tell what a step was before each of its corrections, and when it was retired and put back, oldest first."""
    meant = find_step(memory, step, trajectory=trajectory)
    revisions = memory.lifecycle.history(meant.step, trajectory=meant.trajectory)
    retired = retirements(revisions)
    told = [(place, each) for place, each in enumerate(revisions) if place + 1 not in retired]  # or it is told twice
    about = {"step": meant.step, "trajectory": meant.trajectory}
    vocabulary = memory.inventory(meant.trajectory).vocabulary()
    return page(
        History, told, limit=limit, after=after, name=lambda each: str(each[0]), **about,
        row=lambda each: _row(each[1], vocabulary, retired_at=retired[each[0]][0] if each[0] in retired else None),
    )  # fmt: skip


def _row(revision: Revision, vocabulary: LabelVocabulary, *, retired_at: float | None) -> RevisionRow:
    labels = revision.labels
    if labels is not None:  # as they read now, in the same words as those of today
        labels = labels.model_copy(update={"intent": vocabulary.canonical_intent(labels.intent)})
    return RevisionRow(
        until=revision.replaced,
        corrected_by=revision.by,
        retired_at=retired_at,
        step=revision.step.model_dump(mode="json", exclude_defaults=True),
        labels=labels and labels.model_dump(mode="json", exclude_defaults=True),
    )


@operation("GET", "/v1/corrections", "read")
def corrections(memory: Memory) -> Iterator[Correction]:
    """Tell the steps whose labels a person has put right."""
    return memory.lifecycle.corrections()


class Forgotten(Answer):
    """The number of steps that were forgotten or put back, or would be."""

    steps: int
    trajectories: int | None = None
    """Of what was erased."""
    dry_run: bool
    meant: Mapping[str, int] | None = None
    """The numbers of steps by trajectory, of a dry run."""
    proof: Proof | None = None
    """Of what was erased, that it is gone."""


@operation("POST", "/v1/forget", "forget", takes=Selector)
def forget(
    memory: Memory,
    *,
    action: Literal["erase", "retire", "unretire"] = "erase",
    dry_run: bool = False,
    reason: str = "",
    by: Name = PERSON,
    trust_clock: bool = False,
    missing_ok: bool = False,
    **meant: Any,
) -> Forgotten:
    """Erase steps everywhere with proof, or take them out of retrieval, or put retired ones back; or only count them.

    Those are meant to which everything applies that is given; see `Selector`. With `missing_ok` a trajectory or step
    that is not there is nothing to forget, and no error.
    """
    selector = Selector(**meant)
    trajectory, step = selector.trajectory, selector.step
    if not missing_ok:
        known_trajectory(memory, trajectory)
        if trajectory is not None and step is not None and memory.get(trajectory, step) is None:
            near = next((entry.id for entry in memory.steps(trajectory) if str(entry.position) == step), None)
            hint = "`stitch show --steps` lists the steps" if near is None else f"do you mean {near!r}, its whole id?"
            raise InputError(f"no step {step!r} in trajectory {trajectory!r}", hint=hint)
    lifecycle = memory.lifecycle
    if dry_run:
        counts = lifecycle.counts(selector)
        return Forgotten(steps=sum(counts.values()), meant=counts, dry_run=dry_run)
    if action == "unretire":
        return Forgotten(steps=lifecycle.unretire(selector, by=by), dry_run=dry_run)
    if action == "retire":
        return Forgotten(steps=lifecycle.retire(selector, reason=reason, trust_clock=trust_clock), dry_run=dry_run)
    return gathered(Forgotten, lifecycle.erase(selector, trust_clock=trust_clock), dry_run=dry_run)


class ExpiredRow(RetentionRule):
    """The outcome of a rule."""

    steps: int
    waiting: int
    """Number of further steps that it would retire if they had labels."""


class Expired(Answer):
    """The outcome of all rules; see `Expiry`."""

    rules: tuple[ExpiredRow, ...]
    dry_run: bool
    proof: Proof | None
    """Of what was erased, that it is gone."""
    silent_days: int
    to_come: int


@operation("POST", "/v1/expire", "forget", takes=Lifecycle.expire)
def expire(memory: Memory, *, dry_run: bool = False, **options: Any) -> Expired:
    """Retire or erase what is older than it may be, by the rules of the settings if there are none here."""
    expiry = memory.lifecycle.expire(dry_run=dry_run, **options)
    rows = tuple(gathered(ExpiredRow, each, **each.rule.model_dump()) for each in expiry.rules)
    return gathered(Expired, expiry, rules=rows, dry_run=dry_run)


@operation("GET", "/v1/export", "read")
def export(memory: Memory, *, trajectory: Name | None = None) -> Iterator[str]:
    """Give all of a memory, or one trajectory, as lines that another memory takes in."""
    return memory.lifecycle.export(trajectory=trajectory)


@operation("POST", "/v1/import", "write")
def import_(memory: Memory, lines: Iterable[str | bytes], *, source: str = "-", again: bool = False) -> Imported:
    """Take in the lines of an export, without loss; what is there already is left alone."""
    return memory.lifecycle.import_lines(lines, source=source, again=again)


@operation("POST", "/v1/backup", "admin")
def backup(memory: Memory, *, to: str) -> BackedUp:
    """Copy the memory into a folder of its machine while it is in use; the folder is empty or not there."""
    return memory.lifecycle.backup(to)


@operation("POST", "/v1/verify", "admin")
def verify(memory: Memory, *, repair: bool = False) -> Repaired:
    """Compare journal, store and labels, and name each thing that does not agree; repair it if that is asked for."""
    return Repaired(*memory.lifecycle.verify(repair=repair))


class Reindexed(Answer):
    """The content of a store that was built anew."""

    snippets: int
    written: int
    embedder: str


@operation("POST", "/v1/reindex", "admin")
def reindex(memory: Memory) -> Reindexed:
    """Build the store anew from the journal, for all tenants, while it serves."""
    made = memory.lifecycle.reindex()
    status = memory.status()
    return Reindexed(snippets=status.snippets, written=made, embedder=status.embedder)


@operation("POST", "/v1/relabel", "admin")
def relabel(memory: Memory) -> Relabeled:
    """Replace labels of other labelers by those of the labeler of the settings."""
    return memory.lifecycle.relabel()
