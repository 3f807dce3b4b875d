"""A step put right: its text, its labels, its references; what it was is kept, for whoever learns from it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from pydantic import JsonValue, ValidationError

from stitch.core import (
    ContextualIntent,
    LabelKind,
    ReferenceRewrite,
    Step,
    StepCorrected,
    StepLabels,
    StepState,
    clean_text,
)
from stitch.errors import InputError, some_of
from stitch.ingest.ingestor import Ingestor
from stitch.ingest.state import BATCH_STEPS, chunks
from stitch.journal import Journal, Revision
from stitch.journal.entries import Entry, encode_step

PERSON = "person"
"""Made the labels that were corrected by hand, unless a name is given."""


def correct(
    ingestor: Ingestor,
    *,
    tenant: str,
    trajectory: str,
    step: str,
    at: float,
    by: str = PERSON,
    text: str | None = None,
    labels: Mapping[str, Any] | None = None,
    references: Sequence[ReferenceRewrite] | None = None,
    asks: Sequence[str] | None = None,
    metadata: Mapping[str, JsonValue] | None = None,
    timestamp: float | str | None = None,
) -> None:
    """Replace the text, labels, references, asks, metadata or time of a step; see `Lifecycle.correct`.

    With another text, references, summary and asks of the old one go; a source that gives the step as it was changes
    nothing. What is empty takes all away, what is None leaves it. `by` goes into `StepLabels.made_by`. What a step is
    already is not stored again.
    """
    if not labels and all(given is None for given in (text, references, asks, metadata, timestamp)):
        raise InputError("nothing to correct is given", hint="give a text, labels of some kind, references or asks")
    if unknown := sorted(set(labels or ()) - set(ContextualIntent.model_fields)):
        raise InputError(
            f"a step has no labels of the kind {some_of(unknown)}",
            hint=f"the kinds are {', '.join(ContextualIntent.model_fields)}",
        )
    secrets = ingestor.secrets
    by = clean_text(secrets.clean(by))
    correction = _Correction(
        of=step,
        by=by,
        text=None if text is None else clean_text(secrets.clean(text)),
        labels=secrets.clean(dict(labels)) if labels else None,
        references=references,
        asks=None if asks is None else tuple(map(clean_text, map(secrets.clean, asks))),
        metadata=None if metadata is None else secrets.clean(dict(metadata)),
        timestamp=timestamp,
    )

    def corrected() -> tuple[Entry, Step, StepLabels | None]:
        """The step as it is now, and what it is to be."""
        entry = _entry(ingestor.journal, tenant, trajectory, step)
        if entry.state is StepState.RETIRED:
            raise InputError(f"step {step!r} of trajectory {trajectory!r} is retired")
        if correction.of_labels and entry.labels is None:
            raise InputError(f"step {step!r} of trajectory {trajectory!r} waits for its labels", hint="stitch retry")
        given = correction.beyond(entry.step)
        right = given.step(entry.step)
        made = entry.labels and given.made(entry.labels)
        encode_step(right, max_chars=ingestor.journal.max_step_chars)  # refuses what cannot be written
        return entry, right, made

    # What is refused need not wait; asked again then, for others may have changed it meanwhile.
    entry, right, made = corrected()
    if (right, made) == (entry.step, entry.labels):
        return
    ingestor.correct(tenant, trajectory, corrected=corrected, at=at, by=by)
    ingestor.notice(StepCorrected(tenant=tenant, trajectory=trajectory, step=step, by=by))


@dataclass(frozen=True)
class _Correction:
    """Corrected fields of a step, without secrets; None of what stays."""

    of: str
    by: str
    text: str | None
    labels: dict[str, Any] | None
    references: Sequence[ReferenceRewrite] | None
    asks: tuple[str, ...] | None
    metadata: Mapping[str, JsonValue] | None
    timestamp: float | str | None

    @property
    def of_labels(self) -> bool:
        """Whether it is of what was read out of the step, and not of the step alone."""
        return bool(self.labels) or (self.references, self.asks) != (None, None)

    def beyond(self, step: Step) -> _Correction:
        """The same without a text that the step has already."""
        return self if self.text != step.content else replace(self, text=None)

    def step(self, step: Step) -> Step:
        """The step as it is to be."""
        changed = {"content": self.text, "metadata": self.metadata, "timestamp": self.timestamp}
        return step.model_copy(update={name: value for name, value in changed.items() if value is not None})

    def made(self, made: StepLabels) -> StepLabels:
        """The corrected labels; with another text, what was read out of the old one goes.

        Raises:
            InputError: No reference is undone.
        """
        if self.text is not None:
            made = made.model_copy(update={"references": (), "mentions": (), "summary": "", "asks": ()})
        if self.labels:
            try:
                intent = ContextualIntent.model_validate({**made.intent.model_dump(), **self.labels})
            except ValidationError as error:
                first = error.errors(include_url=False, include_input=False)[0]
                kind = ".".join(map(str, first["loc"]))
                raise InputError(f"labels of the kind {kind!r} of step {self.of!r}: {first['msg'].lower()}") from None
            made = made.model_copy(update={"intent": intent, "made_by": self.by})
        if self.references is not None:
            kept = tuple(each for each in made.references if each in self.references)
            if self.text is None and kept == made.references:
                raise InputError(f"no reference of step {self.of!r} is undone", hint="`stitch show --steps` lists them")
            made = made.model_copy(update={"references": kept, "made_by": self.by})
        if self.asks is not None:  # validated, for there is a bound to them
            made = StepLabels.model_validate({**dict(made), "asks": self.asks, "made_by": self.by})
        return made


def history(journal: Journal, *, tenant: str, trajectory: str, step: str) -> list[Revision]:
    """Earlier revisions of a step, one before each of its corrections, oldest first."""
    seq = _entry(journal, tenant, trajectory, step).seq
    return journal.revisions([seq]).get(seq, [])


def _entry(journal: Journal, tenant: str, trajectory: str, step: str) -> Entry:
    entry = journal.entry(tenant, trajectory, step)
    if entry is None:
        raise InputError(f"no step {step!r} in trajectory {trajectory!r}", hint="`stitch show --steps` lists the steps")
    return entry


class Correction(NamedTuple):
    """The labels of a step that a person has put right."""

    trajectory: str
    position: int
    by: str
    kinds: frozenset[LabelKind]
    """Which kinds of labels were changed; the others the person let stand, and may not have looked at."""
    labels: StepLabels


def corrections(journal: Journal, *, tenant: str) -> Iterator[Correction]:
    """Yield the steps of a tenant whose labels a person has changed, as they are now, in the order of acceptance."""
    correctors = journal.correctors(tenant)
    for chunk in chunks(sorted({seq for seq, _ in correctors}), BATCH_STEPS):
        past = journal.revisions(chunk)
        for entry in journal.entries_of(chunk):
            right, wrong = entry.labels, past[entry.seq][0].labels
            # A model that corrects a step goes by another name there than on the labels that it makes.
            if right is None or wrong is None or (entry.seq, right.made_by) not in correctors:
                continue
            kinds = frozenset(kind for kind in LabelKind if right.intent.of(kind) != wrong.intent.of(kind))
            if kinds:
                yield Correction(entry.trajectory, entry.position, right.made_by, kinds, right)
