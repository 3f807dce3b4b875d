"""Storing of an input, the report on it, and what labeling it with a model would cost."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from hashlib import blake2b
from itertools import groupby
from math import ceil
from typing import TYPE_CHECKING, Any

import orjson
from pydantic import BaseModel

from stitch.core import Receipt, Rejection, SourcedStep, Step, StepState
from stitch.errors import ModelError, StepConflictError, StepRejectedError, StitchError, StoreError
from stitch.sources import READ_AS, not_read

if TYPE_CHECKING:
    from stitch.memory import Memory

_SAID_BYTES = 6
Batch = tuple[str, list[SourcedStep]]
"""A trajectory, and steps of it."""


class IngestReport(BaseModel):
    """Counts of the steps of an input by what became of them."""

    trajectories: int = 0
    steps: int = 0
    """Steps read and accepted, those known already included."""
    stored: int = 0
    """Steps that are now in the store by their labels, those known already included."""
    failed: int = 0
    retired: int = 0
    """Steps known already that were taken out of retrieval, and stay so."""
    waiting: int = 0
    """Steps that wait in the journal for a store that cannot be reached, or for their vectors; who opens the memory
    next goes on with them."""
    rejected: int = 0
    not_read: dict[str, int] = {}  # pydantic copies it
    """Lengths of lists, by their names, that are kept as metadata of a trajectory because others are its steps."""
    placeholders: int = 0
    """Messages of chats that say nothing but that a program left something out, as media, or that was deleted."""
    not_utf8: int = 0
    """Steps of texts that are no UTF-8, and were read as Windows-1252."""
    repeated: int = 0
    """Steps that were in the memory already; they are as they were."""
    erased: int = 0
    """Steps that were erased before; they are not taken in, and not among `steps`."""
    model_calls: int = 0
    model_tokens: int = 0
    """Of prompts and replies."""
    model_cost_usd: float | None = None
    """None if the price of the model is not known."""
    fallback_steps: int = 0
    """Steps that a model should have labeled and that have local labels instead."""
    fallback_reason: str = ""
    """The reason of the first of them."""
    statements_failure: str = ""
    """The reason why a model did not read all steps for statements; those that it did not read speak for themselves."""
    repeated_with_other_labels: int = 0
    """Steps known already whose labels are not those of the model that is to label."""
    redacted: dict[str, int] = {}  # pydantic copies it
    """Numbers of secrets of each kind that were taken out before anything was written."""
    seconds: float = 0.0
    labels: dict[str, int] = {}  # pydantic copies it
    """Numbers of labels of each kind that the trajectories of the input have."""

    @property
    def exit_status(self) -> int:
        """Exit status of the command: 1 if steps failed, 6 if a model labeled nothing, 5 if some wait, 3 if some were
        rejected.
        """
        new = self.steps - self.repeated
        if self.failed:
            return StitchError.exit_code
        if self.fallback_steps and self.fallback_steps >= new:
            return ModelError.exit_code
        if self.waiting:
            return StoreError.exit_code
        return StepRejectedError.exit_code if self.rejected else 0


class Intake:
    """Stores the steps of an input, trajectory by trajectory, and counts in a report what becomes of them.

    With `again` steps that were erased are taken in again. `on_progress` is told the number of steps just taken in.
    """

    def __init__(
        self,
        memory: Memory,
        *,
        report: IngestReport | None,
        again: bool,
        on_rejection: Callable[[Rejection], None],
        on_progress: Callable[[int], None],
    ) -> None:
        self.kept = 0
        """Number of steps that were kept."""
        self.to_label: dict[str, int] = {}
        """The trajectories with new steps that a model labels, or that wait for the store or their vectors, each with
        the position of the first of them.
        """
        self._memory = memory
        self._report = report or IngestReport()
        self._again = again
        self._on_rejection = on_rejection
        self._on_progress = on_progress
        self._waiting: dict[str, list[SourcedStep]] = {}
        self._awaits_store = False
        self._seen: set[str] = set()
        self._repeated: dict[str, set[int]] = {}
        """The positions of the steps of each trajectory that were known already."""
        self._said: dict[tuple[str, str], bytes | None] = {}
        """By file and trajectory, a digest of all that was said; None where the numbers of the file are its own."""
        self._started = time.perf_counter()

    def keep(self, item: SourcedStep) -> int:
        """Buffer a step until it is stored; return the number buffered of its trajectory."""
        waiting = self._waiting.setdefault(item.trajectory, [])
        waiting.append(item)
        self.kept += 1
        self._report.placeholders += item.placeholders
        self._report.not_utf8 += READ_AS in item.step.metadata
        for name, count in not_read(item.step).items():
            self._report.not_read[name] = self._report.not_read.get(name, 0) + count
        return len(waiting)

    def store(self, trajectory: str) -> None:
        """Store the steps of one trajectory that wait."""
        batch = (trajectory, self._waiting.pop(trajectory))
        self._count(batch, self._add(batch))

    def store_all(self, each: Callable[[Callable[[Batch], Any], Iterable[Batch]], Iterable[Any]]) -> None:
        """Store all steps that wait; `each` is `map`, or another that works on several trajectories side by side."""
        batches = list(self._waiting.items())
        self._waiting.clear()
        for batch, results in zip(batches, each(self._add, batches), strict=True):
            self._count(batch, results)

    def reject(self, rejection: Rejection) -> None:
        """Pass on what is rejected."""
        self._report.rejected += 1
        self._on_rejection(rejection)

    def finish(self, *, on_vectors: Callable[[int], None] = lambda steps: None) -> IngestReport:
        """Count what became of the steps that a model was to label, now that none of them waits, and all labels.

        Steps whose vectors follow are counted to `on_vectors` before these are waited for.
        """
        following = self._memory.status().without_vectors if self._awaits_store or self._memory.uses_model else 0
        if following:
            on_vectors(following)
        self._memory.flush()  # the store may be back, and a model may have to say what steps assert
        self._report.statements_failure = self._memory.statements_failure
        _count_new(self._memory, self.to_label, self._report)
        if self._memory.uses_model:
            self._report.repeated_with_other_labels = _count_other_labels(self._memory, self._repeated)
        self._report.labels = _count_labels(self._memory, self._seen)
        self._report.seconds = round(time.perf_counter() - self._started, 3)
        return self._report

    def _add(self, batch: Batch) -> list[Receipt | StepRejectedError]:
        trajectory, items = batch
        results: list[Receipt | StepRejectedError] = []
        for _, own in groupby(items, key=lambda item: item.source):  # the numbers of a file are looked up in the memory
            steps = [(item, self._told_apart(item) if item.numbered else item.step) for item in own]
            added = self._memory.add_each([step for _, step in steps], trajectory=trajectory, again=self._again)
            results += [self._read_better(step, error=result, trajectory=trajectory)
                        if item.numbered and isinstance(result, StepConflictError) else result
                        for (item, step), result in zip(steps, added, strict=True)]  # fmt: skip
        return results

    def _read_better(self, step: Step, *, error: StepConflictError, trajectory: str) -> Receipt | StepRejectedError:
        """The receipt of a known step of which only the time is read otherwise, which it has now; else the error.

        As a chat grows, it shows which number of its times is the month.
        """
        known = self._memory.get(trajectory, str(step.id))
        if known is None or not isinstance(known.step.timestamp, str) or not isinstance(step.timestamp, str):
            return error
        past = self._memory.lifecycle.history(str(step.id), trajectory=trajectory)
        as_accepted = past[0].step.timestamp if past else known.step.timestamp
        before = step.model_copy(update={"timestamp": as_accepted})
        [result] = self._memory.add_each([before], trajectory=trajectory, again=self._again)
        if isinstance(result, Receipt) and step.timestamp != known.step.timestamp:
            self._memory.lifecycle.correct(str(step.id), trajectory=trajectory, timestamp=step.timestamp, by="source")
        return result

    def _told_apart(self, item: SourcedStep) -> Step:
        """A step that its file numbers; with a digest of all before it, if another file began the trajectory."""
        place = (item.source, item.trajectory)
        if place not in self._said:
            self._said[place] = b"" if self._is_taken(item) else None
        if (before := self._said[place]) is None:
            return item.step
        said = self._said[place] = blake2b(before + item.step.content.encode(), digest_size=_SAID_BYTES).digest()
        return item.step.model_copy(update={"id": f"{item.step.id}-{said.hex()}"})

    def _is_taken(self, item: SourcedStep) -> bool:
        """Whether the number of a step is that of another, which says something else."""
        known = self._memory.get(item.trajectory, str(item.step.id))
        if known is None or known.step.content == item.step.content:
            return False
        [result] = self._memory.add_each([item.step], trajectory=item.trajectory, again=self._again)
        return isinstance(result, StepConflictError)  # and not one whose secrets were taken out, or that was corrected

    def _count(self, batch: Batch, results: Sequence[Receipt | StepRejectedError]) -> None:
        trajectory, items = batch
        self._seen.add(trajectory)
        for item, result in zip(items, results, strict=True):
            if isinstance(result, StepRejectedError):
                self.reject(_rejection(item, result))
            elif result.state is StepState.ERASED:
                self._report.erased += 1
            else:
                self._count_accepted(trajectory, result)
        self._report.trajectories = len(self._seen)
        self._report.seconds = round(time.perf_counter() - self._started, 3)
        self._on_progress(len(items))

    def _count_accepted(self, trajectory: str, receipt: Receipt) -> None:
        report = self._report
        report.steps += 1
        if receipt.repeated:
            report.repeated += 1
            self._repeated.setdefault(trajectory, set()).add(receipt.position)
        else:
            for taken in receipt.redacted:
                report.redacted[taken.kind] = report.redacted.get(taken.kind, 0) + taken.count
        awaits_store = not receipt.repeated and receipt.state is StepState.LABELED
        self._awaits_store |= awaits_store
        if not receipt.repeated and (self._memory.uses_model or awaits_store or trajectory in self.to_label):
            self.to_label.setdefault(trajectory, receipt.position)
        else:
            report.stored += receipt.state is StepState.STORED
            report.failed += receipt.state is StepState.FAILED
            report.retired += receipt.state is StepState.RETIRED


def _rejection(item: SourcedStep, error: StepRejectedError) -> Rejection:
    """A rejection that holds the whole step in the generic form, with the id that it was given."""
    record = {"trajectory": item.trajectory, **item.step.model_dump(mode="json", exclude_defaults=True)}
    return Rejection(
        source=item.source,
        line=item.line,
        reason=error.message,
        text=item.step.content[:200],
        record=orjson.dumps(record).decode(),
    )


def _count_new(memory: Memory, new: dict[str, int], report: IngestReport) -> None:
    """Count what became of steps that were to be labeled or put, those from a position on."""
    for trajectory, first in new.items():
        for entry in memory.steps(trajectory):
            if entry.position >= first:
                report.stored += entry.state is StepState.STORED
                report.failed += entry.state is StepState.FAILED
                report.waiting += entry.state is StepState.LABELED
                if entry.labels is not None and entry.labels.made_by != memory.labeler:
                    report.fallback_steps += 1
                    report.fallback_reason = report.fallback_reason or entry.labels.reason or "it was not asked"
    spent = memory.ledger.labeling()
    report.model_calls, report.model_tokens, report.model_cost_usd = spent.calls, spent.tokens, spent.cost_usd


def _count_other_labels(memory: Memory, known: dict[str, set[int]]) -> int:
    """Number of known steps, given by position, whose labels another labeler made."""
    return sum(
        entry.position in positions and entry.labels is not None and entry.labels.made_by != memory.labeler
        for trajectory, positions in known.items()
        for entry in memory.steps(trajectory)
    )


def _count_labels(memory: Memory, trajectories: Iterable[str]) -> dict[str, int]:
    scopes, events, entities = 0, set[str](), set[str]()
    for trajectory in trajectories:
        inventory = memory.inventory(trajectory)
        scopes += len(inventory.scopes)
        events.update(inventory.event_types)
        entities.update(inventory.entity_types)
    return {"scope": scopes, "event_type": len(events), "entity_type": len(entities)}


class LabelingEstimate(BaseModel):
    """Estimated costs of labeling some input with a model."""

    trajectories: int
    steps: int
    model_calls: int
    model_tokens: int
    model_cost_usd: float | None = None
    """None if the price of the model is not known."""
    statement_calls: int = 0
    """So many calls at most read what steps assert, beside those; none of them for steps that assert nothing."""


def estimate(
    items: Iterable[SourcedStep | Rejection], *, config: str | None = None, **settings: Any
) -> LabelingEstimate:
    """Say what labeling will cost by the settings; nothing is stored and no model is called."""
    from stitch.config import load_settings
    from stitch.label.model.stepwise import StepwiseLabeler
    from stitch.label.model.windowed import WindowedLabeler
    from stitch.parts import labeler_for
    from stitch.themes.asking import WINDOW_STEPS

    labeler = labeler_for(config=config, **settings)
    trajectories: dict[str, list[Step]] = {}
    for item in items:
        if not isinstance(item, Rejection):
            trajectories.setdefault(item.trajectory, []).append(item.step)
    calls = asked = told = 0
    price = None
    if isinstance(labeler, StepwiseLabeler | WindowedLabeler):
        price = labeler.model.price
        for steps in trajectories.values():
            cost = labeler.estimate(steps)
            calls, asked, told = calls + cost.calls, asked + cost.prompt_tokens, told + cost.reply_tokens
    reads = load_settings(config=config, **settings).settings.statements == "model"
    return LabelingEstimate(
        trajectories=len(trajectories),
        steps=sum(map(len, trajectories.values())),
        model_calls=calls,
        model_tokens=asked + told,
        model_cost_usd=None if price is None else round(price.of(asked, told), 6),
        statement_calls=sum(ceil(len(steps) / WINDOW_STEPS) for steps in trajectories.values()) if reads else 0,
    )
