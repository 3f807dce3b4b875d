"""Local labels as a draft that a model corrects: only what is wrong in them is written, so that a reply is short."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import dspy

from stitch.core import Labeler, LabelKind, LabelVocabulary, ReferenceRewrite, Step, StepLabels, annotate_rewrites
from stitch.label.model.quoting import quote_window, shown_text
from stitch.label.model.session import Estimate, ModelSession
from stitch.label.model.windowed import WindowedLabeler, WindowedSession
from stitch.lm import LanguageModel
from stitch.signatures import CorrectDraft, StepChange, StepReading
from stitch.text.sentences import sentence_spans

_VERSION = "drafted-1"
_DRAFT_TOKENS, _CHANGED_TOKENS = 14, 10
"""What a draft adds to a step that is shown, and what a reply says of it, on average."""
_SAID_CHARS = 110


class DraftedLabeler(WindowedLabeler):
    """As the `WindowedLabeler`, but the model is shown what local rules would say, and writes only what is wrong there.

    What it leaves as it is stands as its own word: it has seen it. A reply that was cut says nothing of the steps
    behind its end, so the window is halved.
    """

    @property
    def name(self) -> str:
        """The model's name and the way of labeling."""
        return drafted_by(self.model)

    def begin(self, trajectory: str, saved: bytes | None = None) -> ModelSession:
        """Start labeling a trajectory, or continue from a saved session."""
        return DraftedSession(self, self._fallback, trajectory, saved)

    def estimate(self, steps: Sequence[Step]) -> Estimate:
        """About what labeling these steps of one trajectory will cost."""
        whole = super().estimate(steps)
        drafted = whole.prompt_tokens + len(steps) * _DRAFT_TOKENS
        return Estimate(whole.calls, drafted, len(steps) * _CHANGED_TOKENS)


class DraftedSession(WindowedSession):
    """The labeling of a trajectory whose windows are drafted."""

    def __init__(self, labeler: WindowedLabeler, fallback: Labeler, trajectory: str, saved: bytes | None) -> None:
        self._drafter = fallback
        self._correcting = dspy.Predict(CorrectDraft)
        self._drafts: list[StepReading] = []
        self._resolved: list[tuple[ReferenceRewrite, ...]] = []
        """What references were drafted as, by step of the window."""
        super().__init__(labeler, fallback, trajectory, saved)

    @property
    def _prompt(self) -> Any:
        return self._correcting

    def _quoted(self, window: Sequence[Step], *, session: str | None, time: str) -> str:
        # A copy makes the draft: what the local session takes in is what the model says in the end.
        copy = self._drafter.begin(self._trajectory, self._local.save())
        labels = copy.label(window)
        joined = copy.inventory().vocabulary()  # a scope may turn out inside the window to continue an earlier one
        self._drafts = [_reading(n, *pair, joined) for n, pair in enumerate(zip(window, labels, strict=True), start=1)]
        self._resolved = [made.references for made in labels]
        scope, shown = "", list[tuple[Mapping[str, Any], str]]()
        for draft, step, made in zip(self._drafts, window, labels, strict=True):
            told: dict[str, Any] = {"scope": draft.scope} if draft.scope != scope else {}
            told["events"] = draft.events
            if draft.entities:
                told["entities"] = draft.entities
            scope = draft.scope
            text = annotate_rewrites(step.content, made.references)
            shown.append((told, shown_text(step.model_copy(update={"content": text}))))
        return quote_window(window, session=session, time=time, drafts=shown)

    def _readings(self, prediction: Any) -> list[StepReading]:
        return corrected(self._drafts, prediction.changes)

    def _whole_readings(self, said: str) -> list[StepReading]:
        return []  # who wrote no more of a step may have been about to

    def accept(self, step: Step, reading: StepReading) -> StepLabels:
        """The labels of the next step; drafted references stay but where others, or none, were written for them."""
        denied = {own.phrase.strip().casefold() for own in reading.references}
        written = self._located(step, [own for own in reading.references if own.means.strip()])
        drafted = [
            own
            for own in self._resolved[reading.n - 1]
            if step.content[own.start : own.end].strip().casefold() not in denied
            and all(own.end <= other.start or other.end <= own.start for other in written)
        ]
        return self._made(
            step,
            scope=reading.scope,
            events=reading.events,
            entities=reading.entities,
            references=tuple(sorted((*written, *drafted), key=lambda rewrite: rewrite.start)),
            summary=reading.summary,
        )


def drafted_by(model: LanguageModel) -> str:
    """Who makes labels of drafts that a model corrects."""
    return f"{model.name} {_VERSION}"


def corrected(drafts: Sequence[StepReading], changes: Sequence[StepChange]) -> list[StepReading]:
    """Drafted readings with what is changed in them; readings of earlier steps, which have no draft, as they are.

    A scope goes on for the steps behind that are drafted alike, until another is written.
    """
    by_number: dict[int, StepChange] = {}
    for each in changes:
        by_number.setdefault(each.n, each)
    found: list[StepReading] = [earlier for n, earlier in by_number.items() if n < 0]
    drafted = scope = ""
    for draft in drafts:
        change = by_number.get(draft.n)
        if draft.scope != drafted:
            drafted = scope = draft.scope
        if change is not None and change.scope:
            scope = change.scope
        written = {} if change is None else {name: value for name, value in _written(change) if value}
        found.append(draft.model_copy(update={**written, "scope": scope}))
    return found


def _written(change: StepChange) -> list[tuple[str, Any]]:
    return [(name, getattr(change, name)) for name in ("events", "entities", "references", "summary")]


def _reading(n: int, step: Step, labels: StepLabels, joined: LabelVocabulary) -> StepReading:
    """Local labels as a model would have written them."""
    intent, text = labels.intent, step.content
    said = next((text[start:end] for start, end in sentence_spans(text[:_SAID_CHARS])), "")
    return StepReading(
        n=n,
        scope=joined.canonical(LabelKind.SCOPE, intent.scope) if intent.scope else "",
        events=list(intent.event_types),
        entities=list(intent.entity_types),
        summary=" ".join(f"{step.role}: {said}".split()) if said else "",
    )
