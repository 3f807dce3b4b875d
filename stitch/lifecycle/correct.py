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
from stitch.ingest.redact import Redactor
from stitch.ingest.state import BATCH_STEPS, chunks
from stitch.journal import Journal, Revision
from stitch.journal.entries import Entry, encode_step

PERSON = "person"
"""Made the labels that were corrected by hand, unless a name is given."""


@dataclass(frozen=True, kw_only=True)
class Changes:
    """Corrected fields of a step: what is empty takes all away, what is None leaves it."""

    text: str | None = None
    labels: Mapping[str, Any] | None = None
    references: Sequence[ReferenceRewrite] | None = None
    asks: Sequence[str] | None = None
    metadata: Mapping[str, JsonValue] | None = None
    timestamp: float | str | None = None

    @property
    def of_labels(self) -> bool:
        """Whether it is of what was read out of the step, and not of the step alone."""
        return bool(self.labels) or (self.references, self.asks) != (None, None)

    def without_secrets(self, secrets: Redactor) -> Changes:
        """The same as it may be written."""
        return replace(
            self,
            text=None if self.text is None else clean_text(secrets.clean(self.text)),
            labels=secrets.clean(dict(self.labels)) if self.labels else None,
            asks=None if self.asks is None else tuple(map(clean_text, map(secrets.clean, self.asks))),
            metadata=None if self.metadata is None else secrets.clean(dict(self.metadata)),
        )

    def beyond(self, step: Step) -> Changes:
        """The same without a text that the step has already."""
        return self if self.text != step.content else replace(self, text=None)

    def step(self, step: Step) -> Step:
        """The step as it is to be."""
        changed = {"content": self.text, "metadata": self.metadata, "timestamp": self.timestamp}
        return step.model_copy(update={name: value for name, value in changed.items() if value is not None})

    def made(self, made: StepLabels, *, of: str, by: str) -> StepLabels:
        """The corrected labels of a step; with another text, what was read out of the old one goes.

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
                raise InputError(f"labels of the kind {kind!r} of step {of!r}: {first['msg'].lower()}") from None
            made = made.model_copy(update={"intent": intent, "made_by": by})
        if self.references is not None:
            kept = tuple(each for each in made.references if each in self.references)
            if self.text is None and kept == made.references:
                raise InputError(f"no reference of step {of!r} is undone", hint="`stitch show --steps` lists them")
            made = made.model_copy(update={"references": kept, "made_by": by})
        if self.asks is not None:  # validated, for there is a bound to them
            made = StepLabels.model_validate({**dict(made), "asks": self.asks, "made_by": by})
        return made


def correct(
    ingestor: Ingestor, changes: Changes, *, tenant: str, trajectory: str, step: str, at: float, by: str = PERSON
) -> None:
    """Replace the text, labels, references, asks, metadata or time of a step; see `Lifecycle.correct`.

    With another text, references, summary and asks of the old one go; a source that gives the step as it was changes
    nothing. `by` goes into `StepLabels.made_by`. What a step is already is not stored again.
    """
    if replace(changes, labels=changes.labels or None) == Changes():
        raise InputError("nothing to correct is given", hint="give a text, labels of some kind, references or asks")
    if unknown := sorted(set(changes.labels or ()) - set(ContextualIntent.model_fields)):
        raise InputError(
            f"a step has no labels of the kind {some_of(unknown)}",
            hint=f"the kinds are {', '.join(ContextualIntent.model_fields)}",
        )
    clean, by = changes.without_secrets(ingestor.secrets), clean_text(ingestor.secrets.clean(by))

    def corrected() -> tuple[Entry, Step, StepLabels | None]:
        """The step as it is now, and what it is to be."""
        entry = _entry(ingestor.journal, tenant, trajectory, step)
        if entry.state is StepState.RETIRED:
            raise InputError(f"step {step!r} of trajectory {trajectory!r} is retired", hint="stitch forget unretire")
        if clean.of_labels and entry.labels is None:
            raise InputError(f"step {step!r} of trajectory {trajectory!r} waits for its labels", hint="stitch retry")
        given = clean.beyond(entry.step)
        right = given.step(entry.step)
        made = entry.labels and given.made(entry.labels, of=step, by=by)
        encode_step(right, max_chars=ingestor.journal.max_step_chars)  # refuses what cannot be written
        return entry, right, made

    # What is refused need not wait; asked again then, for others may have changed it meanwhile.
    entry, right, made = corrected()
    if (right, made) == (entry.step, entry.labels):
        return
    ingestor.correct(tenant, trajectory, corrected=corrected, at=at, by=by)
    ingestor.notice(StepCorrected(tenant=tenant, trajectory=trajectory, step=step, by=by))


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
